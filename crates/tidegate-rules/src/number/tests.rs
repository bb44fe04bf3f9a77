use proptest::prelude::*;

use super::*;

fn check(condition: &str, holds: &[&str], fails: &[&str]) {
    let numbers = Numbers::parse(condition).unwrap();
    for value in holds {
        assert!(numbers.matches(value), "{value} is {condition}");
    }
    for value in fails {
        assert!(!numbers.matches(value), "{value} is not {condition}");
    }
}

#[test]
fn compares_by_value_and_not_by_text() {
    check("< 30", &["29", "9", "-1", "29.99", "029"], &["30", "100", "30.0"]);
    check("<= 30", &["30", "30.000", "3"], &["30.0001"]);
    check("> 0.5", &["0.51", "1", "10"], &["0.5", "0.50", "0", "-1"]);
    check(">= 0.5", &["0.5", "0.500"], &["0.4999"]);
    check("= 7", &["7", "07", "7.0"], &["7.01", "-7"]);
    check("!= 7", &["7.01", "-7", "0"], &["7", "7.0", "seven"]);
    check("=0", &["-0", "0.0", "-0.00", "000"], &["0.1"]);
}

#[test]
fn ranges_include_both_ends() {
    check("10..20", &["10", "20", "15.5", "20.0"], &["9.99", "20.01", "-15"]);
    check("-5 .. -1.5", &["-5", "-1.5", "-2"], &["-1.4", "-5.1", "0"]);
    check("7..7", &["7"], &["7.1"]);
}

#[test]
fn what_is_no_number_matches_none() {
    for condition in ["< 30", ">= -1", "!= 7", "-10..10"] {
        check(
            condition,
            &[],
            &[
                "", "-", "1.", ".5", "+1", "0x1", "1.2.3", "١", "NaN", "--1", "1e", "e3", "1e9999", "1e1.5",
                "1ee1",
            ],
        );
    }
}

#[test]
fn exponents_and_spaces_are_read() {
    check("< 0.5", &["1e-7", "4.9E-1", " 0.1 ", "-1e300", "0e5"], &["5e-1", "1e0", "0.05e1"]);
    check("2500..2500", &["2.5e3", "25E+2", "2500e0", "250000e-2"], &["2.5e2", "2.51e3"]);
}

#[test]
fn no_exponent_moves_the_point_out_of_bounds() {
    let too_far = ["1e1001", "1e-1001", "1e2147483647", "1e-2147483648", "1e-99999999999999999999"];
    check("!= 7", &["1e1000", "-1e-1000"], &too_far);
    check("< 1", &["1e-1000", "-1e1000"], &["1e1000"]);
}

#[test]
fn long_numbers_are_exact() {
    let long = "9".repeat(400);
    let condition = format!("< {long}.1");
    check(&condition, &[&long, &format!("{long}.09")], &[&format!("{long}.1"), &format!("1{long}")]);
}

#[test]
fn says_what_to_write() {
    let said = |text| Numbers::parse(text).unwrap_err();
    assert_eq!(said("30"), "`30` compares nothing: write < 30, >= 0.5, = 7, != 7 or 10..20");
    assert_eq!(said("< many"), "`many` is no number: write digits, such as 30, -1 or 0.5");
    assert_eq!(said("<"), "a number is missing: write < 30 or 10..20");
    assert_eq!(said("20..10"), "no number is in 20..10: write 10..20");
    assert_eq!(said("1.."), "a number is missing: write < 30 or 10..20");
}

proptest! {
    #[test]
    fn agrees_with_whole_numbers(value: i64, bound: i64) {
        let check = |sign: &str| Numbers::parse(&format!("{sign} {bound}")).unwrap().matches(&value.to_string());
        prop_assert_eq!(check("<"), value < bound);
        prop_assert_eq!(check(">="), value >= bound);
        prop_assert_eq!(check("="), value == bound);
        prop_assert_eq!(check("!="), value != bound);
    }

    #[test]
    fn agrees_with_hundredths(value in -9999_i32..9999, bound in -9999_i32..9999) {
        let hundredths = |number: i32| {
            let sign = if number < 0 { "-" } else { "" };
            format!("{sign}{}.{:02}", number.abs() / 100, number.abs() % 100)
        };
        let condition = format!("<= {}", hundredths(bound));
        prop_assert_eq!(Numbers::parse(&condition).unwrap().matches(&hundredths(value)), value <= bound);
    }
}

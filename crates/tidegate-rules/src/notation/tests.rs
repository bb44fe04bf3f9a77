use proptest::prelude::*;

use super::*;
use crate::source::Source;

fn read(text: &str) -> Result<Short, Diagnostic> {
    parse(text, Span::new(0, text.len()))
}

fn rate(amount: u64, us: u64, burst: Option<u64>) -> Short {
    Short::Rate { amount, per: Per::Span(Duration::from_micros(us)), burst }
}

fn calendar(amount: u64, unit: Unit, zone: Option<&str>, from: Option<u8>) -> Short {
    Short::Rate { amount, per: Per::Calendar { unit, zone: zone.map(str::to_owned), from }, burst: None }
}

#[test]
fn what_people_write_is_read() {
    let cases = [
        ("100/min", rate(100, 60_000_000, None)),
        ("10/s burst 20", rate(10, 1_000_000, Some(20))),
        ("  10/sec   burst  20 ", rate(10, 1_000_000, Some(20))),
        ("5_000/h", rate(5_000, 3_600_000_000, None)),
        ("10k/10s", rate(10_000, 10_000_000, None)),
        ("1M/day", rate(1_000_000, 86_400_000_000, None)),
        ("3/500ms", rate(3, 500_000, None)),
        ("7/Minutes", rate(7, 60_000_000, None)),
        ("1/2weeks", rate(1, 2 * 604_800_000_000, None)),
        ("5 concurrent", Short::Concurrent { slots: 5 }),
        ("1000/month", calendar(1000, Unit::Month, None, None)),
        ("1000/month tz Europe/Berlin from 15", calendar(1000, Unit::Month, Some("Europe/Berlin"), Some(15))),
        ("100/day tz America/New_York", calendar(100, Unit::Day, Some("America/New_York"), None)),
        ("9/week from 7", calendar(9, Unit::Week, None, Some(7))),
        ("1G/year", calendar(1_000_000_000, Unit::Year, None, None)),
    ];
    for (text, limit) in cases {
        assert_eq!(read(text), Ok(limit), "{text}");
    }
}

/// Each with the words that the caret stands under, and a part of what is said.
#[test]
fn what_is_wrong_is_pointed_at_and_put_right() {
    let cases = [
        ("", "", "a limit is missing"),
        ("100", "", "a unit is missing"),
        ("100 per minute", "100 per minute", "write 100/minute"),
        ("5 / min", "5 / min", "write 5/min"),
        ("5/ 10s burst 3", "5/ 10s burst 3", "write 5/10s burst 3"),
        ("100 concurent", "concurent", "did you mean `concurrent`?"),
        ("5 concurrent burst 3", "burst", "says nothing about concurrency"),
        ("ten/s", "ten", "is no whole number"),
        ("1.5/s", "1.5", "is no whole number"),
        ("-1/s", "-1", "is no whole number"),
        ("_/s", "_", "is no whole number"),
        ("0/s", "0", "write at least 1"),
        ("99999999999999999999/s", "99999999999999999999", "is no whole number"),
        ("100/", "", "a unit of time is missing"),
        ("100/minuet", "minuet", "did you mean `minute`?"),
        ("100/10fortnights", "fortnights", "write s, min, h"),
        ("100/0s", "0", "write at least 1"),
        ("100/18446744073709551615h", "18446744073709551615h", "is not that long"),
        ("10/s brust 20", "brust", "did you mean `burst`?"),
        ("10/s burst", "", "a value for `burst` is missing"),
        ("10/s burst 20 burst 30", "burst", "is given twice"),
        ("10/s tz Europe/Berlin", "tz", "only days, weeks, months and years"),
        ("10/2months", "2months", "is one day, week, month or year"),
        ("10/month from 32", "32", "from 1 to 31"),
        ("10/month from monday", "monday", "is no day"),
        ("10/day from 3", "3", "only weeks and months"),
    ];
    for (text, under, says) in cases {
        let diagnostic = read(text).expect_err(text);
        assert_eq!(&text[diagnostic.span.start..diagnostic.span.end], under, "{text}");
        let shown = crate::diagnostic::render(&diagnostic, &Source::new("t", text));
        assert!(shown.contains(says), "{text}: {shown}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic_and_every_place_is_in_it(text in "[0-9a-zA-Z/_ .\\-ö]{0,30}") {
        if let Err(diagnostic) = read(&text) {
            prop_assert!(diagnostic.span.start <= diagnostic.span.end && diagnostic.span.end <= text.len());
        }
    }
}

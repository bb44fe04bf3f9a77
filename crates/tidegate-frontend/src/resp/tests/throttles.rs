use super::*;

#[test]
fn cl_throttle_answers_as_redis_cell() {
    let (service, hands) = service();
    let mut session = service.session();
    let mut ask = |text: &str| line(&mut session, text);
    // The example of its README: 15 more at once, then 30 in 60 seconds.
    assert_eq!(ask("CL.THROTTLE user123 15 30 60"), "*5 :0 :16 :15 :-1 :2");
    assert_eq!(ask("cl.throttle user123 15 30 60 15"), "*5 :0 :16 :0 :-1 :32");
    assert_eq!(ask("CL.THROTTLE user123 15 30 60 1"), "*5 :1 :16 :0 :2 :32");
    assert_eq!(ask("CL.THROTTLE user123 15 30 60 3"), "*5 :1 :16 :0 :6 :32");
    assert_eq!(ask("CL.THROTTLE user123 15 30 60 0"), "*5 :0 :16 :0 :-1 :32", "a look");
    assert_eq!(ask("CL.THROTTLE user123 15 30 60 17"), "*5 :1 :16 :0 :-1 :32", "never");
    hands.move_by_s(5);
    assert_eq!(ask("CL.THROTTLE user123 15 30 60 3"), "*5 :1 :16 :2 :1 :27");
    assert_eq!(ask("CL.THROTTLE user123 15 30 60 2"), "*5 :0 :16 :0 :-1 :31");
    assert_eq!(ask("CL.THROTTLE another 0 1 1"), "*5 :0 :1 :0 :-1 :1");
    assert_eq!(ask("CL.THROTTLE another 0 1 1"), "*5 :1 :1 :0 :1 :1");
}

#[test]
fn throttle_answers_as_throttlecrab_with_seconds_rounded_up() {
    let (service, _) = service();
    let mut session = service.session();
    let mut ask = |text: &str| line(&mut session, text);
    assert_eq!(ask("THROTTLE k 2 10 1"), "*5 :1 :2 :1 :1 :0");
    assert_eq!(ask("THROTTLE k 2 10 1"), "*5 :1 :2 :0 :1 :0");
    assert_eq!(ask("THROTTLE k 2 10 1"), "*5 :0 :2 :0 :1 :1");
    assert_eq!(ask("THROTTLE k 2 10 1 3"), "*5 :0 :2 :0 :1 :-1");
    assert_eq!(ask("CL.THROTTLE k 2 10 1 0"), "*5 :0 :3 :1 :-1 :1", "the same counter");
}

/// What the real server replies, line by line: the same but for the fourth number, which is another time there, and seconds, which it cuts
/// off.
#[test]
fn throttle_replies_as_the_real_server_does() {
    let (service, _) = service();
    let mut session = service.session();
    let recorded = include_str!("throttlecrab.txt").lines().filter(|line| !line.starts_with('#'));
    let mut refused = 0;
    for (asked, theirs) in recorded.filter_map(|line| line.split_once(" -> ")) {
        let numbers =
            |text: &str| -> Vec<i64> { text.split(' ').map(|word| word.parse().unwrap()).collect() };
        let reply = line(&mut session, asked).replace(':', "");
        let (ours, theirs) = (numbers(reply.strip_prefix("*5 ").unwrap()), numbers(theirs));
        assert_eq!(ours[..3], theirs[..3], "{asked}");
        let up = i64::from(theirs[4] > 0);
        assert_eq!(ours[4], theirs[4] + up, "{asked}");
        refused += 1 - ours[0];
    }
    assert_eq!(refused, 3, "the record has lost its lines");
}

#[test]
fn numbers_that_cannot_be_are_errors_and_nothing_breaks() {
    let (service, _) = service();
    for (numbers, expected) in [
        ("4294967295 1 9223372036854775807 1", "period should be a whole number"),
        ("4294967295 1 31536000 1", "days until the limit is whole again"),
        ("1 1 999999999999998", "days until the limit is whole again"),
        ("1 0 1", "count should be a whole number from 1"),
        ("1 1 0", "period should be a whole number from 1"),
        ("-1 1 1", "max_burst should be a whole number from 0"),
        ("1 -1 1", "count should"),
        ("1 1 -1", "period should"),
        ("1 1 1 -1", "quantity should be a whole number from 0"),
        ("x 1 1", "max_burst should"),
        ("1.5 1 1", "max_burst should"),
        ("9223372036854775807 1 1", "max_burst should"),
        ("99999999999999999999999 1 1", "max_burst should"),
        ("999999999999999 1 1", "max_burst should"),
    ] {
        let said = asked(&service, &format!("CL.THROTTLE k {numbers}"));
        assert!(said.starts_with("-ERR ") && said.contains(expected), "{numbers}: {said}");
    }
    assert!(
        asked(&service, "THROTTLE k 0 1 1").starts_with("-ERR max_burst should be a whole number from 1")
    );
    let wrong = "-ERR wrong number of arguments for 'cl.throttle' command; write CL.THROTTLE key max_burst count period [quantity]";
    assert_eq!(asked(&service, "CL.THROTTLE k 1 1"), wrong);
    assert_eq!(asked(&service, "CL.THROTTLE k 1 1 1 1 1"), wrong);
    assert_eq!(service.door.malformed(), 17);
}

#[test]
fn the_largest_numbers_are_counted() {
    let (service, _) = service();
    let most = 999_999_999_999_998_u64;
    let said = asked(&service, &format!("CL.THROTTLE k {most} {most} 1 {most}"));
    assert_eq!(said, format!("*5 :0 :{} :1 :-1 :1", most + 1));
}

#[test]
fn a_key_is_any_bytes() {
    let (service, _) = service();
    let (mut session, long) = (service.session(), vec![b'k'; tidegate_wire::resp::MAX_WORD_BYTES]);
    for key in [b"".as_slice(), b"\xff\x00\r\n", b"a b", &long] {
        let command = array(&[b"CL.THROTTLE", key, b"0", b"1", b"60"]);
        assert_eq!(say(&mut session, &command).0, "*5\r\n:0\r\n:1\r\n:0\r\n:-1\r\n:60\r\n");
        assert_eq!(say(&mut session, &command).0, "*5\r\n:1\r\n:1\r\n:0\r\n:60\r\n:60\r\n");
    }
}

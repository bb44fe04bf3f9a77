use super::*;
use crate::door::tests::{Faulty, door_to};

#[test]
fn a_check_is_answered_by_the_rules() {
    let (service, hands) = service();
    let mut session = service.session();
    let mut ask = |text: &str| line(&mut session, text);
    let allowed = |remaining: u64, reset_ms: u64| {
        format!("*11 :1 :2 :{remaining} :-1 :{reset_ms} $8 per-user $5 exact $5 allow :0 $-1 $2 ok")
    };
    assert_eq!(ask("TG.CHECK api user alice"), allowed(1, 120_000));
    assert_eq!(ask("tg.check api user alice"), allowed(0, 120_000));
    let refused = ask("TG.CHECK api user alice");
    assert!(refused.starts_with("*11 :0 :2 :0 :"), "{refused}");
    assert!(refused.ends_with(" $8 per-user $5 exact $4 deny :0 $-1 $9 user-rate"), "{refused}");
    assert_eq!(ask("TG.CHECK api user bob COST 2"), allowed(0, 120_000));
    hands.move_by_s(120);
    assert_eq!(ask("TG.CHECK api user alice COST 0"), allowed(2, 0));
}

#[test]
fn who_asks_for_the_third_protocol_is_answered_in_it() {
    let (service, _) = service();
    let mut session = service.session();
    line(&mut session, "HELLO 3");
    let said = line(&mut session, "TG.CHECK nowhere");
    assert_eq!(said, "*11 :1 :-1 :-1 :-1 :0 _ $5 exact $5 allow :0 _ $14 no-such-domain");
    let free = line(&mut session, "TG.CHECK api agent human");
    assert_eq!(free, "*11 :1 :-1 :-1 :-1 :0 _ $5 exact $5 allow :0 _ $2 ok", "no rule has a word in it");
    let blocked = line(&mut session, "TG.CHECK api agent bot");
    assert_eq!(blocked, "*11 :0 :-1 :-1 :-1 :0 $4 bots $5 exact $4 deny :0 _ $7 blocked");
}

#[test]
fn slots_are_given_back_by_the_id_of_their_check() {
    let (service, _) = service();
    let mut session = service.session();
    let mut ask = |text: &str| line(&mut session, text);
    let held = ask("TG.CHECK api path /export user alice");
    let id = held.split(' ').rev().nth(2).unwrap();
    assert_eq!(id.len(), 32, "{held}");
    assert!(ask("TG.CHECK api path /export user alice").starts_with("*11 :0 :1 :0 "));
    assert_eq!(ask(&format!("TG.RELEASE {id}")), ":1");
    assert_eq!(ask(&format!("TG.RELEASE {id}")), ":0");
    assert!(ask("TG.CHECK api path /export user alice").starts_with("*11 :1 "));
    for id in ["x", "0123", "g0000000000000000000000000000000", "+0000000000000000000000000000000"] {
        assert!(ask(&format!("TG.RELEASE {id}")).starts_with("-ERR the id should be"));
    }
}

#[test]
fn an_explanation_is_lines() {
    let (service, _) = service();
    let said = asked(&service, "TG.EXPLAIN api user alice");
    assert!(said.starts_with("*4 "), "{said}");
    assert!(said.contains("+ per-user (rules.yaml:4): applies and decides"), "{said}");
    assert!(said.contains("2/min: 1 from the counter of user=alice"), "{said}");
    assert!(!said.contains("watched"), "{said}");
    let settings = DoorSettings { tell_shadow: true, ..DoorSettings::default() };
    let told = Service::new(door_to(Reference::new(), RULES, settings).0, None);
    let said = asked(&told, "TG.EXPLAIN api user alice");
    assert!(said.contains("+ watched (rules.yaml:5): applies and is only reported"), "{said}");
    let said = asked(&service, "TG.EXPLAIN api user alice");
    assert!(said.contains("- bots (rules.yaml:7): "), "{said}");
    assert!(asked(&service, "TG.EXPLAIN nowhere").contains("the rules have no such domain"));
    assert!(asked(&service, "TG.EXPLAIN api agent bot").contains("! bots (rules.yaml:7): decides by itself"));
}

#[test]
fn what_is_no_check_is_told_why_and_no_value_is_repeated() {
    let (service, _) = service();
    let long = format!("TG.CHECK api user {}", "s3cret".repeat(4000));
    for (text, expected) in [
        ("TG.CHECK", "wrong number of arguments"),
        ("TG.CHECK api user", "wrong number of arguments"),
        ("TG.CHECK api user s3cret COST", "wrong number of arguments"),
        ("TG.CHECK api user s3cret COST many", "COST should be a whole number"),
        ("TG.CHECK api user s3cret COST 9999999999999", "a cost of 9999999999999 is more than"),
        ("TG.CHECK api user s3cret path / user bob", "an attribute is named twice; name it once"),
        ("TG.EXPLAIN api user s3cret user s3cret", "an attribute is named twice; name it once"),
        (&long, "a value has 24000 bytes and the most is 16384"),
    ] {
        let said = asked(&service, text);
        assert!(said.starts_with("-ERR ") && said.contains(expected), "{said}");
        assert!(!said.contains("s3cret"), "{said}");
    }
    let said = say(&mut service.session(), &array(&[b"TG.CHECK", b"api", b"user", b"\xff"])).0;
    assert_eq!(said, "-ERR a value should be UTF-8\r\n");
}

#[test]
fn an_attribute_may_be_called_cost() {
    let (service, _) = service();
    assert!(asked(&service, "TG.CHECK api user alice cost 7").starts_with("*11 :1 :2 :1 "));
    assert!(asked(&service, "TG.CHECK api COST 7").starts_with("*11 :1 :-1 "), "a cost alone is one too");
}

#[test]
fn as_many_attributes_as_there_may_be_fit() {
    let (service, _) = service();
    let names: Vec<String> = (0..128).map(|number| format!("a{number}")).collect();
    let mut words = vec![b"TG.CHECK".as_slice(), b"api"];
    words.extend(names.iter().flat_map(|name| [name.as_bytes(), b"x"]));
    words.extend([b"COST".as_slice(), b"1"]);
    let said = say(&mut service.session(), &array(&words)).0;
    assert!(said.starts_with("*11\r\n:1\r\n"), "{said}");
}

#[test]
fn when_nobody_can_decide_the_class_does() {
    let rules = format!("{RULES}\ndefaults: {{ class: security }}");
    let service = Service::new(door_to(Faulty::Failing, &rules, DoorSettings::default()).0, None);
    assert_eq!(
        asked(&service, "TG.CHECK api user alice"),
        "*11 :0 :-1 :-1 :1000 :0 $-1 $4 open $4 deny :0 $-1 $9 undecided"
    );
    assert_eq!(asked(&service, "CL.THROTTLE k 1 1 60"), "*5 :0 :2 :2 :-1 :0", "comfort passes");
}

#[test]
fn with_too_many_under_way_the_class_decides() {
    let settings = DoorSettings { most_in_flight: 0, ..DoorSettings::default() };
    let service = Service::new(door_to(Faulty::Stuck, RULES, settings).0, None);
    assert!(asked(&service, "TG.CHECK api user alice").contains("$4 open"));
    assert_eq!(asked(&service, "CL.THROTTLE k 1 1 60"), "*5 :0 :2 :2 :-1 :0");
    assert_eq!(service.door.overloads(), 2);
}

#[test]
fn reservations_are_settled() {
    let rules = "domain: api
rules:
  - { name: rpm, by: [user], limit: 60/min }
  - { name: tpm, by: [user], limit: 100/min, cost: tokens }";
    let service = Service::new(crate::door::tests::door(rules).0, None);
    let left = || {
        let said = asked(&service, "TG.CHECK api user a COST 0");
        said.split(' ').nth(3).unwrap_or_default().to_owned()
    };
    let reserve = || {
        let said = asked(&service, "TG.RESERVE api user a tokens 90");
        said.split(' ').find(|word| word.len() == 32).unwrap_or_else(|| panic!("{said}")).to_owned()
    };
    let (first, second) = (reserve(), reserve);
    assert_eq!(asked(&service, &format!("TG.COMMIT {first} tokens 40")), ":1");
    assert_eq!(left(), ":60");
    assert!(asked(&service, &format!("TG.COMMIT {first} COST 1")).starts_with(":0"));
    assert!(asked(&service, "TG.REFUND api user a tokens 30").starts_with("*11 :1 "));
    assert_eq!(left(), ":90");
    let held = second();
    assert!(asked(&service, &format!("TG.COMMIT {held} user a")).contains("its rules read tokens"));
    assert_eq!(asked(&service, &format!("TG.CANCEL {held}")), ":1");
    assert_eq!(left(), ":90");
}

#[test]
fn no_reply_names_a_shadow_rule() {
    let rules = "domain: api\nrules: [{ name: secret, by: [user], limit: 1/min, mode: shadow }]";
    let service = Service::new(door_to(Reference::new(), rules, DoorSettings::default()).0, None);
    for _ in 0..3 {
        assert!(!asked(&service, "TG.CHECK api user alice").contains("secret"));
    }
    assert!(!asked(&service, "TG.EXPLAIN api user alice").contains("secret"));
}

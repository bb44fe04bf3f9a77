use super::*;
use switch::Switches as _;

fn rule(name: &str) -> Target {
    Target::Rule("api".into(), name.into())
}

fn domain(name: &str) -> Target {
    Target::Domain(name.into())
}

fn to(mode: Mode) -> Switch {
    Switch { mode, since: Timestamp::ZERO, until: None, reason: None, by: "here".into() }
}

fn set(all: &[(Target, Mode)]) -> Switches {
    let all = all.iter().cloned();
    all.fold(Switches::default(), |set, (target, mode)| set.with(target, to(mode)).unwrap())
}

#[test]
fn the_narrowest_has_the_say_and_the_newest_of_one_target() {
    let set = set(&[
        (rule("a"), Mode::Shadow),
        (rule("a"), Mode::Enforce),
        (domain("api"), Mode::Shadow),
        (Target::Everything, Mode::Off),
    ]);
    assert_eq!(set.mode("api", Some("a")), Some(Mode::Enforce));
    assert_eq!(set.mode("api", Some("b")), Some(Mode::Shadow));
    assert_eq!(set.mode("api", None), Some(Mode::Shadow));
    assert_eq!(set.mode("mesh", Some("a")), Some(Mode::Off));
    assert_eq!(Switches::default().mode("api", Some("a")), None);
}

#[test]
fn taking_back_takes_back_the_parts_as_well() {
    let set = set(&[
        (rule("a"), Mode::Off),
        (rule("b"), Mode::Off),
        (domain("mesh"), Mode::Off),
        (Target::Everything, Mode::Shadow),
    ]);
    let left = |target: Target| set.clone().without(&target).unwrap().len();
    assert_eq!(left(rule("a")), 3);
    assert_eq!(left(domain("api")), 2, "the rules of a domain that has none itself");
    assert_eq!(left(domain("mesh")), 3);
    assert_eq!(left(Target::Everything), 0);
    assert_eq!(set.clone().without(&rule("c")), Err(Refused::NoSwitch(rule("c"))));
    assert_eq!(Switches::default().without(&Target::Everything), Err(Refused::NoSwitch(Target::Everything)));
}

#[test]
fn there_is_an_end_to_them() {
    let many: Vec<_> = (0..MOST_SWITCHES).map(|number| (rule(&number.to_string()), Mode::Off)).collect();
    let full = set(&many);
    assert_eq!(full.clone().with(rule("one-more"), to(Mode::Off)), Err(Refused::Full));
    assert_eq!(full.clone().with(rule("7"), to(Mode::Shadow)).unwrap().len(), MOST_SWITCHES);
}

#[test]
fn those_that_end_by_themselves_are_told_at_their_end() {
    let until = |us| Switch { until: Some(Timestamp::from_micros(us)), ..to(Mode::Off) };
    let set = Switches::default().with(rule("a"), until(5)).unwrap().with(rule("b"), to(Mode::Off)).unwrap();
    assert_eq!(set.ended(Timestamp::from_micros(4)), []);
    assert_eq!(set.ended(Timestamp::from_micros(5)), [rule("a")]);
    assert_eq!(set.without_each(&[rule("a")]).mode("api", Some("a")), None);
}

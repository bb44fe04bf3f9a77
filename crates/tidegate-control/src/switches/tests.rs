use super::*;
use switch::Switches as _;

fn rule(name: &str) -> SwitchTarget {
    SwitchTarget::Rule("api".into(), name.into())
}

fn domain(name: &str) -> SwitchTarget {
    SwitchTarget::Domain(name.into())
}

fn to(mode: Mode) -> Switch {
    Switch { mode, since: Timestamp::ZERO, until: None, reason: None, by: "here".into() }
}

fn set(all: &[(SwitchTarget, Mode)]) -> Switches {
    let all = all.iter().cloned();
    all.fold(Switches::default(), |set, (target, mode)| set.with(target, to(mode)).unwrap())
}

#[test]
fn narrowest_target_and_newest_switch_win() {
    let set = set(&[
        (rule("a"), Mode::Shadow),
        (rule("a"), Mode::Enforce),
        (domain("api"), Mode::Shadow),
        (SwitchTarget::Everything, Mode::Off),
    ]);
    assert_eq!(set.mode("api", Some("a")), Some(Mode::Enforce));
    assert_eq!(set.mode("api", Some("b")), Some(Mode::Shadow));
    assert_eq!(set.mode("api", None), Some(Mode::Shadow));
    assert_eq!(set.mode("mesh", Some("a")), Some(Mode::Off));
    assert_eq!(Switches::default().mode("api", Some("a")), None);
}

#[test]
fn clearing_clears_parts_as_well() {
    let set = set(&[
        (rule("a"), Mode::Off),
        (rule("b"), Mode::Off),
        (domain("mesh"), Mode::Off),
        (SwitchTarget::Everything, Mode::Shadow),
    ]);
    let left = |target: SwitchTarget| set.clone().without(&target).unwrap().len();
    assert_eq!(left(rule("a")), 3);
    assert_eq!(left(domain("api")), 2, "the rules of a domain that has none itself");
    assert_eq!(left(domain("mesh")), 3);
    assert_eq!(left(SwitchTarget::Everything), 0);
    assert_eq!(set.clone().without(&rule("c")), Err(SwitchError::NoSwitch(rule("c"))));
    assert_eq!(
        Switches::default().without(&SwitchTarget::Everything),
        Err(SwitchError::NoSwitch(SwitchTarget::Everything))
    );
}

#[test]
fn number_of_switches_is_bounded() {
    let many: Vec<_> = (0..MAX_SWITCHES).map(|number| (rule(&number.to_string()), Mode::Off)).collect();
    let full = set(&many);
    assert_eq!(full.clone().with(rule("one-more"), to(Mode::Off)), Err(SwitchError::TooMany));
    assert_eq!(full.clone().with(rule("7"), to(Mode::Shadow)).unwrap().len(), MAX_SWITCHES);
}

#[test]
fn switches_end_at_their_time() {
    let until = |us| Switch { until: Some(Timestamp::from_micros(us)), ..to(Mode::Off) };
    let set = Switches::default().with(rule("a"), until(5)).unwrap().with(rule("b"), to(Mode::Off)).unwrap();
    assert_eq!(set.ended(Timestamp::from_micros(4)), []);
    assert_eq!(set.ended(Timestamp::from_micros(5)), [rule("a")]);
    assert_eq!(set.without_each(&[rule("a")]).mode("api", Some("a")), None);
}

use super::trouble::Broken;
use super::*;
use tidegate_core::{Class, Limit, Rate};
use tidegate_engine::{Consistency, LastResort};

const RULES: &str = "tenant: org
identities: { api_key: { derive: org, map: { k1: acme, k2: acme, k3: umbrella } } }
rules:
  - { name: comfortable, match: { path: /a }, limit: 9/min }
  - { name: guarded, match: { path: /b }, class: security, limit: 9/min }
  - { name: dear, match: { path: /c }, class: cost, limit: 9/min }";

fn per_second(amount: u64) -> Limit {
    let rate = Rate::new(amount, std::time::Duration::from_secs(1)).expect("a rate");
    Limit::gcra(rate, amount).expect("a limit")
}

/// A node whose store is away, with a last resort.
fn away(node: Option<u64>, tenant: Option<u64>) -> Way<Broken> {
    let mut way = Way::over(Broken::default(), RULES);
    let resort = LastResort::new(node.map(per_second), tenant.map(per_second));
    way.engine = way.engine.with_last_resort(resort);
    way
}

/// How often what was let pass by that class for that reason was counted.
fn failed_open<S: Store>(way: &Way<S>, class: Class, reason: &str) -> u64 {
    let counts = way.engine.observed().failed_open();
    counts.filter(|(own, word, _)| *own == class && *word == reason).map(|(.., count)| count).sum()
}

#[test]
fn without_numbers_everything_passes_that_its_class_lets_pass() {
    let way = away(None, None);
    assert_eq!(way.passing(&[("path", "/a")]), 20);
    assert_eq!(failed_open(&way, Class::Comfort, "store"), 20);
    assert_eq!(way.engine.observed().last_resort_sheds(), 0);
}

#[test]
fn what_passes_without_a_count_is_held_to_the_node_s_rate() {
    let mut way = away(Some(5), None);
    assert_eq!(way.passing(&[("path", "/a")]), 5);
    let shed = way.check(&[("path", "/a"), ("org", "other")]);
    assert_eq!((shed.outcome, shed.status(), shed.state), (Outcome::Shed, 503, Consistency::Open));
    assert_eq!((shed.reason().as_ref(), shed.retry_after_us()), ("last-resort", Some(SECOND)));
    assert!(!shed.is_undecided());
    way.pass(1);
    assert_eq!(way.passing(&[("path", "/a")]), 5);
    assert_eq!(way.engine.observed().last_resort_sheds(), 3);
    assert_eq!(failed_open(&way, Class::Comfort, "store"), 10);
}

#[test]
fn one_tenant_does_not_take_what_others_have_and_requests_without_one_are_one() {
    let way = away(None, Some(3));
    assert_eq!(way.passing(&[("path", "/a"), ("api_key", "k1")]), 3);
    assert_eq!(way.passing(&[("path", "/a"), ("api_key", "k2")]), 0, "another key of the same org");
    assert_eq!(way.passing(&[("path", "/a"), ("org", "acme")]), 0, "the same by its name");
    assert_eq!(way.passing(&[("path", "/a"), ("api_key", "k3")]), 3);
    assert_eq!(way.passing(&[("path", "/a"), ("api_key", "unknown")]), 3);
    assert_eq!(way.passing(&[("path", "/a")]), 0);
    let descriptors = [Descriptor::new(&[("org", "initech")])];
    let check = Check { descriptors: &descriptors, ..Check::new("api") };
    let passing = (0..9).filter(|_| way.engine.overloaded(&check, START).unwrap().allowed()).count();
    assert_eq!(passing, 0, "with security in the domain an overload is shed whoever comes");
}

#[test]
fn a_refused_tenant_takes_nothing_of_the_node() {
    let way = away(Some(4), Some(2));
    assert_eq!(way.passing(&[("path", "/a"), ("org", "loud")]), 2);
    assert!((0..100).all(|_| !way.allows(&[("path", "/a"), ("org", "loud")])));
    assert_eq!(way.passing(&[("path", "/a"), ("org", "quiet")]), 2);
    assert_eq!(way.passing(&[("path", "/a"), ("org", "third")]), 0, "the node's is spent");
}

#[test]
fn what_its_class_refuses_is_refused_as_before_and_takes_nothing() {
    let way = away(Some(1), Some(1));
    for _ in 0..5 {
        let refused = way.check(&[("path", "/b")]);
        assert_eq!((refused.outcome, refused.reason().as_ref()), (Outcome::Deny, "undecided"));
    }
    assert_eq!(way.passing(&[("path", "/c")]), 1, "no tiers: everybody pays");
    assert_eq!(failed_open(&way, Class::Cost, "store"), 1);
}

#[test]
fn whoever_only_asks_takes_nothing() {
    let way = away(Some(1), None);
    let check = Check { attributes: &[("path", "/a")], ..Check::new("api") };
    for _ in 0..5 {
        assert!(wait(way.engine.peek(&check, START)).unwrap().allowed());
        assert!(wait(way.engine.refund(&check, START, START)).unwrap().allowed());
    }
    assert_eq!(way.passing(&[("path", "/a")]), 1);
    assert_eq!(wait(way.engine.peek(&check, START)).unwrap().outcome, Outcome::Shed);
    assert!(
        wait(way.engine.refund(&check, START, START)).unwrap().allowed(),
        "what gives back is never shed"
    );
}

#[test]
fn what_was_counted_does_not_come_here() {
    let mut way = Way::new("rules: [{ name: a, limit: 15/min }]");
    way.engine = way.engine.with_last_resort(LastResort::new(Some(per_second(1)), Some(per_second(1))));
    assert_eq!(way.passing(&[]), 15);
    assert_eq!(way.engine.observed().failed_open().map(|(.., count)| count).sum::<u64>(), 0);
}

#[test]
fn overloads_and_domains_that_nobody_knows_are_held_too() {
    let mut way = Way::new("tenant: org\nrules: [{ name: a, limit: 15/min }]");
    way.engine = way.engine.with_last_resort(LastResort::new(None, Some(per_second(2))));
    let passing =
        |check: &Check<'_>| (0..9).filter(|_| way.engine.overloaded(check, START).unwrap().allowed()).count();
    let long = "x".repeat(8_000);
    assert_eq!(passing(&Check { attributes: &[("org", "acme")], ..Check::new("api") }), 2);
    assert_eq!(passing(&Check { attributes: &[("org", &long)], ..Check::new("api") }), 2, "however long");
    assert_eq!(passing(&Check::new("api")), 2);
    assert_eq!(passing(&Check::new("unknown")) + passing(&Check::new("unheard-of")), 2, "they count as one");
    assert_eq!(failed_open(&way, Class::Comfort, "overload"), 8);
}

use super::trouble::Broken;
use super::*;
use std::time::Duration;
use tidegate_core::{Limit, Outcome as Fate, Rate, Retry, Verdict};
use tidegate_engine::{Consistency, FlightLimit, LastResort, Throttle, Throttled};

fn limit(burst: u64, amount: u64, seconds: u64) -> Limit {
    let rate = Rate::new(amount, Duration::from_secs(seconds)).expect("a rate");
    Limit::gcra(rate, burst).expect("a limit")
}

fn ask<S: Store>(way: &Way<S>, key: &[u8], limit: Limit, cost: u64) -> Throttled {
    wait(way.engine.throttle(&Throttle { key, limit, cost }, way.now, &FlightLimit::default()))
}

fn passing<S: Store>(way: &Way<S>, key: &[u8], limit: Limit) -> usize {
    (0..20).take_while(|_| ask(way, key, limit, 1).verdict.allowed()).count()
}

const NO_RULES: &str = "rules: []";

#[test]
fn exactly_the_burst_passes_and_then_the_rate() {
    let (mut way, limit) = (Way::new(NO_RULES), limit(5, 1, 2));
    assert_eq!(passing(&way, b"k", limit), 5);
    let Throttled { verdict, state } = ask(&way, b"k", limit, 1);
    let refused = Fate::Refused(Retry::After(2 * SECOND));
    let (reset_after_us, next_after_us) = (10 * SECOND, 0);
    let expected =
        Verdict { outcome: refused, limit: 5, remaining: 0, debt: 0, reset_after_us, next_after_us };
    assert_eq!((verdict, state), (expected, Consistency::Exact));
    way.pass(4);
    assert_eq!(passing(&way, b"k", limit), 2);
    assert_eq!(way.engine.observed().throttles(), (7, 3));
}

#[test]
fn an_idle_key_has_one_burst_and_not_two() {
    let (mut way, limit) = (Way::new(NO_RULES), limit(10, 10, 10));
    assert!(ask(&way, b"k", limit, 1).verdict.allowed());
    way.pass(8);
    assert_eq!(passing(&way, b"k", limit), 10);
}

#[test]
fn nothing_is_charged_for_nothing() {
    let (way, limit) = (Way::new(NO_RULES), limit(3, 1, 1));
    for _ in 0..9 {
        assert_eq!(ask(&way, b"k", limit, 0).verdict.remaining, 3);
    }
    ask(&way, b"k", limit, 2);
    assert_eq!(ask(&way, b"k", limit, 0).verdict.remaining, 1);
}

#[test]
fn other_numbers_keep_what_was_counted() {
    let way = Way::new(NO_RULES);
    assert_eq!(passing(&way, b"k", limit(4, 1, 60)), 4);
    assert_eq!(passing(&way, b"k", limit(6, 1, 60)), 2);
}

#[test]
fn no_rule_has_the_same_counter_whatever_the_key() {
    let way =
        Way::new("rules: [{ name: throttle, by: [user], limit: { amount: 3, per: 60s, algorithm: gcra } }]");
    assert_eq!(passing(&way, b"alice", limit(9, 1, 60)), 9);
    assert_eq!(way.passing(&[("user", "alice")]), 3);
    let long = vec![b'k'; 60_000];
    assert_eq!(passing(&way, &long, limit(2, 1, 60)), 2);
    assert_eq!(passing(&way, &long[1..], limit(2, 1, 60)), 2);
    assert_eq!(passing(&way, b"", limit(2, 1, 60)), 2);
}

#[test]
fn when_nobody_counts_it_passes_as_far_as_the_last_resort_lets_it() {
    for panics in [false, true] {
        let mut way = Way::over(Broken { panics, ..Broken::default() }, NO_RULES);
        assert_eq!(passing(&way, b"k", limit(1, 1, 60)), 20);
        way.engine = Engine::new(Broken { panics, ..Broken::default() })
            .with_last_resort(LastResort::new(Some(limit(2, 1, 1)), None));
        assert_eq!(passing(&way, b"k", limit(1, 1, 60)), 2);
        let Throttled { verdict, state } = ask(&way, b"k", limit(1, 1, 60), 1);
        assert_eq!((verdict.retry_after_us(), state), (Some(SECOND), Consistency::Open));
        assert_eq!(way.engine.observed().last_resort_sheds(), 2);
        assert_eq!(way.engine.observed().panics(), if panics { 4 } else { 0 });
    }
}

#[test]
fn without_time_to_ask_it_passes() {
    let (way, limit) = (Way::over(Broken::default(), NO_RULES), limit(1, 1, 60));
    let asked = Throttle { key: b"k", limit, cost: 1 };
    let throttled = wait(way.engine.throttle(&asked, way.now, &FlightLimit::new(0)));
    assert!(throttled.verdict.allowed());
    assert_eq!(throttled.state, Consistency::Open);
    assert_eq!(way.engine.observed().undecided_checks(), 1);
}

#[test]
fn a_key_is_not_printed() {
    let shown = format!("{:?}", Throttle { key: b"hunter2", limit: limit(1, 1, 1), cost: 1 });
    assert!(!shown.contains("hunter2") && !shown.contains("104"), "{shown}");
}

#[test]
fn quantity_of_zero_makes_no_counter() {
    let way = Way::new(NO_RULES);
    assert!(ask(&way, b"k", limit(1, 1, 60), 0).verdict.allowed());
    assert_eq!(way.engine.store().usage().counters, 0);
    ask(&way, b"k", limit(1, 1, 60), 1);
    assert_eq!(way.engine.store().usage().counters, 1);
}

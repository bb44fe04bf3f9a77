//! A door to a real engine, with a clock that stands still until it is moved.

mod faulty;
mod noting;

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use tidegate_rules::{Source, compile};
use tidegate_store::Reference;

pub(crate) use faulty::Faulty;
pub(crate) use noting::Noting;

use super::*;
use tidegate_wire::headers::Settings;

pub(crate) const NOW_US: u64 = 1_800_000_000_000_000;

/// A clock that is moved by hand.
#[derive(Clone)]
pub(crate) struct Hands(Arc<AtomicU64>);

impl Hands {
    pub(crate) fn move_by_s(&self, seconds: u64) {
        self.0.fetch_add(seconds * 1_000_000, Relaxed);
    }
}

/// A door to that store and those rules, and its clock.
pub(crate) fn door_to<S: Store>(store: S, rules: &str, settings: DoorSettings) -> (Door<S>, Hands) {
    let compiled = compile(vec![Source::new("rules.yaml", rules)]);
    let engine = Engine::new(store);
    let snapshot = compiled.snapshot.unwrap_or_else(|| panic!("{:?}", compiled.files));
    engine.install(snapshot.with_version(7));
    let hands = Hands(Arc::new(AtomicU64::new(NOW_US)));
    let clock = hands.clone();
    let clock = Arc::new(move || Timestamp::from_micros(clock.0.load(Relaxed)));
    (Door::new(Arc::new(engine), clock, settings), hands)
}

/// A door to those rules.
pub(crate) fn door(rules: &str) -> (Door<Reference>, Hands) {
    door_to(Reference::new(), rules, DoorSettings::default())
}

/// What an embedded store answers, it answers at once.
pub(crate) fn wait<F: Future>(future: F) -> F::Output {
    match poll_once(&mut pin!(future).as_mut()) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the store did not answer at once"),
    }
}

fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    std::pin::Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

const PER_USER: &str = "domain: api\nrules: [{ name: per-user, by: [user], limit: 2/min }]";

fn alice() -> Check<'static> {
    Check { attributes: &[("user", "alice")], ..Check::new("api") }
}

/// The headers that tell one check after another, as text.
fn told<S: Store>(door: &Door<S>, check: &Check<'_>) -> Vec<String> {
    let decision = wait(door.check(check)).unwrap();
    let told = door.tell(check, &decision);
    told.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect()
}

#[test]
fn beyond_the_bound_comfort_passes_and_security_is_shed() {
    for (class, allowed, status) in [("comfort", true, 200), ("security", false, 503)] {
        let rules = format!("{PER_USER}\ndefaults: {{ class: {class} }}");
        let settings = DoorSettings { most_in_flight: 1, ..DoorSettings::default() };
        let (door, _) = door_to(Faulty::Stuck, &rules, settings);
        let check = alice();
        let mut first = Box::pin(door.check(&check));
        assert!(poll_once(&mut first).is_pending());
        assert_eq!((door.in_flight(), door.overloads()), (1, 0));

        let second = wait(door.check(&check)).unwrap();
        assert_eq!(
            (second.allowed(), second.status(), second.reason()),
            (allowed, status, "overload".into())
        );
        assert_eq!((door.in_flight(), door.overloads()), (1, 1));
        drop(first);
        assert_eq!(door.in_flight(), 0);
    }
}

#[test]
fn a_request_that_nobody_could_decide_is_told_so() {
    let rules = format!("{PER_USER}\ndefaults: {{ class: strict }}");
    let (door, _) = door_to(Faulty::Failing, &rules, DoorSettings::default());
    let decision = wait(door.check(&alice())).unwrap();
    let problem = door.tell(&alice(), &decision).problem.unwrap();
    assert_eq!(problem.detail(), "it could not be decided whether the request may pass; retry in 1 s");
    assert_eq!((door.in_flight(), door.overloads()), (0, 0));
}

#[test]
fn a_shed_request_is_told_when_to_return() {
    let rules = format!("{PER_USER}\ndefaults: {{ class: security }}");
    let (door, _) =
        door_to(Faulty::Stuck, &rules, DoorSettings { most_in_flight: 0, ..DoorSettings::default() });
    let decision = wait(door.check(&alice())).unwrap();
    let told = door.tell(&alice(), &decision);
    assert_eq!(told.headers.get("retry-after"), Some("1"));
    let problem = told.problem.unwrap();
    assert_eq!(problem.status(), 503);
    assert_eq!(problem.detail(), "there are too many requests at once; retry in 1 s");
}

#[test]
fn what_is_in_the_shadow_is_not_told() {
    let rules = "domain: api\nrules:\n\
        - { name: seen, by: [user], limit: 5/min }\n\
        - { name: shadow, by: [user], limit: 1/min, mode: shadow }";
    let (door, _) = door(rules);
    told(&door, &alice());
    let headers = told(&door, &alice());
    assert!(headers.iter().all(|header| !header.contains("shadow")), "{headers:?}");
    assert!(headers.contains(&r#"ratelimit-policy: "seen";q=5;w=60"#.to_owned()), "{headers:?}");
    assert!(!headers.iter().any(|header| header.starts_with("retry-after")), "{headers:?}");
}

#[test]
fn a_rule_that_blocks_is_named_without_a_limit() {
    let (door, _) = door("domain: api\nrules: [{ name: no-bots, match: { user: alice }, action: block }]");
    assert_eq!(told(&door, &alice()), [r#"x-ratelimit-denied-by: global;rule="no-bots""#]);
}

#[test]
fn a_closed_rule_says_when_it_opens() {
    let (door, hands) =
        door("domain: api\nrules: [{ name: login, by: [user], limit: 1/min, block_for: 10m }]");
    told(&door, &alice());
    assert!(told(&door, &alice()).contains(&"retry-after: 600".to_owned()));
    hands.move_by_s(120);
    assert!(told(&door, &alice()).contains(&"retry-after: 480".to_owned()));
}

#[test]
fn partition_keys_are_told_on_request_and_differ_by_what_is_counted() {
    let headers = Settings { partition_keys: true, ..Settings::default() };
    let pk_secret = Some(PartitionSecret::new([9; 16]));
    let key = |settings: DoorSettings, user: &str| {
        let (door, _) = door_to(Reference::new(), PER_USER, settings);
        let headers = told(&door, &Check { attributes: &[("user", user)], ..Check::new("api") });
        headers.iter().find_map(|header| header.split_once(";pk=:").map(|(_, key)| key.to_owned()))
    };
    let on = || DoorSettings { headers, pk_secret, ..DoorSettings::default() };
    let alice = key(on(), "alice").unwrap();
    assert_eq!(key(on(), "alice").as_ref(), Some(&alice));
    assert_ne!(key(on(), "bob").as_ref(), Some(&alice));
    let other = Some(PartitionSecret::new([8; 16]));
    assert_ne!(key(DoorSettings { pk_secret: other, ..on() }, "alice").as_ref(), Some(&alice));
    assert_eq!(key(DoorSettings { pk_secret: None, ..on() }, "alice"), None);
    assert_eq!(key(DoorSettings { headers: Settings::default(), ..on() }, "alice"), None);
    assert!(!format!("{:?}", on()).contains('9'));
}

#[test]
fn what_is_given_back_is_not_told_as_a_refusal() {
    let (door, _) = door(PER_USER);
    for _ in 0..2 {
        told(&door, &alice());
    }
    let check = Check { cost: 5, ..alice() };
    let decision = wait(door.refund(&check, None)).unwrap();
    let told = door.tell(&check, &decision);
    assert!(told.problem.is_none());
    assert!(told.headers.get("retry-after").is_none());
    assert_eq!(told.headers.get("ratelimit"), Some(r#""per-user";r=2;t=0"#));
}

//! Checks that wait for the store: deadlines, callers that go away, and the bound on how many wait.

use std::sync::Arc;
use std::time::Duration;

use super::*;
use tidegate_engine::FlightLimit;
use tidegate_store::{Act, Done, Hold, StoreError};
use tokio::sync::Semaphore;
use tokio::task::yield_now;

/// A store in memory that answers only when a test lets it.
struct Gated {
    memory: Memory,
    gate: Arc<Semaphore>,
}

impl Store for Gated {
    async fn run(&self, act: Act<'_>, now: Timestamp) -> Result<Done, StoreError> {
        self.gate.acquire().await.expect("the gate stays open").forget();
        self.memory.run_now(act, now)
    }
}

const RULES: &str = "rules:
  - { name: slots, match: { path: /slots }, limit: { algorithm: concurrency, amount: 1, term: 60s } }
  - { name: guarded, match: { path: /b }, class: security, limit: 9/min }
  - { name: comfortable, match: { path: /a }, limit: 9/min }";

fn gated() -> (Way<Gated>, Arc<Semaphore>) {
    let gate = Arc::new(Semaphore::new(0));
    (Way::over(Gated { memory: Memory::new(), gate: Arc::clone(&gate) }, RULES), gate)
}

/// Begins a check, lets it reach the store, and drops it there.
async fn abandon(way: &Way<Gated>, attributes: Pairs<'_>) {
    let check = Check { attributes, ..Check::new("api") };
    let mut asked = Box::pin(way.engine.check(&check, way.now));
    tokio::select! {
        biased;
        _ = &mut asked => panic!("the gate is closed"),
        () = yield_now() => {}
    }
}

/// Lets so many calls pass, and the tasks that wait for them end.
async fn open(gate: &Semaphore, calls: usize) {
    gate.add_permits(calls);
    for _ in 0..10 {
        yield_now().await;
    }
}

#[test]
fn dropped_pending_counts_as_abandoned() {
    let way = Way::new("rules: [{ name: a, limit: 2/min }]");
    let check = Check::new("api");
    drop(way.engine.begin(&check, way.now));
    assert_eq!(way.engine.observed().abandoned_checks(), 1);
    assert_eq!(way.passing(&[]), 2, "nothing was charged");
    assert_eq!(way.engine.observed().abandoned_checks(), 1);
    assert!(way.ask(&Check::new("")).is_err());
    assert_eq!(way.engine.observed().abandoned_checks(), 1, "a malformed check is answered");
}

#[tokio::test]
async fn abandoned_call_charges_and_releases_its_slots() {
    let (way, gate) = gated();
    abandon(&way, &[("path", "/slots")]).await;
    assert_eq!(way.engine.observed().abandoned_checks(), 1);
    // The call itself, and the release of its slot.
    open(&gate, 2).await;
    assert_eq!(gate.available_permits(), 0);
    open(&gate, 1).await;
    let check = Check { attributes: &[("path", "/slots")], ..Check::new("api") };
    assert!(way.engine.check(&check, way.now).await.unwrap().allowed(), "the slot is free again");

    abandon(&way, &[("path", "/a")]).await;
    open(&gate, 1).await;
    open(&gate, 1).await;
    let check = Check { attributes: &[("path", "/a")], ..Check::new("api") };
    let decision = way.engine.check(&check, way.now).await.unwrap();
    assert_eq!(
        remaining(&decision),
        [("comfortable".to_owned(), 7)],
        "the abandoned request may have passed"
    );
}

#[tokio::test]
async fn abandoned_reservation_is_cancelled() {
    let (way, gate) = gated();
    let check = Check { attributes: &[("path", "/a")], ..Check::new("api") };
    let hold = Hold::lasting(Duration::from_secs(60));
    let mut reserved = Box::pin(way.engine.reserve(&check, hold, way.now));
    tokio::select! {
        biased;
        _ = &mut reserved => panic!("the gate is closed"),
        () = yield_now() => {}
    }
    drop(reserved);
    open(&gate, 2).await;
    open(&gate, 1).await;
    let decision = way.engine.check(&check, way.now).await.unwrap();
    assert_eq!(remaining(&decision), [("comfortable".to_owned(), 8)]);
}

#[tokio::test(start_paused = true)]
async fn class_decides_at_the_deadline() {
    let (way, gate) = gated();
    let patience = Some(Duration::from_millis(20));
    let ask = async |path| {
        let check = Check { attributes: &[("path", path)], patience, ..Check::new("api") };
        way.engine.check(&check, way.now).await.unwrap()
    };
    let decision = ask("/a").await;
    assert_eq!((decision.outcome, decision.reason().as_ref()), (Outcome::Allow, "undecided"));
    assert_eq!(ask("/b").await.outcome, Outcome::Deny);
    assert_eq!(way.engine.observed().abandoned_checks(), 0, "both callers were answered");
    // The calls go on by themselves.
    open(&gate, 2).await;
    open(&gate, 1).await;
    assert_eq!(remaining(&ask("/a").await), [("comfortable".to_owned(), 7)]);
}

#[tokio::test(start_paused = true)]
async fn no_call_without_time_left() {
    let (way, gate) = gated();
    gate.add_permits(1);
    let patience = Some(Duration::ZERO);
    let check = Check { attributes: &[("path", "/a")], patience, ..Check::new("api") };
    let decision = way.engine.check(&check, way.now).await.unwrap();
    assert_eq!(decision.reason(), "undecided");
    assert_eq!(gate.available_permits(), 1, "the store was not called");
}

#[test]
fn memory_needs_no_runtime() {
    let way = Way::new("rules: [{ name: a, limit: 2/min }]");
    let check = Check { patience: Some(Duration::from_millis(20)), ..Check::new("api") };
    assert!(wait(way.engine.peek(&check, way.now)).unwrap().allowed());
    let hold = Hold::lasting(Duration::from_secs(60));
    assert!(wait(way.engine.reserve(&check, hold, way.now)).unwrap().allowed());
    assert!(wait(way.engine.refund(&check, way.now, way.now)).unwrap().allowed());
    assert_eq!(way.engine.observed().panics(), 0);
}

#[tokio::test]
async fn flight_limit_bounds_waiting_checks() {
    let (way, _gate) = gated();
    let (check, flights) =
        (Check { attributes: &[("path", "/a")], ..Check::new("api") }, FlightLimit::new(1));
    let mut first = Box::pin(way.engine.check_within(&check, way.now, &flights));
    tokio::select! {
        biased;
        _ = &mut first => panic!("the gate is closed"),
        () = yield_now() => {}
    }
    // The strictest class of the domain is security.
    let second = way.engine.check_within(&check, way.now, &flights).await.unwrap();
    assert_eq!((second.outcome, second.reason().as_ref()), (Outcome::Shed, "overload"));
    assert_eq!((flights.waiting(), flights.refused()), (1, 1));
    drop(first);
    assert_eq!(flights.waiting(), 0);
}

#[tokio::test]
async fn memory_needs_no_permit() {
    let way = Way::new("rules: [{ name: a, limit: 2/min }]");
    let decision = way.engine.check_within(&Check::new("api"), way.now, &FlightLimit::new(0)).await.unwrap();
    assert_eq!((decision.outcome, decision.reason().as_ref()), (Outcome::Allow, "ok"));
}

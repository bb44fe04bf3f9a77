//! Plans across homes that cannot be named in one call.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::scope;
use std::time::Duration;

use proptest::prelude::*;
use tidegate_core::{Idempotency, Key, Limit, Pay, Plan, Ticket, Timestamp};
use tidegate_redis::{Call, CallError, Caller, Clock, Fault, Redis, Settings};
use tidegate_store::{Answer, AtEnd, Hold, Reference, Settlement, Store, StoreError};

use crate::server::{Server, ready};

const START: Timestamp = Timestamp::from_micros(1_790_000_000_000_123);
const MINUTE: Duration = Duration::from_secs(60);

/// A server that behaves as if every home had a slot, and a node, of its own; the call of that number is lost, with or without
/// having run.
#[derive(Clone)]
struct Apart {
    server: Server,
    calls: Arc<AtomicU64>,
    lost: Option<(u64, bool)>,
}

impl Caller for Apart {
    async fn call(&self, call: Call) -> Result<redis::Value, CallError> {
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        let error = CallError { shard: "lost".into(), fault: Fault::TimedOut, may_have_run: true };
        match self.lost {
            Some((lost, runs)) if lost == number => {
                if runs {
                    self.server.call(call).await?;
                }
                Err(error)
            }
            _ => self.server.call(call).await,
        }
    }

    fn are_neighbours(&self, _: &[u8], _: &[u8]) -> bool {
        false
    }
}

fn store(server: &Server, lost: Option<(u64, bool)>) -> Redis<Apart> {
    let caller = Apart { server: server.clone(), calls: Arc::default(), lost };
    let settings = Settings { prefix: Server::prefix(), clock: Clock::Given, ..Settings::default() };
    Redis::new(caller, &settings)
}

fn log(amount: u64) -> Limit {
    Limit::sliding_log(amount, MINUTE).unwrap()
}

fn gcra(amount: u64) -> Limit {
    Limit::gcra(tidegate_core::Rate::new(amount, MINUTE).unwrap(), amount).unwrap()
}

fn plan(charges: &[(&str, Limit, u64)]) -> Plan {
    let mut plan = Plan::new();
    for (home, limit, cost) in charges {
        plan.charge(Key { home: &[home.as_bytes()], own: &[b"limit"] }, *limit, *cost).unwrap();
    }
    plan
}

fn with_ticket(mut plan: Plan, ticket: u128) -> Plan {
    plan.set_ticket(Ticket(ticket));
    plan
}

fn remaining(store: &impl Store, charge: (&str, Limit), at: Timestamp) -> u64 {
    ready(store.read(&plan(&[(charge.0, charge.1, 1)]), at)).unwrap().verdicts[0].remaining
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// One after the other, plans of one group are decided as in one home.
    #[test]
    fn plans_one_after_another_are_decided_alike(
        asks in prop::collection::vec((prop::collection::vec((0..4_usize, 0..7_usize, 1..4_u64), 1..5), 0..9_000_000_u64), 1..30),
    ) {
        let server = Server::redis();
        let (ours, theirs, mut now) = (store(&server, None), Reference::new(), START);
        for (number, (charges, pause_us)) in asks.into_iter().enumerate() {
            now = now.plus_us(pause_us);
            let mut plan = with_ticket(Plan::new(), number as u128 + 1);
            for (home, kind, cost) in charges {
                let kind = [0, 2, 4, 7, 8, 10, 12][kind];
                let key = Key { home: &[&[u8::try_from(home).unwrap()]], own: &[&[u8::try_from(kind).unwrap()]] };
                plan.charge(key, crate::history::limit(kind, 0), cost).unwrap();
            }
            let answer = ready(ours.decide(&plan, now)).unwrap();
            prop_assert_eq!(&answer, &theirs.decide_now(&plan, now).unwrap());
            prop_assert_eq!(ready(ours.read(&plan, now)), theirs.read_now(&plan, now));
        }
    }
}

#[test]
fn a_refused_plan_leaves_no_trace_and_pays_what_always_pays() {
    let store = store(&Server::redis(), None);
    let mut refused = plan(&[("wide", log(9), 2), ("slots", Limit::concurrency(2, MINUTE).unwrap(), 1)]);
    refused.charge_when(Key { home: &[b"always"], own: &[b"limit"] }, gcra(9), 2, Pay::Always).unwrap();
    refused.charge(Key { home: &[b"tight"], own: &[b"limit"] }, log(1), 2).unwrap();
    let answer = ready(store.decide(&refused, START)).unwrap();
    assert!(!answer.allowed());
    let told: Vec<u64> = answer.verdicts.iter().map(|verdict| verdict.remaining).collect();
    assert_eq!(told, [9, 2, 7, 1], "verdicts tell the counters as the answer leaves them");
    assert_eq!([answer.paid(0), answer.paid(1), answer.paid(2), answer.paid(3)], [false, false, true, false]);
    for (name, limit, left) in [("wide", log(9), 9), ("always", gcra(9), 7), ("tight", log(1), 1)] {
        assert_eq!(remaining(&store, (name, limit), START), left, "{name}");
    }
}

#[test]
fn many_at_once_never_exceed_a_limit() {
    let store = store(&Server::redis(), None);
    let admitted: u64 = scope(|scope| {
        let work = |thread: u64| {
            let homes = if thread.is_multiple_of(2) { ["a", "b"] } else { ["b", "a"] };
            let plan = plan(&[(homes[0], gcra(40), 1), (homes[1], gcra(40), 1)]);
            (0..40).filter(|_| ready(store.decide(&plan, START)).unwrap().allowed()).count() as u64
        };
        let threads: Vec<_> = (0..3).map(|thread| scope.spawn(move || work(thread))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert!(admitted <= 40, "{admitted} of 40");
    for home in ["a", "b"] {
        assert_eq!(remaining(&store, (home, gcra(40)), START), 40 - admitted, "{home}");
        let later = START.plus_us(2_000_000);
        assert!(
            remaining(&store, (home, gcra(40)), later) <= 41 - admitted,
            "{home}: a confirmed plan came back"
        );
    }
}

/// Whichever call is lost, whether it ran or not: at once nothing is exceeded, and a while later nothing is missing.
#[test]
fn whatever_is_lost_comes_back_by_itself() {
    let server = Server::redis();
    let both = plan(&[("a", log(5), 2), ("b", log(5), 2)]);
    for runs in [false, true] {
        for lost in 0..2 {
            let store = store(&server, Some((lost, runs)));
            let error = ready(store.decide(&both, START)).unwrap_err();
            assert!(matches!(error, StoreError::Unavailable { maybe_charged: false, .. }), "{error}");
            for home in ["a", "b"] {
                assert_eq!(
                    remaining(&store, (home, log(5)), START.plus_us(1_000_000)),
                    5,
                    "{home} {lost} {runs}"
                );
            }
        }
    }
    // The word to give back is lost: units are held until the homes have waited long enough.
    let refused = plan(&[("a", log(5), 2), ("b", log(1), 2)]);
    let store = store(&server, Some((2, false)));
    assert!(!ready(store.decide(&refused, START)).unwrap().allowed());
    let left = |after_us| remaining(&store, ("a", log(5)), START.plus_us(after_us));
    assert_eq!([left(0), left(999_999), left(1_000_000)], [3, 3, 5]);
}

/// Homes that fall silent: nobody hears of the first two calls, and all later ones hang.
#[derive(Clone, Default)]
struct Silent(Arc<AtomicU64>);

impl Caller for Silent {
    async fn call(&self, _: Call) -> Result<redis::Value, CallError> {
        if self.0.fetch_add(1, Ordering::Relaxed) >= 2 {
            std::future::pending::<()>().await;
        }
        Err(CallError { shard: "silent".into(), fault: Fault::TimedOut, may_have_run: true })
    }

    fn are_neighbours(&self, _: &[u8], _: &[u8]) -> bool {
        false
    }
}

#[tokio::test]
async fn nobody_waits_for_what_is_given_back_after_a_silence() {
    let store = Redis::new(Silent::default(), &Settings::default());
    let both = plan(&[("a", log(5), 2), ("b", log(5), 2)]);
    let decided = tokio::time::timeout(Duration::from_secs(5), store.decide(&both, START)).await;
    assert!(matches!(decided, Ok(Err(StoreError::Unavailable { .. }))), "{decided:?}");
}

#[test]
fn a_reservation_across_homes_is_settled_by_any_node() {
    let server = Server::redis();
    let caller = || Apart { server: server.clone(), calls: Arc::default(), lost: None };
    let settings = Settings { prefix: Server::prefix(), clock: Clock::Given, ..Settings::default() };
    let (one, other) = (Redis::new(caller(), &settings), Redis::new(caller(), &settings));
    let hold = Hold { term_us: 5_000_000, at_end: AtEnd::GiveBack };
    let plan = |ticket| with_ticket(plan(&[("a", log(9), 4), ("b", gcra(9), 4)]), ticket);
    assert!(ready(one.reserve(&plan(1), hold, START)).unwrap().allowed());
    assert_eq!(ready(other.reserve(&plan(1), hold, START)), Err(StoreError::TicketTaken));
    let count = ready(other.commit(Ticket(1), &[1], START));
    assert_eq!(count, Err(StoreError::CostCount { charges: 2, costs: 1 }));
    let Settlement::Settled(verdicts) = ready(other.commit(Ticket(1), &[1, 7], START)).unwrap() else {
        panic!("it is gone");
    };
    assert_eq!([verdicts[0].remaining, verdicts[1].remaining], [8, 2]);
    assert_eq!(ready(one.cancel(Ticket(1), START)), Ok(Settlement::Gone));
    // The second is refused by one home, and holds nothing in the other.
    assert!(!ready(one.reserve(&plan(2), hold, START)).unwrap().allowed());
    assert_eq!(ready(other.cancel(Ticket(2), START)), Ok(Settlement::Gone));
    assert_eq!(remaining(&one, ("a", log(9)), START), 8);
}

#[test]
fn a_settlement_that_a_home_does_not_answer_can_be_asked_again() {
    // The ticket is claimed and two homes are asked; then one of them is told in vain.
    let store = store(&Server::redis(), Some((3, false)));
    let hold = Hold { term_us: 5_000_000, at_end: AtEnd::Keep };
    let plan = with_ticket(plan(&[("a", log(9), 4), ("b", log(9), 4)]), 1);
    assert!(ready(store.reserve(&plan, hold, START)).unwrap().allowed());
    assert!(ready(store.commit(Ticket(1), &[1, 1], START)).is_err());
    let Settlement::Settled(verdicts) = ready(store.commit(Ticket(1), &[1, 1], START)).unwrap() else {
        panic!("it is gone");
    };
    assert_eq!([verdicts[0].remaining, verdicts[1].remaining], [8, 8]);
    assert_eq!(ready(store.commit(Ticket(1), &[1, 1], START)), Ok(Settlement::Gone));
}

#[test]
fn a_name_far_from_the_counters_is_remembered_once() {
    let store = store(&Server::redis(), None);
    let named = |cost| {
        let mut plan = with_ticket(plan(&[("a", log(9), cost), ("b", log(9), cost)]), 7);
        let key = Key { home: &[b"acme"], own: &[b"request"] }.encode().unwrap();
        plan.set_idempotency(Idempotency { key, keep_us: 10_000_000, asked: None });
        plan
    };
    let deliver = |cost| -> Result<Answer, StoreError> { ready(store.decide(&named(cost), START)) };
    assert!(!deliver(10).unwrap().allowed(), "a refusal is not remembered");
    let (first, second) = (deliver(2).unwrap(), deliver(2).unwrap());
    assert!(first.allowed() && !first.replayed && second.replayed);
    assert_eq!(first.verdicts, second.verdicts);
    assert_eq!(deliver(3), Err(StoreError::IdempotencyConflict));
    assert_eq!(remaining(&store, ("a", log(9)), START), 7);
}

//! A node whose store goes away and comes back.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tidegate_core::{Class, Key, KeyRef, Limit, Plan, Rate, Ticket, Timestamp};
use tidegate_store::layer::{Fallback, Members};
use tidegate_store::{Act, Done, Hold, Memory, Settlement, Store, StoreError};

pub(super) const START: Timestamp = Timestamp::from_micros(1_790_000_000_000_000);
const MINUTE: Duration = Duration::from_secs(60);

/// What a store does with what it is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Does {
    Answer,
    Refuse,
    /// It refuses keys that live elsewhere.
    RefuseSome,
    /// It charges, and nobody hears of it.
    FallSilent,
}

/// A store that can be taken away, as a whole or for some keys. Clones are the same store.
#[derive(Clone)]
pub(super) struct Away(Arc<(Mutex<Memory>, AtomicU8)>);

impl Away {
    pub(super) fn new() -> Self {
        Self(Arc::new((Mutex::new(Memory::new()), AtomicU8::new(Does::Answer as u8))))
    }

    pub(super) fn does(&self, what: Does) {
        self.0.1.store(what as u8, Ordering::SeqCst);
    }

    pub(super) fn loses_everything(&self) {
        *self.0.0.lock().unwrap() = Memory::new();
    }

    fn asked<T>(&self, ask: impl FnOnce(&Memory) -> T) -> Result<T, StoreError> {
        if self.does_now(Does::Refuse) {
            return Err(away(false));
        }
        let answer = ask(&self.0.0.lock().unwrap());
        if self.does_now(Does::FallSilent) { Err(away(true)) } else { Ok(answer) }
    }

    fn does_now(&self, what: Does) -> bool {
        self.0.1.load(Ordering::SeqCst) == what as u8
    }
}

fn away(maybe_charged: bool) -> StoreError {
    StoreError::Unavailable { shard: "0".to_owned(), kind: "away", maybe_charged }
}

/// Whether a key lives on the server that is away when only some are refused.
pub(super) fn lives_elsewhere(key: KeyRef<'_>) -> bool {
    key.bytes().windows(9).any(|bytes| bytes == b"elsewhere")
}

impl Store for Away {
    async fn run(&self, act: Act<'_>, now: Timestamp) -> Result<Done, StoreError> {
        if let Act::Decide(plan) | Act::Raise(plan) = act
            && self.does_now(Does::RefuseSome)
            && plan.charges().any(|charge| lives_elsewhere(charge.key))
        {
            return Err(away(false));
        }
        self.asked(|store| store.run_now(act, now))?
    }
}

/// Nothing here waits for anybody.
pub(super) fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("stores in memory answer at once"),
    }
}

/// One of so many nodes on that store.
pub(super) fn node(store: &Away, members: u32) -> Fallback<Away> {
    let dial = Members::default();
    dial.set(members);
    Fallback::new(store.clone(), Memory::with_cap(16 << 20), dial)
}

pub(super) fn plan(key: &str, limit: Limit, cost: u64) -> Plan {
    let mut plan = Plan::new();
    plan.charge(Key { home: &[key.as_bytes()], own: &[b"rule"] }, limit, cost).unwrap();
    plan
}

pub(super) fn ten() -> Limit {
    Limit::sliding_window(10, MINUTE).unwrap()
}

/// How many of twenty requests pass.
pub(super) fn admitted(node: &Fallback<Away>, plan: &Plan, at: Timestamp) -> usize {
    (0..20).filter(|_| now(node.decide(plan, at)).unwrap().allowed()).count()
}

#[test]
fn while_the_store_is_away_a_node_has_its_part_of_the_limit() {
    let store = Away::new();
    let (one, other) = (node(&store, 2), node(&store, 2));
    store.does(Does::Refuse);
    let asked = plan("alice", ten(), 1);
    let first = now(one.decide(&asked, START)).unwrap();
    assert!(first.local && first.allowed());
    assert_eq!((first.verdicts[0].limit, first.verdicts[0].remaining), (10, 4));
    assert_eq!(1 + admitted(&one, &asked, START) + admitted(&other, &asked, START), 10);
}

#[test]
fn it_goes_on_from_what_the_store_said_last() {
    let store = Away::new();
    let node = node(&store, 2);
    let asked = plan("alice", ten(), 1);
    for _ in 0..6 {
        assert!(!now(node.decide(&asked, START)).unwrap().local);
    }
    store.does(Does::Refuse);
    assert_eq!(admitted(&node, &asked, START), 2, "three fifths of its five are used");
}

#[test]
fn a_store_that_comes_and_goes_is_not_counted_anew_each_time() {
    let store = Away::new();
    let node = node(&store, 2);
    let asked = plan("alice", ten(), 1);
    for _ in 0..3 {
        store.does(Does::Answer);
        assert!(now(node.decide(&asked, START)).unwrap().allowed());
        store.does(Does::FallSilent);
        assert!(now(node.decide(&asked, START)).unwrap().allowed(), "six of ten, and three of its five");
    }
}

#[test]
fn a_cost_that_the_limit_allows_is_allowed_by_a_part_of_it() {
    let store = Away::new();
    let node = node(&store, 5);
    store.does(Does::Refuse);
    let twice = {
        let mut asked = plan("alice", ten(), 4);
        asked.charge(Key { home: &[b"alice"], own: &[b"rule"] }, ten(), 4).unwrap();
        asked
    };
    assert!(now(node.decide(&twice, START)).unwrap().allowed());
    assert!(!now(node.decide(&plan("bob", ten(), 11), START)).unwrap().allowed());
}

#[test]
fn what_must_be_exact_is_not_decided_by_one_node() {
    let store = Away::new();
    let node = node(&store, 1);
    store.does(Does::Refuse);
    let mut asked = plan("alice", ten(), 1);
    asked.set_class(Class::Security);
    assert!(matches!(now(node.decide(&asked, START)), Err(StoreError::Unavailable { .. })));
    assert_eq!(node.standing().local, 0);
}

#[test]
fn the_share_of_answers_in_time_can_be_told() {
    let store = Away::new();
    let node = node(&store, 1);
    let mut exact = plan("bob", ten(), 1);
    exact.set_class(Class::Security);
    let asked = [plan("alice", ten(), 1), exact];
    for (does, times) in [(Does::Answer, 3), (Does::Refuse, 2)] {
        store.does(does);
        for asked in asked.iter().cycle().take(times) {
            drop(now(node.decide(asked, START)));
        }
    }
    store.does(Does::Answer);
    drop(now(node.decide(&asked[0], START)));
    let came = node.availability();
    assert_eq!((came.in_time, came.owing, came.failed), (3, 1, [("away", 2)].into()));
}

#[test]
fn there_is_no_second_burst_when_the_store_is_back() {
    let store = Away::new();
    let node = node(&store, 1);
    store.does(Does::Refuse);
    let asked = plan("alice", ten(), 1);
    assert_eq!(admitted(&node, &asked, START), 10);
    store.does(Does::Answer);
    assert_eq!(node.standing().owing, 1);
    assert_eq!(admitted(&node, &asked, START), 0, "what is owed is decided here until it is paid");
    assert_eq!(now(node.pay_back(START)), 0);
    let after = now(node.decide(&asked, START)).unwrap();
    assert!(!after.local && !after.allowed());
    assert_eq!(node.standing().paid_back, 10);
    let elsewhere = plan("bob", ten(), 1);
    assert!(!now(node.decide(&elsewhere, START)).unwrap().local);
}

#[test]
fn what_has_drained_meanwhile_is_not_owed_any_more() {
    let store = Away::new();
    let node = node(&store, 1);
    store.does(Does::Refuse);
    let bucket = Limit::gcra(Rate::new(1, Duration::from_secs(1)).unwrap(), 10).unwrap();
    let asked = plan("alice", bucket, 1);
    assert_eq!(admitted(&node, &asked, START), 10);
    store.does(Does::Answer);
    let later = START.plus_us(7_000_000);
    assert_eq!(now(node.pay_back(later)), 0);
    assert_eq!(admitted(&node, &asked, later), 7);
}

#[test]
fn debts_stay_while_the_store_is_away_and_the_largest_are_paid_first() {
    let store = Away::new();
    let node = node(&store, 1);
    store.does(Does::Refuse);
    for (key, cost) in [("small", 1), ("large", 9), ("middle", 4)] {
        assert!(now(node.decide(&plan(key, ten(), cost), START)).unwrap().allowed());
    }
    assert_eq!(now(node.pay_back(START)), 3);
    store.does(Does::FallSilent);
    assert_eq!(now(node.pay_back(START)), 2, "what may have been charged is not charged again");
    store.does(Does::Answer);
    assert!(!now(node.decide(&plan("large", ten(), 2), START)).unwrap().allowed(), "it was the first");
    assert_eq!((now(node.pay_back(START)), node.standing().paid_back), (0, 5));
}

#[test]
fn a_payment_that_nobody_confirms_gives_no_second_part() {
    let store = Away::new();
    let node = node(&store, 2);
    let asked = plan("alice", ten(), 1);
    store.does(Does::Refuse);
    assert_eq!(admitted(&node, &asked, START), 5);
    store.does(Does::FallSilent);
    assert_eq!(now(node.pay_back(START)), 0);
    store.does(Does::Refuse);
    assert_eq!(admitted(&node, &asked, START), 0);
}

#[test]
fn a_counter_that_is_paid_before_others_of_its_plan_gives_no_second_part() {
    let store = Away::new();
    let node = node(&store, 2);
    let mut asked = plan("alice", ten(), 1);
    asked.charge(Key { home: &[b"elsewhere"], own: &[b"rule"] }, ten(), 1).unwrap();
    store.does(Does::Refuse);
    assert_eq!(admitted(&node, &asked, START), 5);
    store.does(Does::RefuseSome);
    assert_eq!(now(node.pay_back(START)), 1);
    assert_eq!(admitted(&node, &asked, START), 0);
}

#[test]
fn a_node_goes_on_from_the_store_whatever_it_counted_before() {
    let store = Away::new();
    let node = node(&store, 2);
    let asked = plan("alice", ten(), 1);
    store.does(Does::Refuse);
    assert_eq!(admitted(&node, &asked, START), 5);
    store.does(Does::Answer);
    assert_eq!(now(node.pay_back(START)), 0);
    assert!(!now(node.decide(&asked, START)).unwrap().local);
    store.does(Does::Refuse);
    assert_eq!(admitted(&node, &asked, START), 2, "six of ten are used, and therefore three of its five");
}

#[test]
fn what_the_store_says_to_a_payment_is_known_when_it_goes_again() {
    let store = Away::new();
    let (one, other) = (node(&store, 2), node(&store, 2));
    let asked = plan("alice", ten(), 1);
    store.does(Does::Refuse);
    assert_eq!((admitted(&one, &asked, START), admitted(&other, &asked, START)), (5, 5));
    store.does(Does::Answer);
    assert_eq!((now(one.pay_back(START)), now(other.pay_back(START))), (0, 0));
    store.does(Does::Refuse);
    assert_eq!(admitted(&other, &asked, START), 0, "the store had all ten");
}

#[test]
fn counters_whose_server_is_away_do_not_hold_up_the_others() {
    let store = Away::new();
    let node = node(&store, 1);
    store.does(Does::Refuse);
    for key in 0..300 {
        assert!(now(node.decide(&plan(&format!("elsewhere {key}"), ten(), 9), START)).unwrap().allowed());
    }
    assert!(now(node.decide(&plan("here", ten(), 1), START)).unwrap().allowed());
    store.does(Does::RefuseSome);
    assert!((0..40).any(|_| now(node.pay_back(START)) == 300), "it is not paid");
    assert!(!now(node.decide(&plan("here", ten(), 1), START)).unwrap().local);
}

#[test]
fn a_charge_that_may_have_happened_counts_as_spent_in_the_store() {
    let store = Away::new();
    let node = node(&store, 1);
    store.does(Does::FallSilent);
    let asked = plan("alice", ten(), 1);
    assert!(now(node.decide(&asked, START)).unwrap().allowed());
    assert_eq!(node.standing().owing, 0);
    store.does(Does::Answer);
    assert_eq!(admitted(&node, &asked, START), 9);
}

#[test]
fn slots_and_reservations_of_a_node_are_given_back_there() {
    let store = Away::new();
    let node = node(&store, 1);
    store.does(Does::Refuse);
    let room = Limit::concurrency(1, MINUTE).unwrap();
    let mut inside = plan("room", room, 1);
    inside.set_ticket(Ticket(7));
    assert!(now(node.decide(&inside, START)).unwrap().allowed());
    let mut reserved = plan("alice", ten(), 10);
    reserved.set_ticket(Ticket(8));
    assert!(now(node.reserve(&reserved, Hold::lasting(MINUTE), START)).unwrap().allowed());
    store.does(Does::Answer);
    assert!(now(node.renew(&inside, START)).unwrap().is_some());
    assert_eq!(now(node.release(&inside, START)).unwrap(), 1);
    assert!(matches!(now(node.commit(Ticket(8), &[3], START)).unwrap(), Settlement::Settled(_)));
    assert_eq!(now(node.pay_back(START)), 0);
    assert_eq!(admitted(&node, &plan("alice", ten(), 1), START), 7, "only what it really cost is owed");
}

#[test]
fn refunds_and_resets_reach_what_is_owed() {
    let store = Away::new();
    let node = node(&store, 1);
    store.does(Does::Refuse);
    let (alice, bob) = (plan("alice", ten(), 5), plan("bob", ten(), 5));
    for asked in [&alice, &bob] {
        assert!(now(node.decide(asked, START)).unwrap().allowed());
    }
    now(node.refund(&alice, START, START)).unwrap();
    store.does(Does::Answer);
    assert_eq!(now(node.reset(&bob, START)).unwrap(), 1);
    assert_eq!(now(node.pay_back(START)), 0);
    assert_eq!(node.standing().paid_back, 0);
    for key in ["alice", "bob"] {
        assert_eq!(admitted(&node, &plan(key, ten(), 1), START), 10, "{key}");
    }
}

#[test]
fn a_ledger_that_is_full_loses_and_tells() {
    let store = Away::new();
    let node = node(&store, 1);
    store.does(Does::Refuse);
    for key in 0..65_540 {
        assert!(now(node.decide(&plan(&key.to_string(), ten(), 1), START)).unwrap().allowed());
    }
    assert_eq!((node.standing().owing, node.standing().lost), (65_536, 4));
    assert!(node.purge() >= 65_536);
    assert_eq!(node.standing().owing, 0);
}

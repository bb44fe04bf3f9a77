//! Exact under threads: no more and no fewer than the limit, no trace of what was refused, no deadlock.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::thread::scope;

use tidegate_core::{Idempotency, Key, Limit, Pay};

use super::{
    Case, MINUTE, START, and, decide, every_limit, every_rate_limit, gate, read, remaining, single, slots,
    together, wait, with_ticket,
};
use crate::contract::Store;

const THREADS: u64 = 4;

pub(super) fn cases<S: Store>(exact: bool) -> Vec<Case<S>> {
    let mut cases: Vec<Case<S>> = vec![
        ("slots in use never exceed the limit", slots_in_use_never_exceed_the_limit),
        ("one delivery of many is charged", one_delivery_of_many_is_charged),
    ];
    if exact {
        cases.push(("one hot key admits exactly its limit", one_hot_key_admits_exactly_its_limit));
        cases
            .push(("overlapping plans admit exactly the limits", overlapping_plans_admit_exactly_the_limits));
        cases.push(("refusals pay twice a limit exactly", refusals_pay_twice_a_limit_exactly));
        cases.push(("a gate closes once", a_gate_closes_once));
        cases.push(("plans in opposite order do not deadlock", plans_in_opposite_order_do_not_deadlock));
    }
    cases
}

/// Runs `work` on several threads at once and adds up what they return.
fn on_threads(work: impl Fn(u64) -> u64 + Sync) -> u64 {
    let work = &work;
    scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || work(thread))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no thread panics")).sum()
    })
}

fn one_hot_key_admits_exactly_its_limit<S: Store>(store: &S) {
    for (name, limit) in every_limit(500) {
        let admitted = on_threads(|thread| {
            let attempt = |n: u64| {
                let plan = with_ticket(single(name, limit, 1), u128::from(thread << 32 | n));
                u64::from(decide(store, &plan, START).allowed())
            };
            (0..200).map(attempt).sum()
        });
        assert_eq!(admitted, 500, "{name}");
    }
}

/// Every plan has the hot global key, a key of its own thread, and one of a few that all share; only the global limit and
/// the shared ones bind. What was admitted must be what was charged, on every key.
fn overlapping_plans_admit_exactly_the_limits<S: Store>(store: &S) {
    let limit = |amount| Limit::sliding_log(amount, MINUTE).expect("an ordinary limit");
    let (global, shared, own) = (limit(900), limit(100), limit(10_000));
    let by_shared: Vec<AtomicU64> = (0..12).map(|_| AtomicU64::new(0)).collect();
    let admitted = on_threads(|thread| {
        let own_name = format!("own {thread}");
        let mut admitted = 0;
        for n in 0..600_u64 {
            let number = usize::try_from((n * 7 + thread) % 12).expect("below twelve");
            let shared_name = format!("shared {number}");
            let mut charges =
                [("global", global, 1), (own_name.as_str(), own, 1), (shared_name.as_str(), shared, 1)];
            charges.rotate_left(usize::try_from(n % 3).expect("below three"));
            if decide(store, &together(&charges), START).allowed() {
                by_shared[number].fetch_add(1, Ordering::Relaxed);
                admitted += 1;
            }
        }
        assert_eq!(
            remaining(store, &single(&own_name, own, 1), START),
            10_000 - admitted,
            "a refusal left a trace"
        );
        admitted
    });
    assert_eq!(admitted, 900);
    assert_eq!(remaining(store, &single("global", global, 1), START), 0);
    for (number, admitted) in by_shared.iter().enumerate() {
        let left = remaining(store, &single(&format!("shared {number}"), shared, 1), START);
        assert_eq!(left + admitted.load(Ordering::Relaxed), 100);
    }
}

fn plans_in_opposite_order_do_not_deadlock<S: Store>(store: &S) {
    let limit = Limit::sliding_log(50, MINUTE).expect("an ordinary limit");
    let names: Vec<String> = (0..16).map(|n| format!("key {n}")).collect();
    let admitted = on_threads(|thread| {
        let mut order: Vec<_> = names.iter().map(|name| (name.as_str(), limit, 1)).collect();
        if thread % 2 == 1 {
            order.reverse();
        }
        (0..100).map(|_| u64::from(decide(store, &together(&order), START).allowed())).sum()
    });
    assert_eq!(admitted, 50);
}

/// Nothing passes, everything counts: of 800 refusals each unit is paid once, until twice the limit is used.
fn refusals_pay_twice_a_limit_exactly<S: Store>(store: &S) {
    let refused = single("refused", slots(1), 2);
    for (name, limit) in every_rate_limit(300) {
        let plan = and(refused.clone(), name, (limit, 1), Pay::Always);
        let paid = on_threads(|_| (0..200).map(|_| u64::from(decide(store, &plan, START).paid(1))).sum());
        let debt = read(store, &single(name, limit, 1), START).verdicts[0].debt;
        assert_eq!((paid, debt), (600, 300), "{name}");
    }
}

/// The first refusal closes it; from then on everything is refused, also what the limit has room for.
fn a_gate_closes_once<S: Store>(store: &S) {
    let limit = Limit::sliding_log(1_000, MINUTE).expect("an ordinary limit");
    for round in 0..20 {
        let (name, gate_name) = (format!("limit {round}"), format!("gate {round}"));
        let plan = |cost| and(single(&name, limit, cost), &gate_name, (gate(), 1), Pay::IfRefused { of: 1 });
        let closed = on_threads(|_| {
            let costs = [1, 1, 1_001, 1, 1];
            let answers = costs.map(|cost| decide(store, &plan(cost), START));
            assert!(!answers[3].allowed() && !answers[4].allowed(), "the gate is open after a refusal");
            answers.iter().map(|answer| u64::from(answer.paid(1))).sum()
        });
        assert_eq!(closed, 1);
    }
}

fn slots_in_use_never_exceed_the_limit<S: Store>(store: &S) {
    let inside = AtomicI64::new(0);
    let entered = on_threads(|thread| {
        let mut entered = 0;
        for n in 0..500 {
            let plan = with_ticket(single("room", slots(2), 1), u128::from(thread << 32 | n));
            if decide(store, &plan, START).allowed() {
                entered += 1;
                assert!(inside.fetch_add(1, Ordering::SeqCst) < 2, "a third one is inside");
                std::thread::yield_now();
                inside.fetch_sub(1, Ordering::SeqCst);
                assert_eq!(wait(store.release(&plan, START)), Ok(1));
            }
        }
        entered
    });
    assert!(entered > 0);
    assert_eq!(remaining(store, &single("room", slots(2), 1), START), 2);
}

fn one_delivery_of_many_is_charged<S: Store>(store: &S) {
    let limit = Limit::sliding_log(1_000, MINUTE).expect("an ordinary limit");
    let first = on_threads(|_| {
        let deliver = |n: u64| {
            let mut plan = single("idem", limit, 1);
            let key = Key { home: &[b"acme"], own: &[&n.to_be_bytes()] }.encode().expect("a short name");
            plan.set_idempotency(Idempotency { key, keep_us: 1_000_000, asked: None });
            let answer = decide(store, &plan, START);
            assert!(answer.allowed());
            u64::from(!answer.replayed)
        };
        (0..100).map(deliver).sum()
    });
    assert_eq!(first, 100);
    assert_eq!(remaining(store, &single("idem", limit, 1), START), 900);
}

//! The byte cap holds, whatever comes; what is lost is counted.

use std::time::Duration;

use tidegate_core::{Idempotency, Key, Limit, Pay, Plan, Ticket, Timestamp};
use tidegate_store::{AtEnd, Hold, Reference, StoreError};

const NOW: Timestamp = Timestamp::from_micros(1_790_000_000_000_000);
const MINUTE: Duration = Duration::from_secs(60);
const CAP: usize = 2 << 20;

fn plan(key: u64, limit: Limit, cost: u64) -> Plan {
    let mut plan = Plan::new();
    plan.charge(Key { home: &[&key.to_be_bytes()], own: &[b"rule"] }, limit, cost).unwrap();
    plan
}

/// A charge that counts when it is refused too.
fn counting_refusals(key: u64, limit: Limit) -> Plan {
    let mut plan = Plan::new();
    let key = Key { home: &[&key.to_be_bytes()], own: &[b"rule"] };
    plan.charge_when(key, limit, 1, Pay::Always).unwrap();
    plan
}

#[test]
fn a_flood_of_keys_stays_within_the_cap_and_is_counted() {
    let store = Reference::with_cap(CAP);
    let limit = Limit::sliding_window(10, MINUTE).unwrap();
    for key in 0..50_000 {
        assert!(store.decide_now(&plan(key, limit, 1), NOW).unwrap().allowed());
        assert!(key % 1000 != 0 || store.usage().bytes <= CAP, "{:?}", store.usage());
    }
    let usage = store.usage();
    assert!(usage.bytes <= CAP && usage.counters > 5_000, "{usage:?}");
    assert_eq!(usage.evicted, 50_000 - usage.counters as u64);
}

#[test]
fn what_has_emptied_makes_room_before_anything_is_lost() {
    let store = Reference::with_cap(CAP);
    let limit = Limit::sliding_log(10, MINUTE).unwrap();
    for round in 0..20 {
        let now = NOW.plus_us(round * 61_000_000);
        for key in 0..2_000 {
            store.decide_now(&plan(round * 2_000 + key, limit, 1), now).unwrap();
        }
    }
    let usage = store.usage();
    assert_eq!(usage.evicted, 0, "{usage:?}");
    assert!(usage.bytes <= CAP, "{usage:?}");
}

#[test]
fn logs_and_slots_that_grow_stay_within_the_cap() {
    let store = Reference::with_cap(CAP);
    let log = Limit::sliding_log(50_000, MINUTE).unwrap();
    let slots = Limit::concurrency(50_000, MINUTE).unwrap();
    for n in 0..30_000_u64 {
        let now = NOW.plus_us(n);
        store.decide_now(&plan(n % 40, log, 1), now).unwrap();
        let mut enter = plan(1_000 + n % 40, slots, 1);
        enter.set_ticket(Ticket(u128::from(n)));
        store.decide_now(&enter, now).unwrap();
    }
    let usage = store.usage();
    assert!(usage.bytes <= CAP && usage.evicted > 0, "{usage:?}");
}

#[test]
fn names_and_reservations_are_bounded_too() {
    let store = Reference::with_cap(1 << 20);
    let limit = Limit::sliding_window(1_000_000, MINUTE).unwrap();
    let hold = Hold { term_us: 1_000_000, at_end: AtEnd::Keep };
    let (mut full, mut held) = (false, 0);
    for n in 0..20_000_u64 {
        let mut plan = plan(1, limit, 1);
        let key = Key { home: &[b"acme"], own: &[&n.to_be_bytes()] }.encode().unwrap();
        plan.set_idempotency(Idempotency { key, keep_us: 60_000_000, asked: None });
        plan.set_ticket(Ticket(u128::from(n)));
        match store.reserve_now(&plan, hold, NOW) {
            Ok(_) => held += 1,
            Err(error) => full |= error == StoreError::Full,
        }
    }
    let usage = store.usage();
    assert!(full && usage.reservations == held && usage.bytes <= 1 << 20, "{usage:?}");
    let later = NOW.plus_us(hold.term_us);
    assert!(
        store.reserve_now(&plan(1, limit, 1), hold, later).is_ok(),
        "ended reservations did not make room"
    );
}

#[test]
fn a_plan_is_never_evicted_by_itself() {
    let store = Reference::with_cap(1 << 20);
    let limit = Limit::sliding_window(2, MINUTE).unwrap();
    for n in 0..150_u64 {
        let mut plan = Plan::new();
        for key in 0..64 {
            let name = (n * 64 + key).to_be_bytes();
            let long = [b'x'; 200];
            plan.charge(Key { home: &[&name], own: &[&long] }, limit, 2).unwrap();
        }
        let answer = store.decide_now(&plan, NOW).unwrap();
        assert!(answer.allowed() && answer.verdicts.iter().all(|verdict| verdict.remaining == 0));
        assert!(!store.decide_now(&plan, NOW).unwrap().allowed(), "a plan's own counters were lost");
    }
}

/// What `work` left allocated, as the allocator counts it.
fn allocated(work: impl FnOnce()) -> usize {
    usize::try_from(allocation_counter::measure(work).bytes_current).unwrap()
}

#[test]
fn what_is_counted_is_what_is_allocated() {
    let second = Duration::from_secs(1);
    let limits = [
        Limit::gcra(tidegate_core::Rate::new(1, MINUTE).unwrap(), 10).unwrap(),
        Limit::sliding_window_in_parts(10, second * 60, 60).unwrap(),
        Limit::sliding_log(10, MINUTE).unwrap(),
        Limit::concurrency(10, MINUTE).unwrap(),
    ];
    for limit in limits {
        let store = Reference::with_cap(1 << 30);
        let empty = store.usage().bytes;
        let real = allocated(|| {
            for key in 0..5_000 {
                for n in 0..3 {
                    let mut plan = plan(key, limit, 1);
                    plan.set_ticket(Ticket(n));
                    store.decide_now(&plan, NOW.plus_us(key)).unwrap();
                }
            }
        });
        let counted = store.usage().bytes - empty;
        assert!(
            (real * 9 / 10..=real * 11 / 10).contains(&counted),
            "{limit:?}: counted {counted}, allocated {real}"
        );
    }
}

#[test]
fn logs_that_owe_keep_twice_the_stamps_and_are_counted_so() {
    let logs = [
        (Limit::sliding_log(100, MINUTE).unwrap(), 200),
        (Limit::sliding_log_with_precision(1_000, MINUTE, 100).unwrap(), 200),
    ];
    for (limit, stamps) in logs {
        let store = Reference::with_cap(1 << 30);
        let empty = store.usage().bytes;
        let real = allocated(|| {
            for n in 0..5_000 {
                for key in 0..50 {
                    store.decide_now(&counting_refusals(key, limit), NOW.plus_us(n)).unwrap();
                }
            }
        });
        let counted = store.usage().bytes - empty;
        assert!(
            (real * 9 / 10..=real * 11 / 10).contains(&counted),
            "{limit:?}: counted {counted}, allocated {real}"
        );
        // 16 bytes for each, in a list that grows by doubling; the rest is the key, the table and the log itself.
        let most = 50 * (2 * stamps * 16 + 1_000);
        assert!((50 * stamps * 16..most).contains(&counted), "{limit:?}: counted {counted}");
    }
}

#[test]
fn logs_that_owe_stay_within_the_cap() {
    let store = Reference::with_cap(CAP);
    let log = Limit::sliding_log(500, MINUTE).unwrap();
    for n in 0..200_000_u64 {
        store.decide_now(&counting_refusals(n % 200, log), NOW.plus_us(n)).unwrap();
        assert!(n % 1000 != 0 || store.usage().bytes <= CAP, "{:?}", store.usage());
    }
    let usage = store.usage();
    assert!(usage.bytes <= CAP && usage.evicted > 0, "{usage:?}");
}

#[test]
fn reservations_and_names_cost_what_is_counted() {
    for name_bytes in [8, 3_000] {
        let store = Reference::with_cap(1 << 30);
        let limit = Limit::sliding_window(1_000_000, MINUTE).unwrap();
        let real = allocated(|| {
            for n in 0..2_000_u64 {
                let mut plan = plan(1, limit, 1);
                let long = vec![b'x'; name_bytes];
                let key = Key { home: &[&n.to_be_bytes()], own: &[&long] }.encode().unwrap();
                plan.set_idempotency(Idempotency { key, keep_us: 60_000_000, asked: None });
                plan.set_ticket(Ticket(u128::from(n)));
                store.reserve_now(&plan, Hold { term_us: 60_000_000, at_end: AtEnd::Keep }, NOW).unwrap();
            }
        });
        let counted = store.usage().bytes;
        assert!((real * 8 / 10..=real * 13 / 10).contains(&counted), "counted {counted}, allocated {real}");
    }
}

#[test]
fn one_large_limit_is_enforced_under_a_small_cap() {
    let store = Reference::with_cap(1 << 20);
    let log = Limit::sliding_log(5_000, MINUTE).unwrap();
    let slots = Limit::concurrency(5_000, MINUTE).unwrap();
    let (mut logged, mut inside) = (0, 0);
    for n in 0..8_000_u64 {
        let now = NOW.plus_us(n);
        logged += u64::from(store.decide_now(&plan(1, log, 1), now).unwrap().allowed());
        let mut enter = plan(2, slots, 1);
        enter.set_ticket(Ticket(u128::from(n)));
        inside += u64::from(store.decide_now(&enter, now).unwrap().allowed());
    }
    assert_eq!((logged, inside, store.usage().evicted), (5_000, 5_000, 0));
}

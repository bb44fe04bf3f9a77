//! The byte cap holds, whatever comes; what is lost is counted.

use std::time::Duration;

use tidegate_core::{Idempotency, Key, Limit, Plan, Ticket, Timestamp};
use tidegate_store::{AtEnd, Hold, Reference, StoreError};

const NOW: Timestamp = Timestamp::from_micros(1_790_000_000_000_000);
const MINUTE: Duration = Duration::from_secs(60);
const CAP: usize = 2 << 20;

fn plan(key: u64, limit: Limit, cost: u64) -> Plan {
    let mut plan = Plan::new();
    plan.charge(Key { home: &[&key.to_be_bytes()], own: &[b"rule"] }, limit, cost).unwrap();
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
        plan.set_idempotency(Idempotency { key, keep_us: 60_000_000 });
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

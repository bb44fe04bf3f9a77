//! What is saved goes on in another store as if nothing had happened; what is not as it was saved is refused.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::scope;
use std::time::Duration;

use proptest::prelude::*;
use tidegate_core::{Bounds, Key, Limit, Pay, Plan, Rate, Ticket, Timestamp, Window};
use tidegate_store::memory::checkpoint::{CheckpointError, DEFAULT_MAX_BYTES, Restored, Saved};
use tidegate_store::{Memory, Reference};

const START: Timestamp = Timestamp::from_micros(1_790_000_000_000_000);
const HOUR_US: u64 = 3_600_000_000;
const CAP: usize = 8 << 20;

/// Every kind of long window, with three sets of numbers.
fn limit(kind: usize, numbers: usize) -> Limit {
    let amount = [5, 9, 40_000][numbers];
    let (hour, month) = (Duration::from_hours(1), Duration::from_hours(24 * 31));
    let rate = Rate::new([3, 7, 1_000][numbers], hour).unwrap();
    let year_us = HOUR_US * 24 * 365;
    let bounds = Bounds { start: START, end: START.plus_us(year_us), next_end: START.plus_us(2 * year_us) };
    match kind {
        0 => Limit::gcra(rate, amount),
        1 => Limit::token_bucket(amount * 100, rate),
        2 => Limit::leaky_bucket_shaping(amount, rate),
        3 => Limit::fixed_window(amount, Window::Aligned(hour)),
        4 => Limit::fixed_window(amount, Window::Aligned(month)),
        5 => Limit::fixed_window(amount, Window::FirstHit(hour * 30)),
        6 => Limit::fixed_window(amount, Window::Calendar(bounds)),
        7 => Limit::sliding_window(amount, hour * 24),
        8 => Limit::sliding_window_in_parts(amount, hour * 24, 4),
        9 => Limit::sliding_window_in_parts(amount, hour * 24, 60),
        10 => Limit::sliding_log(amount.min(50), hour),
        _ => Limit::sliding_log_with_precision(amount, month, 3),
    }
    .unwrap()
}

const KINDS: usize = 12;

fn charge(plan: &mut Plan, (kind, key): (usize, u64), (limit, cost): (Limit, u64), pay: Pay) {
    let own = [u8::try_from(kind).unwrap()];
    plan.charge_when(Key { home: &[&key.to_be_bytes()], own: &[&own] }, limit, cost, pay).unwrap();
}

fn one(kind: usize, key: u64, cost: u64) -> Plan {
    let mut plan = Plan::new();
    charge(&mut plan, (kind, key), (limit(kind, 0), cost), Pay::IfAdmitted);
    plan
}

fn saved(store: &Memory, now: Timestamp) -> (Vec<u8>, Saved) {
    let mut file = Vec::new();
    let saved = store.save(&mut file, now, DEFAULT_MAX_BYTES).unwrap();
    assert_eq!(saved.bytes, file.len() as u64);
    (file, saved)
}

fn restarted(store: &Memory, now: Timestamp) -> (Memory, Restored) {
    Memory::restore(&saved(store, now).0[..], CAP, now).unwrap()
}

/// A store with some counters of every kind.
fn some() -> Memory {
    let store = Memory::with_cap(CAP);
    for (kind, key) in (0..KINDS).flat_map(|kind| (0..3).map(move |key| (kind, key))) {
        assert!(store.decide_now(&one(kind, key, 3), START).unwrap().allowed());
    }
    store
}

fn remaining(store: &Memory, plan: &Plan, now: Timestamp) -> u64 {
    store.read_now(plan, now).unwrap().verdicts[0].remaining
}

#[derive(Clone, Debug)]
enum What {
    Decide,
    Read,
    Refund,
    Reset,
    Restart,
}

#[derive(Clone, Debug)]
struct Event {
    pause_us: u64,
    what: What,
    /// Limit, key, cost, which of its numbers, whether it pays always.
    charges: Vec<(usize, u64, u64, usize, bool)>,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let pause = prop_oneof![
        4 => Just(0),
        4 => 0..HOUR_US / 4,
        2 => 0..HOUR_US * 3,
        1 => 0..HOUR_US * 120,
    ];
    let what = prop_oneof![
        12 => Just(What::Decide),
        2 => Just(What::Read),
        2 => Just(What::Refund),
        1 => Just(What::Reset),
        4 => Just(What::Restart),
    ];
    let numbers = prop_oneof![6 => Just(0_usize), 2 => Just(1_usize), 1 => Just(2_usize)];
    let charge = (0..KINDS, 0..4_u64, 0..4_u64, numbers, prop::bool::weighted(0.2));
    let event = (pause, what, prop::collection::vec(charge, 1..5));
    let event = event.prop_map(|(pause_us, what, charges)| Event { pause_us, what, charges });
    prop::collection::vec(event, 1..80)
}

fn plan(event: &Event) -> Option<Plan> {
    let mut plan = Plan::new();
    plan.set_ticket(Ticket(1));
    for (kind, key, cost, numbers, always) in &event.charges {
        let pay = if *always { Pay::Always } else { Pay::IfAdmitted };
        let own = [u8::try_from(*kind).unwrap()];
        let key = Key { home: &[&key.to_be_bytes()], own: &[&own] };
        // Two limits on one key are nobody's business here.
        plan.charge_when(key, limit(*kind, *numbers), *cost, pay).ok()?;
    }
    Some(plan)
}

proptest! {
    /// A store that is restarted again and again tells the same as one that never was.
    #[test]
    fn a_restart_changes_nothing_for_long_windows(events in events()) {
        let (mut memory, reference, mut now) = (Memory::with_cap(CAP), Reference::new(), START);
        for event in events {
            now = now.plus_us(event.pause_us);
            let Some(plan) = plan(&event) else { continue };
            match event.what {
                What::Decide => prop_assert_eq!(memory.decide_now(&plan, now), reference.decide_now(&plan, now)),
                What::Read => prop_assert_eq!(memory.read_now(&plan, now), reference.read_now(&plan, now)),
                What::Refund => prop_assert_eq!(
                    memory.refund_now(&plan, now, now),
                    reference.refund_now(&plan, now, now)
                ),
                What::Reset => {
                    memory.reset_now(&plan, now);
                    reference.reset_now(&plan, now);
                }
                What::Restart => {
                    let (other, restored) = restarted(&memory, now);
                    prop_assert_eq!((restored.dropped, restored.left_out, restored.emptied), (0, 0, 0));
                    memory = other;
                }
            }
        }
    }

    #[test]
    fn a_changed_byte_is_seen(place: prop::sample::Index, change in 1..=255_u8) {
        let (mut file, _) = saved(&some(), START);
        let place = place.index(file.len());
        file[place] ^= change;
        let error = Memory::restore(&file[..], CAP, START).err();
        prop_assert!(error.is_some_and(|error| !error.to_string().is_empty()));
    }

    #[test]
    fn rubbish_is_refused(bytes in prop::collection::vec(any::<u8>(), 0..300), keeps_start: bool) {
        let (file, _) = saved(&some(), START);
        let bytes = if keeps_start { [&file[..10], &bytes[..]].concat() } else { bytes };
        prop_assert!(Memory::restore(&bytes[..], CAP, START).is_err());
    }
}

#[test]
fn every_place_where_it_may_be_torn_is_seen() {
    let (mut file, _) = saved(&some(), START);
    for len in 0..file.len() {
        let error = Memory::restore(&file[..len], CAP, START).err();
        assert!(matches!(error, Some(CheckpointError::Torn { .. })), "{len}: {error:?}");
    }
    file.push(0);
    assert!(matches!(Memory::restore(&file[..], CAP, START), Err(CheckpointError::Damaged { .. })));
}

#[test]
fn another_version_and_another_file_are_told_apart() {
    let (mut file, _) = saved(&some(), START);
    file[8] = 7;
    let error = Memory::restore(&file[..], CAP, START).err().unwrap();
    assert!(error.to_string().contains("version 7.1"), "{error}");
    assert!(matches!(
        Memory::restore(&b"domain: api\nrules: []\n"[..], CAP, START),
        Err(CheckpointError::Foreign)
    ));
}

#[test]
fn an_announced_length_takes_no_memory() {
    let (file, _) = saved(&some(), START);
    let mut file = file[..10].to_vec();
    file.extend((8_u32 << 20).to_le_bytes());
    let taken = allocation_counter::measure(|| assert!(Memory::restore(&file[..], CAP, START).is_err()));
    assert!(taken.bytes_max < 1 << 20, "{taken:?}");
}

#[test]
fn counters_go_on_and_those_that_nobody_asks_for_do_so_for_more_than_one_restart() {
    let mut store = some();
    for _ in 0..3 {
        let (other, restored) = restarted(&store, START);
        assert_eq!(restored.counters, 3 * KINDS as u64);
        assert_eq!(other.usage().counters, 3 * KINDS);
        store = other;
    }
    for kind in 0..KINDS {
        for key in 0..3 {
            let plan = one(kind, key, 3);
            let left = plan.get(0).limit.capacity() - 3;
            assert_eq!(remaining(&store, &plan, START), left, "{kind}");
            assert_eq!(store.decide_now(&plan, START).unwrap().allowed(), left >= 3, "{kind}");
        }
        assert_eq!(remaining(&store, &one(kind, 99, 1), START), limit(kind, 0).capacity(), "{kind}");
    }
}

#[test]
fn what_has_emptied_meanwhile_does_not_come_back() {
    let (file, written) = saved(&some(), START);
    assert_eq!(written.counters, 3 * KINDS as u64);
    let later = START.plus_us(HOUR_US * 24 * 80);
    let (store, restored) = Memory::restore(&file[..], CAP, later).unwrap();
    assert_eq!((restored.saved_at, restored.emptied), (START, written.counters - restored.counters));
    // A calendar that ends in a year, and buckets of 500 that drain at 3 an hour were hardly used.
    assert_eq!((restored.counters, store.usage().counters), (3, 3));
    assert_eq!(saved(&restarted(&store, later.plus_us(HOUR_US * 24 * 365)).0, later).1.counters, 0);
}

#[test]
fn short_windows_and_slots_are_not_saved() {
    let store = Memory::with_cap(CAP);
    let minute = Duration::from_mins(1);
    let short = [
        Limit::sliding_window(5, minute).unwrap(),
        Limit::fixed_window(5, Window::FirstHit(minute * 59)).unwrap(),
        Limit::gcra(Rate::new(100, minute).unwrap(), 100).unwrap(),
        Limit::sliding_log(5, minute * 59).unwrap(),
        Limit::sliding_window_in_parts(5, minute * 45, 45).unwrap(),
        Limit::concurrency(5, minute * 600).unwrap(),
    ];
    for (kind, limit) in short.into_iter().enumerate() {
        let mut plan = Plan::new();
        charge(&mut plan, (kind, 1), (limit, 3), Pay::IfAdmitted);
        assert!(store.decide_now(&plan, START).unwrap().allowed());
    }
    assert_eq!(saved(&store, START).1.counters, 0);
}

#[test]
fn no_key_is_written() {
    let store = Memory::with_cap(CAP);
    for kind in 0..KINDS {
        let mut plan = Plan::new();
        let key = Key { home: &[b"sk_live_4242424242"], own: &[&[u8::try_from(kind).unwrap()]] };
        plan.charge(key, limit(kind, 0), 1).unwrap();
        store.decide_now(&plan, START).unwrap();
    }
    let (file, written) = saved(&store, START);
    assert_eq!(written.counters, KINDS as u64);
    assert!(!file.windows(7).any(|bytes| bytes == b"sk_live"));
}

#[test]
fn beyond_its_bound_counters_are_left_out_and_counted() {
    let store = Memory::with_cap(64 << 20);
    for key in 0..50_000 {
        store.decide_now(&one(7, key, 1), START).unwrap();
        if key % 10 == 0 {
            store.decide_now(&one(10, key, 1), START).unwrap();
        }
    }
    let whole = saved(&store, START).1;
    assert_eq!((whole.counters, whole.left_out), (55_000, 0));
    for max_bytes in [200, 1_000, 100_000, whole.bytes - 1, whole.bytes + 100] {
        let mut file = Vec::new();
        let saved = store.save(&mut file, START, max_bytes).unwrap();
        assert!(file.len() as u64 <= max_bytes, "{saved:?}");
        assert_eq!(saved.counters + saved.left_out, 55_000);
        assert!(saved.counters * 40 + 5_000 > max_bytes.min(whole.bytes), "it is used: {saved:?}");
        let (_, restored) = Memory::restore(&file[..], 64 << 20, START).unwrap();
        assert_eq!((restored.counters, restored.left_out), (saved.counters, saved.left_out));
    }
}

#[test]
fn a_smaller_store_takes_what_it_has_room_for() {
    for (kind, keys, cap) in [(7, 200_000, 4 << 20), (10, 20_000, 8 << 20)] {
        let store = Memory::with_cap(64 << 20);
        for key in 0..keys {
            store.decide_now(&one(kind, key, 1), START).unwrap();
        }
        let (file, written) = saved(&store, START);
        let (small, restored) = Memory::restore(&file[..], cap, START).unwrap();
        let usage = small.usage();
        assert!(restored.dropped + usage.evicted > 0 && usage.counters > 5_000, "{restored:?} {usage:?}");
        assert_eq!(usage.counters as u64 + usage.evicted + restored.dropped, written.counters);
        for key in 0..keys {
            small.decide_now(&one(kind, key, 1), START).unwrap();
        }
        for bytes in [usage.bytes, small.usage().bytes] {
            assert!(bytes <= cap + cap / 20, "{kind}: {bytes}");
        }
    }
}

#[test]
fn a_store_of_the_same_size_has_room_for_all() {
    let store = Memory::with_cap(32 << 20);
    for (kind, key) in
        [(7, 300_000), (6, 60_000)].into_iter().flat_map(|(kind, keys)| (0..keys).map(move |key| (kind, key)))
    {
        store.decide_now(&one(kind, key, 1), START).unwrap();
    }
    let (other, restored) = Memory::restore(&saved(&store, START).0[..], 32 << 20, START).unwrap();
    assert_eq!(restored.counters, store.usage().counters as u64);
    assert!(other.usage().evicted * 2_000 < restored.counters, "{:?}", other.usage());
    assert!(other.usage().bytes * 4 < store.usage().bytes * 5, "{:?} {:?}", store.usage(), other.usage());
}

#[test]
fn saving_while_others_decide_finds_every_counter_as_it_was_at_some_instant() {
    const KEYS: u64 = 20_000;
    const LARGE: usize = 512 << 20;
    let kinds = [4, 6, 8, 9, 10];
    let store = Memory::with_cap(LARGE);
    let established = || kinds.into_iter().flat_map(|kind| (0..200).map(move |key| (kind, key)));
    let copied = || Memory::restore(&saved(&store, START).0[..], LARGE, START).unwrap();
    let lost = |copy: &Memory| store.usage().evicted + copy.usage().evicted;
    let unlike = |copy: &Memory, used: std::ops::RangeInclusive<u64>| {
        let is_unlike =
            |&(kind, key): &(usize, u64)| !used.contains(&(5 - remaining(copy, &one(kind, key, 1), START)));
        established().filter(is_unlike).count() as u64
    };
    for (kind, key) in established() {
        assert!(store.decide_now(&one(kind, key, 1), START).unwrap().allowed());
    }
    let done = AtomicBool::new(false);
    scope(|threads| {
        threads.spawn(|| {
            // Many more come meanwhile, so that segments grow and are split; the old ones are charged once more.
            for key in 0..KEYS {
                for kind in kinds {
                    assert!(store.decide_now(&one(kind, key, 1), START).unwrap().allowed());
                }
            }
            done.store(true, Ordering::Relaxed);
        });
        while !done.load(Ordering::Relaxed) {
            let (copy, _) = copied();
            let unlike = unlike(&copy, 1..=2);
            assert!(unlike <= lost(&copy), "{unlike}");
        }
    });
    let (copy, restored) = copied();
    assert_eq!(restored.counters + store.usage().evicted, KEYS * kinds.len() as u64);
    assert!(unlike(&copy, 2..=2) <= lost(&copy));
}

#[test]
fn counters_that_were_carried_over_are_handed_over_once_among_threads() {
    let before = Memory::with_cap(CAP);
    for key in 0..500 {
        before.decide_now(&one(10, key, 3), START).unwrap();
    }
    let (store, _) = restarted(&before, START);
    let admitted: Vec<usize> = scope(|threads| {
        let ask =
            || (0..500).filter(|key| store.decide_now(&one(10, *key, 1), START).unwrap().allowed()).count();
        let workers: Vec<_> = (0..3).map(|_| threads.spawn(ask)).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    assert_eq!(admitted.iter().sum::<usize>(), 1_000, "two of five were left for each key");
}

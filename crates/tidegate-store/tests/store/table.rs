//! The memory store's table under threads: exact while it grows, and within its cap.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::scope;
use std::time::Duration;

use tidegate_core::{Key, Limit, Plan, Rate, Timestamp, Window};
use tidegate_store::Memory;

const NOW: Timestamp = Timestamp::from_micros(1_790_000_000_000_000);
const HOUR: Duration = Duration::from_secs(3_600);

fn charge(plan: &mut Plan, name: &str, number: u64, limit: Limit) {
    plan.charge(Key { home: &[name.as_bytes()], own: &[&number.to_be_bytes()] }, limit, 1).unwrap();
}

fn one(name: &str, number: u64, limit: Limit) -> Plan {
    let mut plan = Plan::new();
    charge(&mut plan, name, number, limit);
    plan
}

/// So many per hour, in each of the forms that slots have.
fn limits(amount: u64) -> [Limit; 4] {
    [
        Limit::fixed_window(amount, Window::Aligned(HOUR)).unwrap(),
        Limit::sliding_window(amount, HOUR).unwrap(),
        Limit::gcra(Rate::new(1, Duration::from_secs(40)).unwrap(), amount).unwrap(),
        Limit::fixed_window(amount, Window::FirstHit(HOUR)).unwrap(),
    ]
}

#[test]
fn limits_are_exact_while_others_come_and_go() {
    const KEYS: u64 = 16;
    const AMOUNT: u64 = 500;
    let memory = Memory::with_cap(8 << 20);
    let admitted: Vec<AtomicU64> = (0..KEYS).map(|_| AtomicU64::new(0)).collect();
    let done = AtomicBool::new(false);
    scope(|threads| {
        let workers: Vec<_> = (0..3_u64)
            .map(|thread| {
                let (memory, admitted) = (&memory, &admitted);
                threads.spawn(move || {
                    for turn in 0..AMOUNT * KEYS {
                        // One, two or three keys at once, in changing order.
                        let first = turn.wrapping_mul(thread + 7) % KEYS;
                        let mut keys = vec![first, (first + 5) % KEYS, (first + 11) % KEYS];
                        keys.truncate(usize::try_from(turn % 3).unwrap() + 1);
                        let mut plan = Plan::new();
                        for key in &keys {
                            charge(&mut plan, "hot", *key, limits(AMOUNT)[usize::try_from(key % 4).unwrap()]);
                        }
                        if memory.decide_now(&plan, NOW).unwrap().allowed() {
                            for key in keys {
                                admitted[usize::try_from(key).unwrap()].fetch_add(1, Ordering::Relaxed);
                            }
                        }
                    }
                })
            })
            .collect();
        // Meanwhile the table grows.
        let (memory, done) = (&memory, &done);
        threads.spawn(move || {
            for number in (0..).take_while(|_| !done.load(Ordering::Relaxed)).take(200_000) {
                memory.decide_now(&one("cold", number, limits(5)[0]), NOW).unwrap();
            }
        });
        for worker in workers {
            worker.join().unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    for (key, admitted) in (0..KEYS).zip(&admitted) {
        let limit = limits(AMOUNT)[usize::try_from(key % 4).unwrap()];
        let verdict = memory.read_now(&one("hot", key, limit), NOW).unwrap().verdicts[0];
        let admitted = admitted.load(Ordering::Relaxed);
        assert_eq!(
            verdict.limit - verdict.remaining,
            admitted,
            "key {key}: what was admitted is what is counted"
        );
        assert!(admitted <= AMOUNT, "key {key}: {admitted} of {AMOUNT}");
    }
    let all: u64 = admitted.iter().map(|admitted| admitted.load(Ordering::Relaxed)).sum();
    assert!(all > AMOUNT * KEYS / 2, "{all} were admitted, which shows little");
}

#[test]
fn one_hot_key_admits_exactly_its_limit() {
    for limit in limits(1_000) {
        let (memory, admitted) = (Memory::with_cap(1 << 20), AtomicU64::new(0));
        scope(|threads| {
            for _ in 0..3 {
                threads.spawn(|| {
                    for _ in 0..700 {
                        let answer = memory.decide_now(&one("hot", 0, limit), NOW).unwrap();
                        admitted.fetch_add(u64::from(answer.allowed()), Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(admitted.load(Ordering::Relaxed), 1_000, "{limit:?}");
    }
}

#[test]
fn a_flood_keeps_within_the_cap_and_forgets_no_offender() {
    const CAP: usize = 2 << 20;
    let memory = Memory::with_cap(CAP);
    let limit = limits(20)[0];
    let exhausted: Vec<u64> = (0..500).collect();
    for _ in 0..20 {
        for offender in &exhausted {
            assert!(memory.decide_now(&one("offender", *offender, limit), NOW).unwrap().allowed());
        }
    }
    for number in 0..500_000 {
        assert!(memory.decide_now(&one("flood", number, limit), NOW).unwrap().allowed());
        assert!(memory.usage().bytes <= CAP + CAP / 20 || number % 1_000 != 0, "{:?}", memory.usage());
    }
    let still = exhausted
        .iter()
        .filter(|offender| !memory.decide_now(&one("offender", **offender, limit), NOW).unwrap().allowed());
    assert_eq!(still.count(), exhausted.len());
    assert!(memory.usage().evicted > 300_000);
}

#[test]
fn nothing_is_forgotten_far_below_the_cap() {
    let wide = Limit::sliding_window_in_parts(50, HOUR, 4).unwrap();
    for (limit, numbers) in limits(20).into_iter().zip([60_000; 4]).chain([(wide, 200_000)]) {
        let memory = Memory::with_cap(256 << 20);
        for number in 0..numbers {
            memory.decide_now(&one("many", number, limit), NOW).unwrap();
        }
        let usage = memory.usage();
        assert_eq!((usage.counters as u64, usage.evicted), (numbers, 0), "{limit:?}: {usage:?}");
    }
}

#[test]
fn memory_is_given_back_when_counters_have_emptied() {
    let memory = Memory::with_cap(64 << 20);
    let before = memory.usage().bytes;
    let limit = limits(20)[0];
    for number in 0..300_000 {
        memory.decide_now(&one("many", number, limit), NOW).unwrap();
    }
    let full = memory.usage();
    assert!(full.counters == 300_000 && full.bytes > before + 300_000 * 16, "{full:?} after {before} bytes");
    // Whoever comes by sweeps; every segment is met by somebody.
    for hours in 1..12 {
        for number in 0..2_000 {
            memory.decide_now(&one("few", number, limit), NOW.plus_us(hours * 3_700_000_000)).unwrap();
        }
    }
    let after = memory.usage();
    assert!(
        after.counters <= 10_000 && after.bytes < before + (full.bytes - before) / 4,
        "{after:?} after {full:?}"
    );
}

/// A limit whose states are narrow and one whose states are wide follow each other on a counter, whichever was there first, and with
/// counters of both widths from others around them.
#[test]
fn what_was_counted_is_found_among_counters_of_another_width() {
    let day = Duration::from_secs(86_400);
    let gcra = |burst| Limit::gcra(Rate::new(1, day / 100).unwrap(), burst).unwrap();
    for share in [0, 7] {
        for first in [0, 1] {
            let memory = Memory::new();
            let limits = [gcra(5).in_share(share), gcra(40_000).in_share(share)];
            let others = [gcra(5).in_share(8), gcra(40_000).in_share(9)];
            let used = |limit: &Limit, name: &[u8]| {
                let key = Key { home: &[name], own: &[] }.encode().unwrap();
                let verdict = memory.decide_one_now(key.as_ref(), limit, 1, NOW);
                let verdict = verdict.unwrap_or_else(|| {
                    let mut plan = Plan::new();
                    plan.charge(Key { home: &[name], own: &[] }, *limit, 1).unwrap();
                    memory.decide_now(&plan, NOW).unwrap().verdicts[0]
                });
                verdict.limit - verdict.remaining
            };
            for (limit, name) in others.iter().zip([b"a", b"b"]) {
                assert_eq!(used(limit, name), 1);
            }
            assert_eq!(used(&limits[first], b"k"), 1);
            assert_eq!(used(&limits[1 - first], b"k"), 2, "share {share}, first {first}");
            assert_eq!(used(&limits[first], b"k"), 3, "share {share}, first {first}");
        }
    }
}

//! Promises after whatever came before: other numbers, debts, refunds of the past, clocks a little behind.

use std::time::Duration;

use proptest::prelude::*;

use super::general::check_promises;
use super::{START_US, windows};
use crate::{Limit, Outcome, Rate, Refund, STANDSTILL_US, State, Ticket, Timestamp, Window};

type Family = fn(u64, u64, Duration) -> Limit;

const FAMILIES: [(&str, Family); 8] = [
    ("gcra", |n, burst, w| Limit::gcra(Rate::new(n, w).unwrap(), burst).unwrap()),
    ("shaping", |n, queue, w| Limit::leaky_bucket_shaping(queue, Rate::new(n, w).unwrap()).unwrap()),
    ("aligned", |n, _, w| Limit::fixed_window(n, Window::Aligned(w)).unwrap()),
    ("first hit", |n, _, w| Limit::fixed_window(n, Window::FirstHit(w)).unwrap()),
    ("sliding_window", |n, _, w| Limit::sliding_window(n, w).unwrap()),
    ("parts", |n, _, w| Limit::sliding_window_in_parts(n, w * 6, 6).unwrap()),
    ("sliding_log", |n, _, w| Limit::sliding_log_with_precision(n, w, 5).unwrap()),
    ("concurrency", |n, _, w| Limit::concurrency(n, w).unwrap()),
];

#[derive(Clone, Copy, Debug)]
enum Event {
    Change { amount: u64, burst: u64 },
    Force { cost: u64 },
    Refund { which: usize, units: u64 },
    Ask { cost: u64 },
}

fn events() -> impl Strategy<Value = Vec<(u64, u64, Event)>> {
    let event = prop_oneof![
        1 => (1..60_u64, 1..60_u64).prop_map(|(amount, burst)| Event::Change { amount, burst }),
        1 => (0..40_u64).prop_map(|cost| Event::Force { cost }),
        2 => (0..20_usize, 1..60_u64).prop_map(|(which, units)| Event::Refund { which, units }),
        5 => (0..40_u64).prop_map(|cost| Event::Ask { cost }),
    ];
    let back_us = prop_oneof![6 => Just(0_u64), 1 => 0..500_000_u64];
    prop::collection::vec((any::<u64>(), back_us, event), 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn promises_hold_after_anything(which in 0..FAMILIES.len(), window in windows(), events in events()) {
        let (name, family) = FAMILIES[which];
        let gap_us = u64::try_from(window.as_micros()).unwrap() / 5 + 2;
        let (mut state, mut now) = (State::EMPTY, Timestamp::from_micros(START_US));
        let (mut latest, mut limit, mut booked) = (now, family(7, 7, window), Vec::new());
        for (ahead_us, back_us, event) in events {
            now = now.plus_us(ahead_us % gap_us).minus_us(back_us).max(latest.minus_us(STANDSTILL_US));
            latest = latest.max(now);
            let mut cost = 1;
            match event {
                Event::Change { amount, burst } => limit = family(amount, burst, window),
                Event::Force { cost } => booked.push((limit.charge(&mut state, now, cost, Ticket(1)), cost)),
                Event::Refund { which, units } => {
                    if let Some((charged_at, cost)) = booked.get(which).copied() {
                        limit.refund(&mut state, now, Refund { units: units.min(cost), charged_at });
                    }
                }
                Event::Ask { cost: asked } => {
                    cost = asked;
                    if limit.judge(&state, now, cost).allowed() {
                        booked.push((limit.charge(&mut state, now, cost, Ticket(u128::from(ahead_us))), cost));
                    }
                }
            }
            check_promises(&limit, &state, now, cost).map_err(|error| TestCaseError::fail(format!("{name}: {error}")))?;
            let empty_at = state.empty_at();
            if empty_at > now {
                let left = limit.verdict(&state, empty_at, Outcome::Allowed).remaining;
                prop_assert_eq!(left, limit.capacity(), "{} still counts after it is empty", name);
            }
        }
    }

    /// In a log, and in a window that still counts, a refund is as if the charge had never been.
    #[test]
    fn a_refund_undoes_its_charge(amount in 1..20_u64, window_us in 1..2_000_u64, events in prop::collection::vec((0..3_u8, 0..400_u64, 1..6_u64, 0..30_usize), 1..60)) {
        let window = Duration::from_micros(window_us);
        let limit = Limit::sliding_log(amount, window).unwrap();
        let (mut state, mut now_us) = (State::EMPTY, START_US);
        let mut history: Vec<(u64, u64)> = Vec::new();
        for (verb, gap_us, cost, which) in events {
            now_us += gap_us;
            let now = Timestamp::from_micros(now_us);
            if verb == 0 && which < history.len() {
                let (charged_us, units) = history.remove(which);
                limit.refund(&mut state, now, Refund { units, charged_at: Timestamp::from_micros(charged_us) });
            } else if limit.step(&mut state, now, cost).unwrap().allowed() {
                history.push((now_us, cost));
            }
            let live = history.iter().filter(|(at_us, _)| at_us + window_us > now_us);
            let used: u64 = live.map(|(_, units)| units).sum();
            prop_assert_eq!(limit.verdict(&state, now, Outcome::Allowed).remaining, amount - used);
        }
    }

    /// Threads read their clocks and then wait for the lock: what comes late is booked later, and comes back whole.
    #[test]
    fn what_a_late_clock_charged_comes_back_whole(which in 0..7_usize, nows in prop::collection::vec((0..2_000_u64, 1..4_u64), 1..30)) {
        let (name, family) = FAMILIES[which];
        let limit = family(1_000, 1_000, Duration::from_millis(1));
        let start = Timestamp::from_micros(START_US);
        let mut state = State::EMPTY;
        let mut latest = start;
        let mut booked = Vec::new();
        for (now_us, cost) in nows {
            let now = start.plus_us(now_us);
            latest = latest.max(now);
            booked.push((limit.charge(&mut state, now, cost, Ticket(1)), cost));
        }
        for (charged_at, units) in booked {
            limit.refund(&mut state, latest, Refund { units, charged_at });
        }
        prop_assert_eq!(limit.verdict(&state, latest, Outcome::Allowed).remaining, 1_000, "{}", name);
    }
}

#[test]
fn a_late_clocks_charge_is_found_behind_others() {
    let limit = Limit::sliding_log(50, Duration::from_secs(1)).unwrap();
    let (mut state, at) = (State::EMPTY, |us| Timestamp::from_micros(START_US + us));
    for (now_us, cost) in [(98, 1), (100, 1), (103, 1), (99, 3)] {
        limit.charge(&mut state, at(now_us), cost, Ticket(1));
    }
    limit.refund(&mut state, at(103), Refund { units: 3, charged_at: at(99) });
    assert_eq!(limit.verdict(&state, at(103), Outcome::Allowed).remaining, 47);
}

#[test]
fn a_refund_never_lengthens_a_wait() {
    let second = Duration::from_secs(1);
    let fast = Limit::gcra(Rate::new(100, second).unwrap(), 100).unwrap();
    let slow = Limit::gcra(Rate::new(1, second).unwrap(), 100).unwrap();
    let (mut state, now) = (State::EMPTY, Timestamp::from_micros(START_US));
    fast.charge(&mut state, now, 100, Ticket(1));
    for units in [0, 1, 50] {
        slow.refund(&mut state, now, Refund { units, charged_at: now });
        assert!(slow.verdict(&state, now, Outcome::Allowed).reset_after_us <= 1_000_000, "after {units}");
    }
}

#[test]
fn a_debt_beyond_all_measure_is_still_a_debt() {
    // Sixty parts of u64::MAX each once summed to nothing.
    let limit = Limit::sliding_window_in_parts(100, Duration::from_secs(60), 60).unwrap();
    let (mut state, mut now) = (State::EMPTY, Timestamp::from_micros(START_US));
    for _ in 0..60 {
        now = now.plus_us(1_000_000);
        limit.charge(&mut state, now, u64::MAX, Ticket(1));
        assert!(!limit.judge(&state, now, 1).allowed());
        assert!(limit.verdict(&state, now, Outcome::Allowed).debt > 1 << 50);
    }
}

#[test]
fn a_shorter_term_takes_nothing_from_slots_that_are_held() {
    let (long, short) = (Duration::from_micros(100), Duration::from_micros(10));
    let (before, after) = (Limit::concurrency(2, long).unwrap(), Limit::concurrency(2, short).unwrap());
    let (mut state, at) = (State::EMPTY, |us| Timestamp::from_micros(START_US + us));
    before.charge(&mut state, at(0), 1, Ticket(1));
    assert_eq!(after.renew(&mut state, at(1), Ticket(1)), Some(at(100)));
    after.charge(&mut state, at(2), 1, Ticket(1));
    assert!(!after.judge(&state, at(99), 1).allowed(), "what is held under one ticket ends together");
    assert!(after.judge(&state, at(100), 2).allowed());
}

#[test]
fn a_renewal_counts_as_a_sign_of_the_clock() {
    let limit = Limit::concurrency(1, Duration::from_secs(10)).unwrap();
    let (mut state, start) = (State::EMPTY, Timestamp::from_micros(START_US));
    limit.charge(&mut state, start, 1, Ticket(1));
    let renewed = start.plus_us(5_000_000);
    limit.renew(&mut state, renewed, Ticket(1));
    let far_back = renewed.minus_us(STANDSTILL_US + 1);
    assert!(limit.judge(&state, far_back, 1).allowed(), "a clock that was set back far finds the room empty");
    assert!(!limit.judge(&state, renewed.minus_us(STANDSTILL_US), 1).allowed());
}

#[test]
fn a_log_that_ran_for_ages_still_counts() {
    let limit = Limit::sliding_log(10, Duration::from_secs(1)).unwrap();
    let (mut state, mut now) = (State::EMPTY, Timestamp::from_micros(START_US));
    for round in 0..64 {
        // Overlapping, so that the log never empties, and huge, so that its running totals must be taken back.
        limit.charge(&mut state, now, 1 << 54, Ticket(1));
        now = now.plus_us(600_000);
        limit.charge(&mut state, now, 3, Ticket(1));
        now = now.plus_us(400_000);
        let verdict = limit.verdict(&state, now, Outcome::Allowed);
        assert_eq!((verdict.remaining, verdict.debt), (7, 0), "in round {round}");
    }
}

#[test]
fn a_part_that_was_refunded_was_the_one_that_was_charged() {
    let limit = Limit::sliding_window_in_parts(100, Duration::from_secs(6), 6).unwrap();
    let second = 1_000_000;
    let start = START_US / second * second;
    let at = |us| Timestamp::from_micros(start + us);
    for charged_us in [0, 999_999, second, second + 1, 2 * second - 1] {
        let mut state = State::EMPTY;
        limit.charge(&mut state, at(charged_us), 10, Ticket(1));
        limit.charge(&mut state, at(3 * second), 20, Ticket(1));
        limit.refund(&mut state, at(4 * second), Refund { units: 10, charged_at: at(charged_us) });
        // What is left are the 20 of the fourth part, until they fade.
        let left = |us| limit.verdict(&state, at(us), Outcome::Allowed).remaining;
        assert_eq!(
            [left(4 * second), left(8 * second), left(10 * second)],
            [80, 80, 100],
            "charged at {charged_us}"
        );
    }
}

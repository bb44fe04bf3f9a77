//! Windows and logs against counts taken anew from the whole history.

use proptest::prelude::*;

use super::{Admitted, START_US, amounts, windows, with_asks};
use crate::{Bounds, Limit, State, Timestamp, Window};

fn aligned() -> impl Strategy<Value = Limit> {
    (amounts(), windows()).prop_map(|(n, w)| Limit::fixed_window(n, Window::Aligned(w)).unwrap())
}

fn in_parts(parts: u32) -> impl Strategy<Value = Limit> {
    (amounts(), windows())
        .prop_map(move |(n, w)| Limit::sliding_window_in_parts(n, w * parts, parts).unwrap())
}

fn logs() -> impl Strategy<Value = Limit> {
    (1..2_000_u64, windows()).prop_map(|(n, w)| Limit::sliding_log(n, w).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(800))]

    #[test]
    fn a_fixed_window_counts_what_was_admitted_since_its_start((limit, asks) in with_asks(aligned())) {
        let length_us = limit.window_us().unwrap();
        let (mut state, mut now) = (State::EMPTY, Timestamp::from_micros(START_US));
        let mut admitted = Admitted::default();
        for ask in asks {
            now = now.plus_us(ask.after_us);
            let start_us = now.as_micros() / length_us * length_us;
            let used = admitted.between(start_us, start_us + length_us);
            let verdict = limit.step(&mut state, now, ask.cost).unwrap();
            prop_assert_eq!(verdict.allowed(), used + ask.cost <= limit.capacity());
            if verdict.allowed() {
                admitted.push(now, ask.cost);
            }
        }
        prop_assert!(admitted.worst(length_us) <= 2 * limit.capacity());
    }

    #[test]
    fn a_window_from_the_first_hit_lasts_its_length_from_there(n in 1..50_u64, w in windows(), gaps in prop::collection::vec(0..400_000_u64, 1..80)) {
        let limit = Limit::fixed_window(n, Window::FirstHit(w)).unwrap();
        let length_us = limit.window_us().unwrap();
        let (mut state, mut now) = (State::EMPTY, Timestamp::from_micros(START_US));
        let (mut opened_us, mut used) = (0, 0);
        for gap in gaps {
            now = now.plus_us(gap.min(length_us));
            if now.as_micros() >= opened_us + length_us {
                (opened_us, used) = (now.as_micros(), 0);
            }
            let verdict = limit.step(&mut state, now, 1).unwrap();
            prop_assert_eq!(verdict.allowed(), used < n);
            used += u64::from(verdict.allowed());
            prop_assert_eq!(verdict.reset_after_us, opened_us + length_us - now.as_micros());
        }
    }

    #[test]
    fn a_sliding_window_weighs_its_oldest_part(
        (parts, (limit, asks)) in (1..=12_u32).prop_flat_map(|parts| (Just(u64::from(parts)), with_asks(in_parts(parts)))),
    ) {
        let window_us = limit.window_us().unwrap();
        let part_us = window_us / parts;
        let (mut state, mut now) = (State::EMPTY, Timestamp::from_micros(START_US));
        let mut admitted = Admitted::default();
        for ask in asks {
            now = now.plus_us(ask.after_us);
            let start_us = now.as_micros() / part_us * part_us;
            let recent_us = start_us - (parts - 1) * part_us;
            let recent = admitted.between(recent_us, start_us + part_us);
            let oldest = admitted.between(recent_us - part_us, recent_us);
            let left_us = start_us + part_us - now.as_micros();
            // recent + oldest·left/part + cost ≤ amount, without a division
            let scaled = u128::from(recent + ask.cost) * u128::from(part_us) + u128::from(oldest) * u128::from(left_us);
            let fits = scaled <= u128::from(limit.capacity()) * u128::from(part_us);
            let verdict = limit.step(&mut state, now, ask.cost).unwrap();
            prop_assert_eq!(verdict.allowed(), fits);

            let exact = admitted.between(now.as_micros() + 1 - window_us, now.as_micros() + 1);
            if verdict.allowed() {
                admitted.push(now, ask.cost);
                prop_assert!(exact + ask.cost <= limit.capacity() + oldest, "over by more than the oldest part");
            } else {
                prop_assert!(exact + oldest + ask.cost > limit.capacity(), "early by more than the oldest part");
            }
        }
        prop_assert!(admitted.worst(window_us) <= 2 * limit.capacity());
    }

    #[test]
    fn an_exact_log_is_exact((limit, asks) in with_asks(logs())) {
        let window_us = limit.window_us().unwrap();
        let (mut state, mut now) = (State::EMPTY, Timestamp::from_micros(START_US));
        let mut admitted = Admitted::default();
        for ask in asks {
            now = now.plus_us(ask.after_us);
            let used = admitted.between(now.as_micros() + 1 - window_us, now.as_micros() + 1);
            let verdict = limit.step(&mut state, now, ask.cost).unwrap();
            prop_assert_eq!(verdict.allowed(), used + ask.cost <= limit.capacity());
            if verdict.allowed() {
                admitted.push(now, ask.cost);
                prop_assert_eq!(verdict.remaining, limit.capacity() - used - ask.cost);
            }
        }
        prop_assert!(admitted.worst(window_us) <= limit.capacity());
    }

    #[test]
    fn a_log_with_precision_is_never_over_and_early_by_less_than_its_share(
        n in amounts(), w in windows(), k in 1..60_u64, seed in any::<u64>(),
    ) {
        let limit = Limit::sliding_log_with_precision(n, w, k).unwrap();
        let window_us = limit.window_us().unwrap();
        let (mut state, mut now) = (State::EMPTY, Timestamp::from_micros(START_US));
        let (mut admitted, mut random) = (Admitted::default(), seed | 1);
        for _ in 0..150 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            now = now.plus_us((random >> 33) % (window_us / 20 + 2));
            let cost = 1 + (random >> 40) % (n / 10 + 1);
            let used = admitted.between(now.as_micros() + 1 - window_us, now.as_micros() + 1);
            let verdict = limit.step(&mut state, now, cost).unwrap();
            if verdict.allowed() {
                prop_assert!(used + cost <= n, "over the limit");
                admitted.push(now, cost);
            } else {
                // early by less than n/k: used + cost + n/k > n
                prop_assert!((used + cost) * k + n > n * k, "early by {} of {}", n - used - cost, n);
            }
            // Each but the last stands for a whole share, so there are at most k + 1, in a buffer that doubles.
            prop_assert!(state.heap_bytes() <= 64 + 16 * 2 * (usize::try_from(k).unwrap() + 1).max(4));
        }
    }
}

#[test]
fn a_calendar_window_passes_into_the_next_and_is_resolved_again_after_that() {
    let at = Timestamp::from_micros;
    let bounds = Bounds { start: at(100), end: at(200), next_end: at(300) };
    let limit = Limit::fixed_window(2, Window::Calendar(bounds)).unwrap();
    let mut state = State::EMPTY;
    let mut allowed = |now_us: u64| limit.step(&mut state, at(now_us), 1).map(|verdict| verdict.allowed());
    assert_eq!(allowed(99), Err(crate::Outside));
    assert_eq!([allowed(100), allowed(150), allowed(199)], [Ok(true), Ok(true), Ok(false)]);
    assert_eq!([allowed(200), allowed(201), allowed(299)], [Ok(true), Ok(true), Ok(false)]);
    assert_eq!(allowed(300), Err(crate::Outside));
}

#[test]
fn a_moved_billing_day_keeps_what_was_used_since_the_later_start() {
    let at = Timestamp::from_micros;
    let from_15th = Bounds { start: at(15), end: at(45), next_end: at(75) };
    let from_1st = Bounds { start: at(1), end: at(31), next_end: at(61) };
    let mut state = State::EMPTY;
    let limit = |bounds| Limit::fixed_window(3, Window::Calendar(bounds)).unwrap();
    limit(from_15th).step(&mut state, at(20), 2).unwrap();
    assert_eq!(limit(from_1st).step(&mut state, at(21), 1).unwrap().remaining, 0);
    assert_eq!(limit(from_1st).step(&mut state, at(31), 1).unwrap().remaining, 2);
}

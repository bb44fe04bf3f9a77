//! Other numbers on the same history: raised, lowered, and there and back.

use std::time::Duration;

use proptest::prelude::*;

use super::{START_US, windows};
use crate::{Limit, Outcome, Rate, State, Ticket, Timestamp, Window};

/// One algorithm at any amount: what an operator changes between two reloads.
type Family = fn(u64, Duration) -> Limit;

const FAMILIES: [(&str, Family); 9] = [
    ("gcra", |n, w| Limit::gcra(Rate::new(n, w).unwrap(), n).unwrap()),
    ("token_bucket", |n, w| Limit::token_bucket(n, Rate::new(n, w).unwrap()).unwrap()),
    ("leaky_bucket", |n, w| Limit::leaky_bucket_shaping(n, Rate::new(n, w).unwrap()).unwrap()),
    ("fixed_window", |n, w| Limit::fixed_window(n, Window::Aligned(w)).unwrap()),
    ("first hit", |n, w| Limit::fixed_window(n, Window::FirstHit(w)).unwrap()),
    ("sliding_window", |n, w| Limit::sliding_window(n, w).unwrap()),
    ("parts", |n, w| Limit::sliding_window_in_parts(n, w * 6, 6).unwrap()),
    ("sliding_log", |n, w| Limit::sliding_log_with_precision(n, w, 50).unwrap()),
    ("concurrency", |n, w| Limit::concurrency(n, w).unwrap()),
];

fn remaining(limit: &Limit, state: &State, now: Timestamp) -> u64 {
    limit.verdict(state, now, Outcome::Allowed).remaining
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_raised_limit_unblocks_at_once(n in 1..5_000_u64, more in 1..5_000_u64, w in windows()) {
        for (name, family) in FAMILIES {
            let (mut state, now) = (State::EMPTY, Timestamp::from_micros(START_US));
            family(n, w).charge(&mut state, now, n, Ticket(1));
            prop_assert!(!family(n, w).judge(&state, now, 1).allowed());
            let raised = family(n + more, w);
            prop_assert_eq!(remaining(&raised, &state, now), more, "{}", name);
            prop_assert!(raised.judge(&state, now, more).allowed(), "{}", name);
        }
    }

    #[test]
    fn a_lowered_limit_counts_what_was_used(n in 2..5_000_u64, w in windows(), used_share in 0..=100_u64, to_share in 1..=100_u64) {
        let used = n * used_share / 100;
        let lowered_to = (n * to_share / 100).max(1);
        for (name, family) in FAMILIES {
            let (mut state, now) = (State::EMPTY, Timestamp::from_micros(START_US));
            family(n, w).charge(&mut state, now, used, Ticket(1));
            let verdict = family(lowered_to, w).verdict(&state, now, Outcome::Allowed);
            prop_assert_eq!(verdict.remaining, lowered_to.saturating_sub(used), "{}", name);
            prop_assert_eq!(verdict.debt, used.saturating_sub(lowered_to), "{}", name);
            prop_assert_eq!(remaining(&family(n, w), &state, now), n - used, "{}", name);
        }
    }

    #[test]
    fn two_changes_in_a_row_keep_the_history(
        amounts in prop::collection::vec(1..5_000_u64, 3),
        w in windows(),
        gaps in prop::collection::vec(0..2_000_u64, 3),
    ) {
        for (name, family) in FAMILIES {
            let (mut state, mut now) = (State::EMPTY, Timestamp::from_micros(START_US));
            for (n, gap_us) in amounts.iter().zip(&gaps) {
                now = now.plus_us(*gap_us);
                let limit = family(*n, w);
                let left = remaining(&limit, &state, now);
                if limit.judge(&state, now, left).allowed() {
                    limit.charge(&mut state, now, left, Ticket(u128::from(now.as_micros())));
                    prop_assert_eq!(remaining(&limit, &state, now), 0, "{}", name);
                }
                let verdict = limit.verdict(&state, now, Outcome::Allowed);
                let reset = now.plus_us(verdict.reset_after_us);
                prop_assert_eq!(remaining(&limit, &state, reset), *n, "{}", name);
            }
        }
    }

    #[test]
    fn a_slower_rate_blocks_no_longer_than_the_old_one_would_have_taken_to_empty(n in 2..5_000_u64, w in windows()) {
        let fast = Limit::gcra(Rate::new(n, w).unwrap(), n).unwrap();
        let slow = Limit::gcra(Rate::new(1, w).unwrap(), 1).unwrap();
        let (mut state, now) = (State::EMPTY, Timestamp::from_micros(START_US));
        fast.charge(&mut state, now, n, Ticket(0));
        let empty = state.empty_at();
        prop_assert!(!slow.judge(&state, empty.minus_us(1), 1).allowed());
        prop_assert!(slow.judge(&state, empty, 1).allowed());
    }
}

#[test]
fn a_thousand_a_month_used_up_then_raised_to_ten_thousand_passes() {
    // A stored time of arrival alone would refuse for the rest of the month.
    let month = Duration::from_secs(30 * 86_400);
    for (name, family) in FAMILIES {
        let (mut state, now) = (State::EMPTY, Timestamp::from_micros(START_US));
        family(1_000, month).charge(&mut state, now, 1_000, Ticket(1));
        assert!(!family(1_000, month).judge(&state, now, 1).allowed(), "{name}");
        assert!(family(10_000, month).judge(&state, now, 9_000).allowed(), "{name}");
        assert!(!family(10_000, month).judge(&state, now, 9_001).allowed(), "{name}");
    }
}

#[test]
fn another_algorithm_or_window_is_another_limit_and_other_numbers_are_not() {
    let mut identities = std::collections::BTreeMap::new();
    for (name, family) in FAMILIES {
        let identity = |n, seconds| family(n, Duration::from_secs(seconds)).identity();
        assert_eq!(identity(5, 1), identity(500, 1), "{name}");
        assert_eq!(identities.insert(identity(5, 1), name), None, "{name}");
        let has_window = !["gcra", "token_bucket", "leaky_bucket", "concurrency"].contains(&name);
        assert_eq!(identity(5, 1) != identity(5, 2), has_window, "{name}");
    }
}

#[test]
fn a_state_of_another_algorithm_is_read_as_empty() {
    let (now, second) = (Timestamp::from_micros(START_US), Duration::from_secs(1));
    for (name, family) in FAMILIES {
        let mut state = State::EMPTY;
        family(5, second).charge(&mut state, now, 5, Ticket(1));
        for (other_name, other) in FAMILIES {
            let limit = other(7, second);
            let same_form = family(5, second).identity()[0].max(3) == limit.identity()[0].max(3);
            if !same_form {
                assert_eq!(remaining(&limit, &state, now), 7, "{name} read as {other_name}");
            }
        }
    }
}

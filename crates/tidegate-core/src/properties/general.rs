//! What holds for every algorithm alike.

use proptest::prelude::*;

use super::{START_US, limits, with_asks};
use crate::{Limit, Outcome, Refund, Retry, STANDSTILL_US, State, Ticket, Timestamp, Verdict};

fn remaining(limit: &Limit, state: &State, now: Timestamp) -> u64 {
    limit.verdict(state, now, Outcome::Allowed).remaining
}

fn reset_after_us(limit: &Limit, state: &State, now: Timestamp) -> u64 {
    limit.verdict(state, now, Outcome::Allowed).reset_after_us
}

/// Logs whose stamps stand for a handful of admissions each.
fn coarse_logs() -> impl Strategy<Value = Limit> {
    let window = std::time::Duration::from_secs(60);
    (20..100_u64, 2..12_u64).prop_map(move |(n, k)| Limit::sliding_log_with_precision(n, window, k).unwrap())
}

/// The promises of one verdict about the calls that may follow it.
pub(super) fn check_promises(
    limit: &Limit,
    state: &State,
    now: Timestamp,
    cost: u64,
) -> Result<(), TestCaseError> {
    let passes = |at: Timestamp, cost: u64| limit.judge(state, at, cost).allowed();

    let left = remaining(limit, state, now);
    prop_assert!(passes(now, left), "remaining {} is not admitted", left);
    prop_assert!(!passes(now, left + 1), "more than remaining {} is admitted", left);

    match limit.judge(state, now, cost) {
        Outcome::Allowed | Outcome::Delayed { .. } => prop_assert!(cost <= left),
        Outcome::Refused(Retry::Never) => prop_assert!(cost > limit.capacity()),
        Outcome::Refused(Retry::After(us) | Retry::Within(us)) => {
            prop_assert!(us > 0, "a refusal that asks for no patience");
            prop_assert!(passes(now.plus_us(us), cost), "refused again after the {} us it asked for", us);
            prop_assert!(!passes(now.plus_us(us - 1), cost), "would have passed before {} us", us);
        }
    }

    let reset_us = reset_after_us(limit, state, now);
    prop_assert_eq!(remaining(limit, state, now.plus_us(reset_us)), limit.capacity());
    if reset_us > 0 {
        prop_assert!(remaining(limit, state, now.plus_us(reset_us - 1)) < limit.capacity());
    }
    check_next_unit(limit, state, now)
}

/// One unit more than is left is available when the verdict says, and not before.
fn check_next_unit(limit: &Limit, state: &State, now: Timestamp) -> Result<(), TestCaseError> {
    let Verdict { remaining, next_after_us, .. } = limit.verdict(state, now, Outcome::Allowed);
    prop_assert_eq!(next_after_us == 0, remaining == limit.capacity());
    if next_after_us > 0 {
        let passes = |after_us: u64| limit.judge(state, now.plus_us(after_us), remaining + 1).allowed();
        prop_assert!(passes(next_after_us), "no more after {} us", next_after_us);
        prop_assert!(!passes(next_after_us - 1), "more before {} us", next_after_us);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// Threads that share an instant may be served in any order, so what they leave behind must not tell which it was.
    #[test]
    fn charges_of_one_instant_have_no_order((limit, asks) in with_asks(prop_oneof![limits(), coarse_logs()]), (a, b) in (1..9_u64, 1..9_u64)) {
        let (mut state, mut now) = (State::EMPTY, Timestamp::from_micros(START_US));
        let mut asked = Vec::new();
        for ask in asks {
            now = now.plus_us(ask.after_us);
            limit.step(&mut state, now, ask.cost).unwrap();
            asked.push(now);
        }
        now = now.plus_us(1);
        let (mut one, mut other) = (state.clone(), state);
        for (cost, ticket) in [(a, Ticket(1)), (b, Ticket(2))] {
            limit.charge(&mut one, now, cost, ticket);
        }
        for (cost, ticket) in [(b, Ticket(2)), (a, Ticket(1))] {
            limit.charge(&mut other, now, cost, ticket);
        }
        for later in asked.iter().map(|at| at.plus_us(limit.window_us().unwrap_or(0)).max(now)) {
            prop_assert_eq!(remaining(&limit, &one, later), remaining(&limit, &other, later));
        }
    }

    #[test]
    fn a_verdict_never_promises_what_the_next_call_refuses((limit, asks) in with_asks(limits())) {
        let (mut state, mut now) = (State::EMPTY, Timestamp::from_micros(START_US));
        for ask in asks {
            now = now.plus_us(ask.after_us);
            check_promises(&limit, &state, now, ask.cost)?;
            let verdict = limit.step(&mut state, now, ask.cost).unwrap();
            prop_assert_eq!(verdict.limit, limit.capacity());
            prop_assert_eq!(verdict.debt, 0);
            if verdict.outcome == Outcome::Allowed {
                prop_assert_eq!(verdict, limit.verdict(&state, now, Outcome::Allowed));
            }
            check_promises(&limit, &state, now, ask.cost)?;
        }
    }

    #[test]
    fn refusals_and_peeks_change_nothing((limit, asks) in with_asks(limits())) {
        let (mut state, mut now) = (State::EMPTY, Timestamp::from_micros(START_US));
        for ask in asks {
            now = now.plus_us(ask.after_us);
            let before = state.clone();
            let peek = limit.step(&mut state, now, 0).unwrap();
            prop_assert_eq!(&state, &before);
            let verdict = limit.step(&mut state, now, ask.cost).unwrap();
            if verdict.allowed() {
                prop_assert_eq!(verdict.remaining, peek.remaining - ask.cost);
            } else {
                prop_assert_eq!(&state, &before);
                prop_assert_eq!(verdict.remaining, peek.remaining);
            }
        }
    }

    #[test]
    fn a_cost_above_the_limit_never_passes_and_says_so((limit, asks) in with_asks(limits()), over in 1..u64::MAX / 2) {
        let (mut state, mut now) = (State::EMPTY, Timestamp::from_micros(START_US));
        for ask in asks {
            now = now.plus_us(ask.after_us);
            limit.step(&mut state, now, ask.cost).unwrap();
            let outcome = limit.judge(&state, now, limit.capacity() + over);
            prop_assert_eq!(outcome, Outcome::Refused(Retry::Never));
        }
    }

    #[test]
    fn a_charge_given_back_at_once_leaves_no_trace((limit, asks) in with_asks(limits())) {
        let (mut state, mut now) = (State::EMPTY, Timestamp::from_micros(START_US));
        for ask in asks {
            now = now.plus_us(ask.after_us);
            let before = (remaining(&limit, &state, now), reset_after_us(&limit, &state, now));
            if limit.judge(&state, now, ask.cost).allowed() {
                let mut trial = state.clone();
                limit.charge(&mut trial, now, ask.cost, Ticket(7));
                if limit.term_us().is_some() {
                    limit.release(&mut trial, now, Ticket(7));
                } else {
                    limit.refund(&mut trial, now, Refund { units: ask.cost, charged_at: now });
                }
                prop_assert_eq!(remaining(&limit, &trial, now), before.0);
                // A shared time stamp keeps the later time: early by less than amount / precision, never over.
                prop_assert!(reset_after_us(&limit, &trial, now) >= before.1);
            }
            limit.step(&mut state, now, ask.cost).unwrap();
        }
    }

    #[test]
    fn a_refund_never_gives_more_than_the_limit((limit, asks) in with_asks(limits()), units in any::<u64>()) {
        let (mut state, mut now) = (State::EMPTY, Timestamp::from_micros(START_US));
        for ask in asks {
            now = now.plus_us(ask.after_us);
            limit.step(&mut state, now, ask.cost).unwrap();
            let mut trial = state.clone();
            limit.refund(&mut trial, now, Refund { units, charged_at: now });
            prop_assert!(remaining(&limit, &trial, now) <= limit.capacity());
            prop_assert!(remaining(&limit, &trial, now) >= remaining(&limit, &state, now));
            check_promises(&limit, &trial, now, ask.cost)?;
        }
    }

    #[test]
    fn a_charge_past_the_limit_is_a_debt_and_is_told((limit, asks) in with_asks(limits()), past in 1..1_000_u64) {
        let (mut state, mut now) = (State::EMPTY, Timestamp::from_micros(START_US));
        for ask in asks {
            now = now.plus_us(ask.after_us);
            limit.step(&mut state, now, ask.cost).unwrap();
        }
        let left = remaining(&limit, &state, now);
        limit.charge(&mut state, now, left + past, Ticket(1));
        let verdict = limit.verdict(&state, now, Outcome::Allowed);
        prop_assert_eq!((verdict.remaining, verdict.debt), (0, past));
        prop_assert!(!limit.judge(&state, now, 1).allowed());
        let reset = now.plus_us(verdict.reset_after_us);
        prop_assert_eq!(remaining(&limit, &state, reset), limit.capacity());
    }

    #[test]
    fn a_clock_that_steps_back_a_little_gives_nothing((limit, asks) in with_asks(limits()), back_us in 0..=STANDSTILL_US) {
        let (mut state, mut now) = (State::EMPTY, Timestamp::from_micros(START_US));
        for ask in asks {
            now = now.plus_us(ask.after_us);
            if limit.step(&mut state, now, ask.cost).unwrap().allowed() && ask.cost > 0 {
                let earlier = now.minus_us(back_us);
                prop_assert!(remaining(&limit, &state, earlier) <= remaining(&limit, &state, now));
                let mut trial = state.clone();
                let left = remaining(&limit, &state, earlier);
                limit.charge(&mut trial, earlier, left, Ticket(2));
                prop_assert!(
                    remaining(&limit, &trial, now) <= remaining(&limit, &state, now) - left,
                    "a charge made in the past was lost"
                );
            }
        }
    }

    #[test]
    fn a_clock_that_steps_back_far_starts_over_and_blocks_nobody((limit, asks) in with_asks(limits())) {
        let far_us = 400 * 86_400 * 1_000_000;
        let (mut state, mut now) = (State::EMPTY, Timestamp::from_micros(START_US + far_us));
        for ask in asks {
            now = now.plus_us(ask.after_us);
            limit.step(&mut state, now, ask.cost).unwrap();
        }
        let now = Timestamp::from_micros(START_US);
        prop_assert_eq!(remaining(&limit, &state, now), limit.capacity());
        let verdict = limit.step(&mut state, now, 1).unwrap();
        prop_assert_eq!(verdict.remaining, limit.capacity() - 1);
    }

    #[test]
    fn no_input_at_all_makes_a_step_panic(
        limit in prop_oneof![limits(), Just(crate::Limit::sliding_window_in_parts(5, std::time::Duration::from_secs(60), 60).unwrap())],
        calls in prop::collection::vec((any::<bool>(), any::<u64>(), any::<u64>(), 0..5_u8), 0..80),
    ) {
        let (mut state, mut now) = (State::EMPTY, Timestamp::from_micros(START_US));
        for (jumps, time_us, cost, verb) in calls {
            now = if jumps { Timestamp::from_micros(time_us) } else { now.plus_us(time_us % 2_000_000) };
            let refund = Refund { units: cost, charged_at: Timestamp::from_micros(cost) };
            match verb {
                0 | 1 => {
                    limit.charge(&mut state, now, cost, Ticket(u128::from(cost)));
                }
                2 => limit.refund(&mut state, now, refund),
                3 => {
                    limit.renew(&mut state, now, Ticket(u128::from(cost)));
                }
                _ => drop(limit.step(&mut state, now, cost)),
            }
            let verdict = limit.verdict(&state, now, limit.judge(&state, now, 1));
            prop_assert!(verdict.remaining <= limit.capacity());
            prop_assert_eq!(verdict.remaining > 0, limit.judge(&state, now, 1).allowed());
        }
    }
}

//! Concurrency against a plain list of slots.

use std::time::Duration;

use proptest::prelude::*;

use super::START_US;
use crate::{Limit, Outcome, Refund, Retry, State, Ticket, Timestamp};

#[derive(Clone, Debug)]
enum Op {
    Acquire { slot: u128, cost: u64 },
    Release { slot: u128 },
    Renew { slot: u128 },
    GiveBack { units: u64 },
}

fn ops() -> impl Strategy<Value = Vec<(u64, Op)>> {
    let slot = 0..12_u128;
    let op = prop_oneof![
        5 => (slot.clone(), 1..4_u64).prop_map(|(slot, cost)| Op::Acquire { slot, cost }),
        3 => slot.clone().prop_map(|slot| Op::Release { slot }),
        2 => slot.prop_map(|slot| Op::Renew { slot }),
        1 => (1..5_u64).prop_map(|units| Op::GiveBack { units }),
    ];
    prop::collection::vec((prop_oneof![Just(0_u64), 0..700_u64, 0..2_500_u64], op), 1..120)
}

/// Slots as a list of (name, end, units).
struct Oracle(Vec<(u128, u64, u64)>);

impl Oracle {
    fn held(&mut self, now_us: u64) -> u64 {
        self.0.retain(|(_, end_us, _)| *end_us > now_us);
        self.0.sort_by_key(|(_, end_us, _)| *end_us);
        self.0.iter().map(|(_, _, units)| units).sum()
    }

    fn find(&mut self, slot: u128) -> Option<usize> {
        self.0.iter().position(|(name, _, _)| *name == slot)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn slots_are_held_until_given_back_or_ended(limit_slots in 1..10_u64, ops in ops()) {
        const TERM_US: u64 = 1_000;
        let limit = Limit::concurrency(limit_slots, Duration::from_micros(TERM_US)).unwrap();
        let (mut state, mut oracle) = (State::EMPTY, Oracle(Vec::new()));
        let mut now = Timestamp::from_micros(START_US);
        for (gap_us, op) in ops {
            now = now.plus_us(gap_us);
            let now_us = now.as_micros();
            let held = oracle.held(now_us);
            match op {
                Op::Acquire { slot, cost } => {
                    let outcome = limit.judge(&state, now, cost);
                    prop_assert_eq!(outcome.allowed(), held + cost <= limit_slots);
                    if outcome.allowed() {
                        limit.charge(&mut state, now, cost, Ticket(slot));
                        let held = oracle.find(slot).map_or(0, |index| oracle.0.remove(index).2);
                        oracle.0.push((slot, now_us + TERM_US, held + cost));
                    }
                }
                Op::Release { slot } => {
                    let expected = oracle.find(slot).map_or(0, |index| oracle.0.remove(index).2);
                    prop_assert_eq!(limit.release(&mut state, now, Ticket(slot)), expected);
                }
                Op::Renew { slot } => {
                    let expected = oracle.find(slot).map(|index| {
                        let (_, _, units) = oracle.0.remove(index);
                        oracle.0.push((slot, now_us + TERM_US, units));
                        Timestamp::from_micros(now_us + TERM_US)
                    });
                    prop_assert_eq!(limit.renew(&mut state, now, Ticket(slot)), expected);
                }
                Op::GiveBack { mut units } => {
                    limit.refund(&mut state, now, Refund { units, charged_at: now });
                    for slot in &mut oracle.0 {
                        let given = units.min(slot.2);
                        slot.2 -= given;
                        units -= given;
                    }
                    oracle.0.retain(|(_, _, units)| *units > 0);
                }
            }
            let held = oracle.held(now_us);
            prop_assert!(held <= limit_slots);
            prop_assert_eq!(limit.verdict(&state, now, Outcome::Allowed).remaining, limit_slots - held);
        }
    }
}

#[test]
fn a_full_room_says_when_the_first_slot_ends_at_the_latest() {
    let limit = Limit::concurrency(2, Duration::from_micros(100)).unwrap();
    let (mut state, at) = (State::EMPTY, |us| Timestamp::from_micros(START_US + us));
    limit.charge(&mut state, at(0), 1, Ticket(1));
    limit.charge(&mut state, at(30), 1, Ticket(2));
    assert_eq!(limit.judge(&state, at(40), 1), Outcome::Refused(Retry::Within(60)));
    assert_eq!(limit.judge(&state, at(40), 2), Outcome::Refused(Retry::Within(90)));
    assert_eq!(limit.judge(&state, at(40), 3), Outcome::Refused(Retry::Never));
    assert!(limit.judge(&state, at(100), 1).allowed(), "a crashed holder's slot has come back");
}

#[test]
fn a_slot_that_has_ended_cannot_be_renewed() {
    let limit = Limit::concurrency(1, Duration::from_micros(100)).unwrap();
    let (mut state, at) = (State::EMPTY, |us| Timestamp::from_micros(START_US + us));
    limit.charge(&mut state, at(0), 1, Ticket(1));
    assert_eq!(limit.renew(&mut state, at(99), Ticket(1)), Some(at(199)));
    assert_eq!(limit.renew(&mut state, at(199), Ticket(1)), None);
}

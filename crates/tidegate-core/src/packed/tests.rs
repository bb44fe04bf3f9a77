use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::{Bounds, Rate, Refund, Ticket, Window};

const START_US: u64 = 1_790_000_000_000_000;
const DAY_US: u64 = 86_400_000_000;

fn limits() -> Vec<Limit> {
    let rate = |amount, seconds| Rate::new(amount, Duration::from_secs(seconds)).unwrap();
    let length = |ms| Duration::from_millis(ms);
    vec![
        Limit::gcra(rate(100, 1), 20).unwrap(),
        Limit::gcra(rate(7, 1), 100).unwrap(),
        Limit::token_bucket(5_000, rate(1_000, 60)).unwrap(),
        Limit::leaky_bucket_shaping(9, rate(3, 10)).unwrap(),
        Limit::fixed_window(1_000_000_000, Window::Aligned(length(86_400_000))).unwrap(),
        Limit::fixed_window(10_000_000_000, Window::Aligned(length(2_592_000_000))).unwrap(),
        Limit::fixed_window(5, Window::Aligned(length(250))).unwrap(),
        Limit::fixed_window(1, Window::FirstHit(length(3_600_000))).unwrap(),
        Limit::sliding_window(30_000, length(60_000)).unwrap(),
        Limit::sliding_window(4_000_000, length(86_400_000)).unwrap(),
        Limit::sliding_window(100_000, length(60_000)).unwrap(),
        Limit::sliding_window(5, length(2_592_000_000)).unwrap(),
        // Such that histories come to their ends.
        Limit::gcra(rate(1, 1), 30).unwrap(),
        Limit::fixed_window(40, Window::Aligned(length(60_000))).unwrap(),
        Limit::sliding_window(60, length(60_000)).unwrap(),
        Limit::sliding_window(25, length(1_000)).unwrap(),
        // Wide.
        Limit::gcra(rate(1, 3_600), 60).unwrap(),
        Limit::gcra(rate(100, 1), 10_000).unwrap(),
        Limit::gcra(rate(1, 86_400), 1).unwrap(),
        Limit::gcra(rate(999_983, 1), 1_000).unwrap(),
        Limit::token_bucket(300_000_000, rate(1, 1)).unwrap(),
        Limit::fixed_window(5, Window::Aligned(length(249))).unwrap(),
        Limit::fixed_window(5, Window::FirstHit(length(2 * 86_400_000))).unwrap(),
        Limit::fixed_window(1_000_000_000_000, Window::Calendar(MONTH)).unwrap(),
        Limit::sliding_window(40_000_000_000, length(86_400_000)).unwrap(),
        Limit::sliding_window(70_000, length(1_000)).unwrap(),
        Limit::sliding_window_in_parts(5, length(86_400_000), 2).unwrap(),
        Limit::sliding_window_in_parts(1_000, length(60_000), 10).unwrap(),
    ]
}

/// A calendar's window that is longer than any history here.
const MONTH: Bounds = Bounds {
    start: Timestamp::from_micros(START_US - 1),
    end: Timestamp::from_micros(START_US + 1_000_000_000_000),
    next_end: Timestamp::from_micros(START_US + 2_000_000_000_000),
};

/// What is done to a counter: how long after the step before, and with how many units.
#[derive(Clone, Debug)]
enum Step {
    Charge(u64),
    Refund(u64),
}

fn steps() -> impl Strategy<Value = Vec<(u64, Step)>> {
    let pause = prop_oneof![Just(0), 1..2_000_000_u64, 1..60_000_000_u64, 1..7_200_000_000_u64];
    let step = prop_oneof![
        (1..20_u64).prop_map(Step::Charge),
        (u64::MAX - 20..).prop_map(Step::Charge),
        (1..20_u64).prop_map(Step::Refund)
    ];
    prop::collection::vec((pause, step), 1..20)
}

proptest! {
    /// Every state that a limit of this kind can come to is packed, and unpacked as it was, until it is swept.
    #[test]
    fn states_are_unpacked_as_they_were(
        which in 0..limits().len(),
        steps in steps(),
        back_us in 0..2_000_000_u64,
        later in 0..100_u64,
    ) {
        let limit = limits()[which];
        let packing = Packing::of(&limit).expect("they are all small");
        let (mut state, mut now) = (State::EMPTY, Timestamp::from_micros(START_US));
        for (pause_us, step) in steps {
            now = now.plus_us(pause_us);
            match step {
                Step::Charge(cost) => {
                    let mut other = state.clone();
                    let before = packing.pack(&limit, &state, now);
                    let stepped =
                        before.and_then(|before| packing.step_packed((&limit, &limit), before, now, cost));
                    let judged = limit.judge(&other, now, cost);
                    if judged.allowed() {
                        limit.charge(&mut other, now, cost, Ticket::default());
                    }
                    let verdict = limit.step(&mut state, now, cost).unwrap();
                    prop_assert_eq!((&state, verdict), (&other, limit.verdict(&other, now, judged)));
                    let left = packing.pack(&limit, &state, now).filter(|_| verdict.allowed());
                    if let Some(stepped) = stepped {
                        prop_assert_eq!(stepped, (left, verdict));
                    }
                    if judged.allowed() {
                        let packed = packing.pack(&limit, &state, now);
                        prop_assert!(packed.is_some() && packed == packing.pack_admitted(&state));
                    }
                }
                Step::Refund(units) => limit.refund(&mut state, now, Refund { units, charged_at: now }),
            }
            let Some(packed) = packing.pack(&limit, &state, now) else {
                // What was counted is all given back, and only the place where it was is left.
                prop_assert_eq!(limit.verdict(&state, now, crate::Outcome::Allowed).remaining, limit.capacity());
                continue;
            };
            prop_assert!(packed.word >> PACKED_BITS == 0 && (packing.is_wide() || packed.more == [0; 2]));
            let life_us = packing.life_us().min(DAY_US) / 100 * later;
            let looked_at = now.plus_us(life_us + Packing::SWEEP_US).minus_us(back_us);
            prop_assert_eq!(&packing.unpack(&limit, packed, looked_at), &state);
            let empty_at = state.empty_at();
            for at in [now, looked_at, empty_at.max(now), empty_at.minus_us(1).max(now)] {
                prop_assert_eq!(packing.is_spent(&limit, packed, at), empty_at <= at, "{:?} at {:?}", state, at);
            }
        }
    }
}

#[test]
fn common_limits_are_stepped_while_packed() {
    let now = Timestamp::from_micros(START_US);
    for limit in [limits()[3], limits()[4]].into_iter().chain([
        Limit::gcra(Rate::new(1, Duration::from_secs(60)).unwrap(), 30).unwrap(),
        Limit::token_bucket(100, Rate::new(1_000, Duration::from_secs(1)).unwrap()).unwrap(),
        Limit::sliding_window(100, Duration::from_secs(60)).unwrap(),
    ]) {
        let packing = Packing::of(&limit).unwrap();
        let step = |cost| packing.step_packed((&limit, &limit), Packed::default(), now, cost);
        assert_eq!(step(1).is_some(), limit != limits()[3], "{limit:?}");
        assert_eq!(step(limit.capacity() + 1), None, "{limit:?}");
    }
}

#[test]
fn what_does_not_fit_is_not_packed() {
    let day = Duration::from_secs(86_400);
    let not = [
        Limit::sliding_window_in_parts(1_000_000, day, 10).unwrap(),
        Limit::sliding_window_in_parts(5, day, 60).unwrap(),
        Limit::sliding_log(5, day).unwrap(),
        Limit::concurrency(5, day).unwrap(),
    ];
    for limit in not {
        assert_eq!(Packing::of(&limit), None, "{limit:?}");
    }
}

#[test]
fn a_debt_beyond_its_room_is_not_packed() {
    let limit = limits()[0];
    let (packing, now) = (Packing::of(&limit).unwrap(), Timestamp::from_micros(START_US));
    let mut state = State::EMPTY;
    limit.charge(&mut state, now, 16_384, Ticket::default());
    assert_eq!(packing.pack(&limit, &state, now), None);
    let slow = Limit::gcra(Rate::new(1, Duration::from_secs(3_600)).unwrap(), 5).unwrap();
    let mut state = State::EMPTY;
    slow.charge(&mut state, now, 100, Ticket::default());
    assert_eq!(Packing::of(&slow).unwrap().pack(&slow, &state, now), None, "it lasts for days");
}

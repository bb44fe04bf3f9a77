//! The meter against its definition: a cost passes exactly if no stretch of time then holds more than burst + rate·T.

use proptest::prelude::*;

use super::{Admitted, Ask, START_US, asks, rates};
use crate::{Limit, Outcome, Rate, Retry, State, Timestamp};

struct Oracle {
    rate: Rate,
    burst: u64,
    admitted: Admitted,
}

impl Oracle {
    /// The earliest instant at which `cost` keeps every stretch that ends with it within the promise.
    fn passes_at_us(&self, now_us: u64, cost: u64) -> u64 {
        let mut total = i128::from(cost);
        let mut earliest = i128::from(now_us);
        for (at_us, units) in self.admitted.0.iter().rev() {
            total += i128::from(*units);
            let excess = (total - i128::from(self.burst)).max(0) * i128::from(self.rate.per_us());
            let wait_us = -(-excess).div_euclid(i128::from(self.rate.units()));
            earliest = earliest.max(i128::from(*at_us) + wait_us);
        }
        u64::try_from(earliest).unwrap()
    }
}

fn metered() -> impl Strategy<Value = (Rate, u64, Vec<Ask>)> {
    rates().prop_flat_map(|(rate, burst)| (Just(rate), Just(burst), asks(Limit::gcra(rate, burst).unwrap())))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn admits_exactly_what_the_promise_allows((rate, burst, asks) in metered()) {
        let limit = Limit::gcra(rate, burst).unwrap();
        let mut oracle = Oracle { rate, burst, admitted: Admitted::default() };
        let (mut state, mut now) = (State::EMPTY, Timestamp::from_micros(START_US));
        for ask in asks {
            now = now.plus_us(ask.after_us);
            let passes_at_us = oracle.passes_at_us(now.as_micros(), ask.cost);
            let expected = match passes_at_us.saturating_sub(now.as_micros()) {
                _ if ask.cost == 0 => Outcome::Allowed,
                0 => Outcome::Allowed,
                wait_us => Outcome::Refused(Retry::After(wait_us)),
            };
            let verdict = limit.step(&mut state, now, ask.cost).unwrap();
            prop_assert_eq!(verdict.outcome, expected);
            if verdict.allowed() && ask.cost > 0 {
                oracle.admitted.push(now, ask.cost);
            }
        }
    }

    #[test]
    fn gcra_token_bucket_and_leaky_bucket_are_one_meter((rate, burst, asks) in metered()) {
        let limits = [
            Limit::gcra(rate, burst).unwrap(),
            Limit::token_bucket(burst, rate).unwrap(),
            Limit::leaky_bucket(burst, rate).unwrap(),
        ];
        let mut states = [State::EMPTY, State::EMPTY, State::EMPTY];
        let mut now = Timestamp::from_micros(START_US);
        for ask in asks {
            now = now.plus_us(ask.after_us);
            let step = |index: usize, state: &mut State| limits[index].step(state, now, ask.cost).unwrap();
            let [a, b, c] = &mut states;
            let verdict = step(0, a);
            prop_assert_eq!(step(1, b), verdict);
            prop_assert_eq!(step(2, c), verdict);
        }
    }

    // With a burst of 1 a request that a microsecond clock shows half a microsecond early is early: hence 2 and more.
    #[test]
    fn a_source_at_exactly_its_rate_is_never_refused(amount in 1..100_000_u64, gap_us in 1..10_000_u64, odd_us in 0..1_000_u64, burst in 2..50_u64) {
        let per_us = amount * gap_us + odd_us;
        let rate = Rate::new(amount, std::time::Duration::from_micros(per_us)).unwrap();
        let limit = Limit::gcra(rate, burst).unwrap();
        let mut state = State::EMPTY;
        for n in 0..burst + 200 {
            let late = u128::from((n + 1).saturating_sub(burst)) * u128::from(per_us);
            let at_us = START_US + u64::try_from(late.div_ceil(u128::from(amount))).unwrap();
            let verdict = limit.step(&mut state, Timestamp::from_micros(at_us), 1).unwrap();
            prop_assert!(verdict.allowed(), "request {} of a conforming source was refused", n);
        }
    }

    #[test]
    fn shaped_requests_leave_at_the_leak_rate_and_in_order((rate, queue, asks) in metered()) {
        let limit = Limit::leaky_bucket_shaping(queue, rate).unwrap();
        let (mut state, mut now) = (State::EMPTY, Timestamp::from_micros(START_US));
        let mut free_at_us = START_US;
        for ask in asks.into_iter().filter(|ask| ask.cost > 0) {
            now = now.plus_us(ask.after_us);
            let verdict = limit.step(&mut state, now, ask.cost).unwrap();
            if verdict.allowed() {
                let leaves_us = now.as_micros() + verdict.delay_us();
                prop_assert!(leaves_us >= free_at_us, "leaves before the ones ahead of it have leaked away");
                prop_assert!(verdict.delay_us() <= rate.span_us_of(queue - ask.cost));
                // Each delay is rounded up, so that the next may follow up to 1 us sooner than a whole unit later.
                free_at_us = leaves_us + rate.span_us_of(ask.cost).saturating_sub(1);
            }
        }
    }
}

#[test]
fn a_long_idle_source_gets_its_burst_and_no_more() {
    // A known peer takes max(stored, now - tolerance) and admits 17 of 10 here.
    let limit = Limit::gcra(Rate::new(10, std::time::Duration::from_secs(10)).unwrap(), 10).unwrap();
    let mut state = State::EMPTY;
    let mut burst = |at_s: u64| {
        let now = Timestamp::from_micros(START_US + at_s * 1_000_000);
        (0..30).filter(|_| limit.step(&mut state, now, 1).unwrap().allowed()).count()
    };
    assert_eq!((burst(0), burst(9), burst(26)), (10, 9, 10));
}

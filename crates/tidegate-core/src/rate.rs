//! Rates as exact fractions: so many units in so many microseconds, in lowest terms.

use std::time::Duration;

use crate::limit::{LimitError, MAX_AMOUNT, micros};

/// Units per time, kept as a fraction in lowest terms: 7 per second is 7/1 000 000 µs, never 142 857 µs each.
///
/// ```
/// use std::time::Duration;
/// use tidegate_core::Rate;
/// let rate = Rate::new(1_000_000, Duration::from_secs(86_400))?;
/// assert_eq!((rate.units(), rate.per_us()), (1, 86_400));
/// # Ok::<(), tidegate_core::LimitError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rate {
    units: u64,
    per_us: u64,
}

impl Rate {
    /// `amount` units in each `per`.
    pub fn new(amount: u64, per: Duration) -> Result<Self, LimitError> {
        if amount == 0 {
            return Err(LimitError::ZeroAmount);
        }
        if amount > MAX_AMOUNT {
            return Err(LimitError::AmountTooLarge { amount });
        }
        let per_us = micros(per)?;
        let divisor = gcd(amount, per_us);
        Ok(Self { units: amount / divisor, per_us: per_us / divisor })
    }

    /// A part of it: as many units in so many times the time.
    pub(crate) fn divided(self, among: u64) -> Self {
        let divisor = gcd(self.units, among);
        Self { units: self.units / divisor, per_us: self.per_us.saturating_mul(among / divisor) }
    }

    /// The numerator in lowest terms.
    pub const fn units(self) -> u64 {
        self.units
    }

    /// The denominator in lowest terms, in microseconds.
    pub const fn per_us(self) -> u64 {
        self.per_us
    }

    /// Whole units that pass between `from` and `now`; none if `now` is earlier.
    pub(crate) fn units_since(self, from: Mark, now_us: u64) -> u64 {
        let Some(span_us) = now_us.checked_sub(from.us) else { return 0 };
        let parts = u128::from(span_us) * u128::from(self.units);
        let parts = parts.saturating_sub(u128::from(from.part));
        quotient(parts, self.per_us)
    }

    /// The exact mark at which `units` more have passed since `from`.
    pub(crate) fn mark_after(self, from: Mark, units: u64) -> Mark {
        let parts = u128::from(units) * u128::from(self.per_us) + u128::from(from.part);
        let (span_us, part) = match u64::try_from(parts) {
            Ok(parts) => (parts / self.units, parts % self.units),
            Err(_) => wide_div_rem(parts, self.units),
        };
        Mark { us: from.us.saturating_add(span_us), part }
    }

    /// The shortest whole number of microseconds in which `units` pass, starting anywhere.
    pub fn span_us_of(self, units: u64) -> u64 {
        self.mark_after(Mark::at(0), units).ceil_us()
    }
}

/// An instant finer than a microsecond: `us` plus `part` of the rate's numerator-th parts of one.
///
/// The part is what makes a rate like 7/s exact. It is below one microsecond, so that a change of the rate, which
/// changes its meaning, moves the mark by less than that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) us: u64,
    pub(crate) part: u64,
}

impl Mark {
    pub(crate) const fn at(us: u64) -> Self {
        Self { us, part: 0 }
    }

    /// The first whole microsecond that is not before this mark.
    pub(crate) const fn ceil_us(self) -> u64 {
        self.us.saturating_add((self.part > 0) as u64)
    }

    /// This mark as a rate with `units` in its numerator reads it: a part that it cannot have is rounded up.
    pub(crate) const fn read_with(self, rate: Rate) -> Self {
        if self.part < rate.units { self } else { Self::at(self.ceil_us()) }
    }
}

/// ⌈value · times / by⌉, saturating.
pub(crate) fn scaled_up(value: u64, times: u64, by: u64) -> u64 {
    let product = u128::from(value) * u128::from(times);
    quotient(product + u128::from(by - 1), by)
}

/// ⌊value · times / by⌋, saturating.
pub(crate) fn scaled_down(value: u64, times: u64, by: u64) -> u64 {
    quotient(u128::from(value) * u128::from(times), by)
}

/// Division that takes the 64-bit path whenever the dividend allows it: the wide one is a library call.
fn quotient(dividend: u128, divisor: u64) -> u64 {
    match u64::try_from(dividend) {
        Ok(narrow) => narrow / divisor,
        Err(_) => wide_div_rem(dividend, divisor).0,
    }
}

#[cold]
fn wide_div_rem(dividend: u128, divisor: u64) -> (u64, u64) {
    let divisor = u128::from(divisor);
    let quotient = u64::try_from(dividend / divisor).unwrap_or(u64::MAX);
    let remainder = u64::try_from(dividend % divisor).expect("a remainder is below its 64-bit divisor");
    (quotient, remainder)
}

const fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(amount: u64, per_s: u64) -> Rate {
        Rate::new(amount, Duration::from_secs(per_s)).unwrap()
    }

    #[test]
    fn seven_per_second_has_no_drift() {
        let seven = rate(7, 1);
        let mut mark = Mark::at(0);
        for _ in 0..7 * 86_400 {
            mark = seven.mark_after(mark, 1);
        }
        assert_eq!(mark, Mark::at(86_400_000_000));
    }

    #[test]
    fn units_arrive_exactly_at_their_mark_and_not_before() {
        let seven = rate(7, 1);
        let mark = seven.mark_after(Mark::at(0), 1);
        assert_eq!(mark, Mark { us: 142_857, part: 1 });
        assert_eq!(seven.units_since(Mark::at(0), 142_857), 0);
        assert_eq!(seven.units_since(Mark::at(0), 142_858), 1);
        assert_eq!(seven.units_since(mark, 285_714), 0);
        assert_eq!(seven.units_since(mark, 285_715), 1);
    }

    #[test]
    fn a_prime_amount_per_month_takes_the_wide_path_and_stays_exact() {
        let month = rate(999_999_937, 31 * 86_400);
        assert_eq!(month.span_us_of(999_999_937), 31 * 86_400 * 1_000_000);
        assert_eq!(month.units_since(Mark::at(0), 31 * 86_400 * 1_000_000), 999_999_937);
        assert_eq!(month.units_since(Mark::at(0), 31 * 86_400 * 1_000_000 - 1), 999_999_936);
    }
}

//! How long decisions took, each of them: counts in steps of a sixteenth, the worst exactly, and how much of a long one the
//! thread spent waiting for a core.

use std::fs;
use std::time::Duration;

/// From here on it is asked whether the thread had a core all the time.
pub(super) const LONG: Duration = Duration::from_micros(100);
pub(super) const TOO_LONG: Duration = Duration::from_millis(1);

/// Sixteen steps per doubling.
const STEPS: u32 = 16;
const STEP_BITS: u32 = STEPS.trailing_zeros();

/// All that were added, in steps of their nanoseconds.
pub(super) struct Counts(Vec<u64>);

/// The long ones of a stretch of time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Worst {
    pub(super) taken: Duration,
    /// The longest one when waiting for a core is taken off each.
    pub(super) own: Duration,
    pub(super) long: u64,
    pub(super) too_long: u64,
}

impl Counts {
    pub(super) fn new() -> Self {
        Self(vec![0; place(u64::MAX) + 1])
    }

    #[inline]
    pub(super) fn add(&mut self, taken: Duration) {
        self.0[place(nanoseconds(taken))] += 1;
    }

    /// At least all but so many of a million are not above this.
    pub(super) fn all_but(&self, millionths: u64) -> Duration {
        let total: u64 = self.0.iter().sum();
        let mut above = total / 1_000_000 * millionths + total % 1_000_000 * millionths / 1_000_000;
        for (place, count) in self.0.iter().enumerate().rev() {
            if *count > above {
                return Duration::from_nanos(largest(place));
            }
            above -= count;
        }
        Duration::ZERO
    }
}

impl Worst {
    /// One more that was long, and how long the thread has waited since the one before.
    pub(super) fn add(&mut self, taken: Duration, waited: Duration) {
        self.taken = self.taken.max(taken);
        self.own = self.own.max(taken.saturating_sub(waited));
        self.long += 1;
        self.too_long += u64::from(taken >= TOO_LONG);
    }
}

/// How long this thread has been ready and without a core, as the kernel counts it; 0 where it does not.
pub(super) fn waited() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let waited = text.split_whitespace().nth(1).and_then(|word| word.parse().ok());
    Duration::from_nanos(waited.unwrap_or(0))
}

pub(super) fn nanoseconds(taken: Duration) -> u64 {
    u64::try_from(taken.as_nanos()).unwrap_or(u64::MAX)
}

/// The place of a number: its own below sixteen, then by its highest bit and the four that follow.
fn place(number: u64) -> usize {
    let doublings = (u64::BITS - number.leading_zeros()).saturating_sub(STEP_BITS + 1);
    let rest = usize::try_from(number >> doublings).expect("five bits are left");
    (doublings * STEPS) as usize + rest
}

/// The largest number of a place.
fn largest(place: usize) -> u64 {
    let place = place as u64;
    let doublings = (place / u64::from(STEPS)).saturating_sub(1);
    let rest = place - doublings * u64::from(STEPS);
    ((rest + 1) << doublings).wrapping_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_at_most_the_largest_of_its_place_and_above_that_of_the_one_before() {
        for number in (0..2_000).chain([1 << 20, (1 << 20) + 1, 123_456_789, u64::MAX / 2, u64::MAX]) {
            let place = place(number);
            assert!(number <= largest(place), "{number}");
            assert!(place == 0 || number > largest(place - 1), "{number}");
        }
    }

    #[test]
    fn ten_of_a_million_are_above_the_last_but_ten() {
        let mut counts = Counts::new();
        (0..999_990).for_each(|_| counts.add(Duration::from_nanos(100)));
        (0..10).for_each(|_| counts.add(Duration::from_micros(5)));
        let (most, all) = (counts.all_but(10), counts.all_but(0));
        assert!(most < Duration::from_nanos(110) && all >= Duration::from_micros(5), "{most:?} {all:?}");
    }
}

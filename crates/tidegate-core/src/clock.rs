//! A wall clock that is carried by the monotonic clock and corrected from time to time.
//!
//! A [`ClockDial`] takes pairs of readings (monotonic, wall) and gives the time for a monotonic reading. Small
//! differences are slewed, so that time never steps back; large ones are taken as a step. Its caller says how to read the clocks.

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use crate::time::{STANDSTILL_US, Timestamp};

/// Differences beyond this are taken at once, as a step. States tolerate smaller steps back by standing still.
pub const CLOCK_STEP_US: u64 = STANDSTILL_US;

/// Smaller differences are made up at one part in so many: 1 ms per second.
pub const CLOCK_SLEW_DIVISOR: u64 = 1_000;

/// Differences below this are left alone: they are in the noise of reading two clocks.
const CLOCK_NOISE_US: u64 = 1_000;

/// Readings of two clocks that were taken further apart than this are not compared.
const MAX_READING_US: u64 = 10_000;

/// The bits of the published number that hold the direction of the slew.
const SLEW_BITS: u32 = 2;
const MAX_BASE: i64 = i64::MAX >> (SLEW_BITS + 1);

/// Gives the time for readings of the monotonic clock. One thread corrects it, any number read it without waiting.
///
/// ```
/// use tidegate_core::clock::ClockDial;
///
/// let dial = ClockDial::new(0, 1_790_000_000_000_000);
/// assert_eq!(dial.at(5).as_micros(), 1_790_000_000_000_005);
/// // The wall clock was set an hour ahead.
/// let look = dial.correct(1_000_000, 1_790_003_601_000_000);
/// assert_eq!((look.difference_us, look.stepped), (3_600_000_000, true));
/// assert_eq!(dial.at(1_000_000).as_micros(), 1_790_003_601_000_000);
/// ```
#[derive(Debug)]
pub struct ClockDial {
    /// The time at the monotonic zero and the direction of the slew, in one number so that readers see both or neither.
    published: AtomicI64,
}

/// What a correction found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockLook {
    /// How far the wall clock was ahead of the dial; negative if it was behind.
    pub difference_us: i64,
    /// Whether the dial was set to the wall clock at once.
    pub stepped: bool,
}

impl ClockDial {
    /// A dial that shows this wall time at this reading of the monotonic clock.
    pub const fn new(monotonic_us: u64, wall_us: u64) -> Self {
        let published = packed(base(signed(wall_us), monotonic_us, 0), 0);
        Self { published: AtomicI64::new(published) }
    }

    /// The time at a reading of the monotonic clock.
    #[inline]
    pub fn at(&self, monotonic_us: u64) -> Timestamp {
        let published = self.published.load(Relaxed);
        let (base, slew) = (published >> SLEW_BITS, (published & 3) - 1);
        let us = base.saturating_add(signed(monotonic_us)).saturating_add(slewed(monotonic_us, slew));
        Timestamp::from_micros(u64::try_from(us).unwrap_or(0))
    }

    /// Reads both clocks and corrects the dial; `None` if the thread was held up between the readings, which would look like
    /// a difference that is not there.
    pub fn follow(&self, monotonic_us: impl Fn() -> u64, wall_us: impl FnOnce() -> u64) -> Option<ClockLook> {
        let (before, wall_us) = (monotonic_us(), wall_us());
        let apart_us = monotonic_us().saturating_sub(before);
        (apart_us <= MAX_READING_US).then(|| self.correct(before + apart_us / 2, wall_us))
    }

    /// Corrects the dial by readings of both clocks at one moment.
    pub fn correct(&self, monotonic_us: u64, wall_us: u64) -> ClockLook {
        let (shown, wall) = (signed(self.at(monotonic_us).as_micros()), signed(wall_us));
        let difference_us = wall - shown;
        let stepped = difference_us.unsigned_abs() > CLOCK_STEP_US;
        let (from, slew) = if stepped {
            (wall, 0)
        } else if difference_us.unsigned_abs() < CLOCK_NOISE_US {
            (shown, 0)
        } else {
            (shown, difference_us.signum())
        };
        self.published.store(packed(base(from, monotonic_us, slew), slew), Relaxed);
        ClockLook { difference_us, stepped }
    }
}

/// The time at the monotonic zero of a clock that shows `from_us` at a reading.
const fn base(from_us: i64, monotonic_us: u64, slew: i64) -> i64 {
    from_us - signed(monotonic_us) - slewed(monotonic_us, slew)
}

const fn slewed(monotonic_us: u64, slew: i64) -> i64 {
    slew * signed(monotonic_us / CLOCK_SLEW_DIVISOR)
}

const fn packed(base: i64, slew: i64) -> i64 {
    let bounded = if base > MAX_BASE {
        MAX_BASE
    } else if base < -MAX_BASE {
        -MAX_BASE
    } else {
        base
    };
    (bounded << SLEW_BITS) | (slew + 1)
}

/// Readings beyond 36 000 years are held at that.
const fn signed(us: u64) -> i64 {
    let most = MAX_BASE.cast_unsigned();
    if us > most { MAX_BASE } else { us.cast_signed() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000;
    const START: u64 = 1_790_000_000 * SECOND;

    fn dial() -> ClockDial {
        ClockDial::new(0, START)
    }

    #[test]
    fn monotonic_clock_carries_time() {
        let dial = ClockDial::new(7 * SECOND, START);
        assert_eq!(dial.at(7 * SECOND).as_micros(), START);
        assert_eq!(dial.at(9 * SECOND + 1).as_micros(), START + 2 * SECOND + 1);
        let look = dial.correct(10 * SECOND, START + 3 * SECOND);
        assert_eq!(look, ClockLook { difference_us: 0, stepped: false });
    }

    #[test]
    fn step_forward_is_taken_at_once() {
        let dial = dial();
        let look = dial.correct(SECOND, START + 3601 * SECOND);
        assert_eq!(look, ClockLook { difference_us: 3_600_000_000, stepped: true });
        assert_eq!(dial.at(2 * SECOND).as_micros(), START + 3602 * SECOND);
    }

    #[test]
    fn step_back_is_taken_at_once() {
        let dial = ClockDial::new(0, START + 86_400 * SECOND);
        let look = dial.correct(SECOND, START + SECOND);
        assert_eq!(look, ClockLook { difference_us: -86_400_000_000, stepped: true });
        assert_eq!(dial.at(SECOND).as_micros(), START + SECOND);
    }

    #[test]
    fn suspended_machine_steps_forward() {
        let dial = dial();
        dial.correct(5 * SECOND, START + 5 * SECOND);
        // The monotonic clock stood still for eight hours.
        let look = dial.correct(6 * SECOND, START + 6 * SECOND + 8 * 3600 * SECOND);
        assert!(look.stepped);
        assert_eq!(dial.at(6 * SECOND).as_micros(), START + 6 * SECOND + 8 * 3600 * SECOND);
    }

    #[test]
    fn wrong_clock_at_boot_is_corrected() {
        let dial = ClockDial::new(0, 0);
        assert!(dial.correct(30 * SECOND, START).stepped);
        assert_eq!(dial.at(31 * SECOND).as_micros(), START + SECOND);
    }

    #[test]
    fn small_differences_are_slewed() {
        for ahead in [-600_000_i64, 600_000] {
            let (dial, mut last) = (dial(), START);
            for second in 0..=700 {
                let monotonic = second * SECOND;
                let wall = (START + monotonic).checked_add_signed(ahead).unwrap();
                assert!(!dial.correct(monotonic, wall).stepped);
                for part in 0..10 {
                    let now = dial.at(monotonic + part * SECOND / 10).as_micros();
                    let passed = now - last;
                    assert!(passed <= SECOND / 10 + SECOND / 10_000 + 1, "{passed} in a tenth of a second");
                    last = now;
                }
            }
            let wall = (START + 701 * SECOND).checked_add_signed(ahead).unwrap();
            let left = dial.at(701 * SECOND).as_micros().abs_diff(wall);
            assert!(left <= 2 * CLOCK_NOISE_US, "{left} µs are left");
        }
    }

    #[test]
    fn slew_never_steps_back() {
        let (dial, mut last) = (dial(), 0);
        for millisecond in 0..20_000 {
            let monotonic = millisecond * 1_000;
            if millisecond % 1_000 == 0 {
                // The wall clock swings around the dial.
                let swing = if millisecond % 2_000 == 0 { -900_000 } else { 900_000 };
                dial.correct(monotonic, (START + monotonic).checked_add_signed(swing).unwrap());
            }
            let now = dial.at(monotonic).as_micros();
            assert!(now >= last, "{now} after {last}");
            last = now;
        }
    }

    #[test]
    fn readings_far_apart_are_not_compared() {
        let (dial, reads) = (dial(), std::cell::Cell::new(0));
        let slow = || reads.replace(reads.get() + 2 * SECOND);
        assert_eq!(dial.follow(slow, || START + 2 * SECOND), None);
        assert_eq!(dial.at(SECOND).as_micros(), START + SECOND);
        assert!(dial.follow(|| SECOND, || START + SECOND).is_some());
    }

    #[test]
    fn extreme_readings_do_not_overflow() {
        let dial = ClockDial::new(u64::MAX, u64::MAX);
        dial.correct(0, 0);
        dial.correct(u64::MAX, 0);
        assert_eq!(dial.at(u64::MAX), Timestamp::ZERO);
        dial.correct(0, u64::MAX);
        assert!(dial.at(u64::MAX) > Timestamp::ZERO);
    }
}

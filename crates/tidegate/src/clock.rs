//! Where a limiter gets its time from: the system, or the hand of a test.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant, SystemTime};

use tidegate_core::Timestamp;
use tidegate_core::clock::ClockDial;

/// A source of time. It should not go backwards; if it does, see [`tidegate_core::STANDSTILL_US`].
pub trait Clock: Send + Sync {
    /// The present instant.
    fn now(&self) -> Timestamp;
}

/// The wall clock of the system, followed without stepping back for small corrections.
///
/// The monotonic clock carries the time. About once a second a reader looks at the wall clock: differences of up to a
/// second are slewed at 1 ms per second, larger ones are taken at once, so that a clock that was wrong at boot or a
/// suspended machine is put right. All system clocks of a process share one state.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    source: &'static WallClock,
}

/// The one source of system time of a process.
#[derive(Debug)]
struct WallClock {
    started: Instant,
    dial: ClockDial,
    /// When the wall clock is looked at next, by the monotonic clock.
    next_look_us: AtomicU64,
}

/// How long the monotonic clock carries the time between two looks at the wall clock.
const BETWEEN_LOOKS_US: u64 = 1_000_000;

static WALL_CLOCK: LazyLock<WallClock> = LazyLock::new(|| WallClock {
    started: Instant::now(),
    dial: ClockDial::new(0, wall_us()),
    next_look_us: AtomicU64::new(BETWEEN_LOOKS_US),
});

impl WallClock {
    #[inline]
    fn now(&self) -> Timestamp {
        let monotonic_us = whole_us(self.started.elapsed());
        if monotonic_us >= self.next_look_us.load(Ordering::Relaxed) {
            self.look(monotonic_us);
        }
        self.dial.at(monotonic_us)
    }

    /// Corrects the dial unless another thread does.
    #[cold]
    fn look(&self, monotonic_us: u64) {
        if self.takes_look(monotonic_us) {
            self.dial.follow(|| whole_us(self.started.elapsed()), wall_us);
        }
    }

    fn takes_look(&self, monotonic_us: u64) -> bool {
        let due = self.next_look_us.load(Ordering::Relaxed);
        let next = monotonic_us.saturating_add(BETWEEN_LOOKS_US);
        due <= monotonic_us
            && self.next_look_us.compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

fn wall_us() -> u64 {
    whole_us(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default())
}

impl SystemClock {
    /// The clock of the system.
    pub fn new() -> Self {
        Self { source: &WALL_CLOCK }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    #[inline]
    fn now(&self) -> Timestamp {
        self.source.now()
    }
}

/// A clock that stands still until it is told to move. Clones are the same clock.
///
/// ```
/// use std::time::Duration;
/// use tidegate::{Limit, Limiter, ManualClock, Rule};
///
/// let clock = ManualClock::new();
/// let limiter = Limiter::with_clock(clock.clone());
/// let rule = Rule::new("hourly", Limit::sliding_log(1, Duration::from_secs(3600))?)?;
/// assert!(limiter.check(&rule, "k")?.allowed());
/// assert!(!limiter.check(&rule, "k")?.allowed());
/// clock.advance(Duration::from_secs(3600));
/// assert!(limiter.check(&rule, "k")?.allowed());
/// # Ok::<(), tidegate::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ManualClock(Arc<AtomicU64>);

impl ManualClock {
    /// Stands at the beginning of 2026.
    pub fn new() -> Self {
        Self::at(Timestamp::from_micros(1_767_225_600_000_000))
    }

    /// Stands at that instant.
    pub fn at(now: Timestamp) -> Self {
        Self(Arc::new(AtomicU64::new(now.as_micros())))
    }

    /// Lets time pass.
    pub fn advance(&self, span: Duration) {
        self.0.fetch_add(whole_us(span), Ordering::SeqCst);
    }

    /// Moves to that instant, which may be an earlier one.
    pub fn set(&self, now: Timestamp) {
        self.0.store(now.as_micros(), Ordering::SeqCst);
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }
}

/// Whole microseconds, rounded down.
#[inline]
fn whole_us(span: Duration) -> u64 {
    span.as_secs().saturating_mul(1_000_000).saturating_add(u64::from(span.subsec_micros()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const START_US: u64 = 1_790_000_000_000_000;

    #[test]
    fn looks_once_a_second() {
        let clock = WallClock {
            started: Instant::now(),
            dial: ClockDial::new(0, START_US),
            next_look_us: AtomicU64::new(BETWEEN_LOOKS_US),
        };
        let takes = [999_999, 1_000_000, 1_500_000, 2_000_000].map(|us| clock.takes_look(us));
        assert_eq!(takes, [false, true, false, true]);
    }

    #[test]
    fn system_clocks_share_one_source() {
        let (one, other) = (SystemClock::new(), SystemClock::default());
        let (before, after) = (one.now(), other.now());
        assert!(before <= after && std::ptr::eq(one.source, other.source));
    }
}

//! Where a limiter gets its time from: the system, or the hand of a test.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use tidegate_core::Timestamp;

/// A source of time. It should not go backwards; if it does, see [`tidegate_core::STANDSTILL_US`].
pub trait Clock: Send + Sync {
    /// The present instant.
    fn now(&self) -> Timestamp;
}

/// The wall clock as it was when this was made, carried on by the monotonic clock: it never steps back.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    wall_us: u64,
    started: Instant,
}

impl SystemClock {
    /// Starts from the present wall clock.
    pub fn new() -> Self {
        let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self { wall_us: whole_us(wall), started: Instant::now() }
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
        Timestamp::from_micros(self.wall_us.saturating_add(whole_us(self.started.elapsed())))
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

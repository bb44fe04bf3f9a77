//! The time that listeners read: the wall clock, carried by the monotonic clock and corrected once a second.
//!
//! A background task compares both clocks and publishes the difference; readers need the monotonic clock and one
//! atomic number. Differences up to one second are slewed, larger ones are taken as a step, counted and logged.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant, SystemTime};

use tidegate_core::Timestamp;
use tidegate_core::clock::{ClockDial, ClockLook};
use tidegate_frontend::door::Clock;
use tokio::time::{MissedTickBehavior, interval};

/// How often the wall clock is looked at.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

/// The clock of a server.
#[derive(Debug)]
pub(crate) struct WallClock {
    started: Instant,
    dial: ClockDial,
    steps_forward: AtomicU64,
    steps_back: AtomicU64,
    difference_us: AtomicI64,
}

impl WallClock {
    /// A clock that shows the present wall time.
    pub(crate) fn start() -> Arc<Self> {
        Arc::new(Self::showing(wall_us()))
    }

    fn showing(wall_us: u64) -> Self {
        Self {
            started: Instant::now(),
            dial: ClockDial::new(0, wall_us),
            steps_forward: AtomicU64::new(0),
            steps_back: AtomicU64::new(0),
            difference_us: AtomicI64::new(0),
        }
    }

    /// The time.
    pub(crate) fn now(&self) -> Timestamp {
        self.dial.at(whole_us(self.started.elapsed()))
    }

    /// The clock as listeners take it.
    pub(crate) fn reader(self: &Arc<Self>) -> Clock {
        let clock = Arc::clone(self);
        Arc::new(move || clock.now())
    }

    /// Follows the wall clock for as long as it is polled.
    pub(crate) async fn follow(self: Arc<Self>) {
        let mut looks = interval(BETWEEN_LOOKS);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            looks.tick().await;
            if let Some(look) = self.dial.follow(|| whole_us(self.started.elapsed()), wall_us) {
                self.note(look);
            }
        }
    }

    fn note(&self, look: ClockLook) {
        self.difference_us.store(look.difference_us, Relaxed);
        if look.stepped {
            let is_ahead = look.difference_us > 0;
            let counter = if is_ahead { &self.steps_forward } else { &self.steps_back };
            counter.fetch_add(1, Relaxed);
            let seconds =
                format!("{:.3}", Duration::from_micros(look.difference_us.unsigned_abs()).as_secs_f64());
            let direction = if is_ahead { "forward" } else { "back" };
            tracing::warn!(direction, seconds, "the wall clock was stepped; the server's time follows it");
        }
    }

    /// How often a step was taken, by its direction.
    pub(crate) fn steps(&self) -> [(&'static str, u64); 2] {
        [("forward", self.steps_forward.load(Relaxed)), ("back", self.steps_back.load(Relaxed))]
    }

    /// How far the wall clock was ahead of this one at the last look, in microseconds.
    pub(crate) fn difference_us(&self) -> i64 {
        self.difference_us.load(Relaxed)
    }
}

fn wall_us() -> u64 {
    whole_us(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default())
}

fn whole_us(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const START_US: u64 = 1_790_000_000_000_000;

    #[test]
    fn counts_steps_by_direction() {
        let clock = WallClock::showing(START_US);
        let look = |monotonic_us, wall_us| clock.note(clock.dial.correct(monotonic_us, wall_us));
        look(1_000_000, START_US + 1_000_000);
        look(2_000_000, START_US + 2_900_000);
        assert_eq!(clock.steps(), [("forward", 0), ("back", 0)], "a small difference is slewed");
        assert_eq!(clock.difference_us(), 900_000);
        look(3_000_000, START_US + 86_400_000_000);
        look(4_000_000, START_US + 4_000_000);
        assert_eq!(clock.steps(), [("forward", 1), ("back", 1)]);
    }

    #[test]
    fn readers_see_a_step() {
        let clock = Arc::new(WallClock::showing(START_US));
        let read = clock.reader();
        let later = START_US + 86_400_000_000;
        clock.dial.correct(0, later);
        assert!(read().as_micros() >= later);
    }

    #[tokio::test(start_paused = true)]
    async fn follows_the_system() {
        let clock = Arc::new(WallClock::showing(0));
        let mut following = tokio::task::JoinSet::new();
        following.spawn(Arc::clone(&clock).follow());
        tokio::time::advance(BETWEEN_LOOKS).await;
        tokio::task::yield_now().await;
        assert!(clock.now().as_micros() > START_US / 2, "a wrong clock at the start is put right");
        assert_eq!(clock.steps()[0], ("forward", 1));
    }
}

//! The clock of a turn: it is read once per turn of a connection, not for each frame and answer.

use std::cell::Cell;
use std::pin::Pin;
use std::time::Duration;

use hyper::rt::{Sleep, Timer};
use hyper_util::rt::TokioTimer;
use tokio::time::Instant;

thread_local! {
    /// The current turn of this thread: when it began, and its number.
    static CURRENT: Cell<Option<(Instant, u64)>> = const { Cell::new(None) };
    /// How many turns this thread has begun.
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

/// A turn of a connection, until it is dropped. Turns of one thread never nest.
pub(super) struct Turn;

impl Turn {
    pub(super) fn begin() -> Self {
        let number = COUNT.get() + 1;
        COUNT.set(number);
        CURRENT.set(Some((Instant::now(), number)));
        Self
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        CURRENT.set(None);
    }
}

/// When the current turn began; the time outside of turns.
pub(super) fn now() -> Instant {
    CURRENT.get().map_or_else(Instant::now, |(began, _)| began)
}

/// The number of the current turn, unique in this thread; `None` outside of turns.
pub(super) fn current_turn() -> Option<u64> {
    CURRENT.get().map(|(_, number)| number)
}

/// hyper's timer on this clock: hyper asks for the time with every frame.
#[derive(Clone, Debug)]
pub(super) struct TurnTimer(TokioTimer);

impl TurnTimer {
    pub(super) fn new() -> Self {
        Self(TokioTimer::new())
    }
}

impl Timer for TurnTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.0.sleep(duration)
    }

    fn sleep_until(&self, deadline: std::time::Instant) -> Pin<Box<dyn Sleep>> {
        self.0.sleep_until(deadline)
    }

    fn now(&self) -> std::time::Instant {
        now().into_std()
    }

    fn reset(&self, sleep: &mut Pin<Box<dyn Sleep>>, new_deadline: std::time::Instant) {
        self.0.reset(sleep, new_deadline);
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn time_stands_still_in_a_turn() {
        let start = Instant::now();
        let turn = Turn::begin();
        advance(Duration::from_secs(1)).await;
        assert_eq!((now(), TurnTimer::new().now()), (start, start.into_std()));
        drop(turn);
        assert_eq!(now(), start + Duration::from_secs(1));
    }
}

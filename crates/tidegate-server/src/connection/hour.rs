//! What time it is in a turn of a connection, and which turn it is: the clock is read once, and not for every frame and every answer.

use std::cell::Cell;
use std::pin::Pin;
use std::time::Duration;

use hyper::rt::{Sleep, Timer};
use hyper_util::rt::TokioTimer;
use tokio::time::Instant;

thread_local! {
    /// The turn that goes on, if one does: when it began, and its number.
    static TURN: Cell<Option<(Instant, u64)>> = const { Cell::new(None) };
    /// How many there were.
    static TURNS: Cell<u64> = const { Cell::new(0) };
}

/// A turn, until it is gone.
pub(super) struct Turn;

impl Turn {
    pub(super) fn begin() -> Self {
        let number = TURNS.get() + 1;
        TURNS.set(number);
        TURN.set(Some((Instant::now(), number)));
        Self
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        TURN.set(None);
    }
}

/// When the turn began, or what time it is outside of turns.
pub(super) fn now() -> Instant {
    TURN.get().map_or_else(Instant::now, |(began, _)| began)
}

/// The number of the turn, which no other of this thread has; `None` outside of turns.
pub(super) fn turn() -> Option<u64> {
    TURN.get().map(|(_, number)| number)
}

/// A timer for a server's library, which notes when it heard of a peer with every frame.
#[derive(Clone, Debug)]
pub(super) struct Hours(TokioTimer);

impl Hours {
    pub(super) fn new() -> Self {
        Self(TokioTimer::new())
    }
}

impl Timer for Hours {
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
    async fn time_stands_still_in_a_turn_and_goes_on_after_it() {
        let start = Instant::now();
        let turn = Turn::begin();
        advance(Duration::from_secs(1)).await;
        assert_eq!((now(), Hours::new().now()), (start, start.into_std()));
        drop(turn);
        assert_eq!(now(), start + Duration::from_secs(1));
    }
}

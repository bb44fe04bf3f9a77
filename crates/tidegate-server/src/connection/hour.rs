//! What time it is in a turn of a connection: the clock is read once, and not for every frame and every answer.

use std::cell::Cell;
use std::pin::Pin;
use std::time::Duration;

use hyper::rt::{Sleep, Timer};
use hyper_util::rt::TokioTimer;
use tokio::time::Instant;

thread_local! {
    /// When the turn began that goes on, if one does.
    static TURN: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// A turn, until it is gone.
pub(super) struct Turn;

impl Turn {
    pub(super) fn begin() -> Self {
        TURN.set(Some(Instant::now()));
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
    TURN.get().unwrap_or_else(Instant::now)
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

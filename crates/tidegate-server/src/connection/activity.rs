//! What goes on in a connection: requests that are not answered yet, and answers that nobody has taken.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// What goes on in a connection.
#[derive(Debug)]
pub(super) struct Activity(Mutex<Recent>);

#[derive(Debug)]
struct Recent {
    /// Requests that are not answered.
    asked: usize,
    /// Answers that are not taken.
    untaken: usize,
    /// How many answers were taken so far.
    taken: u64,
    /// When a request was last answered, or given up.
    last: Instant,
    /// How many answers had been taken, and when, when it was first seen that others wait.
    waits: Option<(u64, Instant)>,
}

impl Activity {
    pub(super) fn new() -> Self {
        Self(Mutex::new(Recent { asked: 0, untaken: 0, taken: 0, last: Instant::now(), waits: None }))
    }

    /// Until when it is not idle; `None` if it is.
    pub(super) fn busy_until(&self, idle: Duration) -> Option<Instant> {
        let recent = self.recent();
        let now = Instant::now();
        let until = if recent.asked > 0 { now + idle } else { recent.last + idle };
        (until > now).then_some(until)
    }

    /// Whether answers wait, and none was taken for so long as far as was seen.
    pub(super) fn is_stuck(&self, patience: Duration) -> bool {
        let mut recent = self.recent();
        let waits = (recent.untaken > 0).then_some(recent.taken);
        match (recent.waits, waits) {
            (Some((before, since)), Some(taken)) if before == taken => since.elapsed() >= patience,
            _ => {
                recent.waits = waits.map(|taken| (taken, Instant::now()));
                false
            }
        }
    }

    fn recent(&self) -> MutexGuard<'_, Recent> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Gives back a request's place when its answer is taken, or its caller is gone.
pub(super) struct UnderWay {
    activity: Arc<Activity>,
    is_answered: bool,
}

impl UnderWay {
    pub(super) fn new(activity: Arc<Activity>) -> Self {
        activity.recent().asked += 1;
        Self { activity, is_answered: false }
    }

    /// It is answered, and the answer is to be taken.
    pub(super) fn answered(mut self) -> Self {
        let mut recent = self.activity.recent();
        recent.settle();
        recent.untaken += 1;
        drop(recent);
        self.is_answered = true;
        self
    }
}

impl Recent {
    fn settle(&mut self) {
        self.asked = self.asked.saturating_sub(1);
        self.last = Instant::now();
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut recent = self.activity.recent();
        if self.is_answered {
            recent.untaken = recent.untaken.saturating_sub(1);
            recent.taken += 1;
        } else {
            recent.settle();
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    const LONG: Duration = Duration::from_secs(10);

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_idle_once_its_last_request_is_long_ago() {
        let activity = Arc::new(Activity::new());
        advance(LONG).await;
        assert_eq!(activity.busy_until(LONG), None);
        let request = UnderWay::new(Arc::clone(&activity));
        advance(LONG * 3).await;
        assert_eq!(activity.busy_until(LONG), Some(Instant::now() + LONG));
        drop(request);
        advance(LONG / 2).await;
        assert_eq!(activity.busy_until(LONG), Some(Instant::now() + LONG / 2));
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_stuck_when_nothing_was_taken_for_long() {
        let activity = Arc::new(Activity::new());
        let asked = || UnderWay::new(Arc::clone(&activity));
        let waiting = asked();
        let (one, other) = (asked().answered(), asked().answered());
        for _ in 0..2 {
            assert!(!activity.is_stuck(LONG), "it was not looked at before");
            advance(LONG / 2).await;
        }
        drop(one);
        assert!(!activity.is_stuck(LONG), "one was taken");
        advance(LONG).await;
        assert!(activity.is_stuck(LONG));
        drop(other);
        advance(LONG * 9).await;
        assert!(!activity.is_stuck(LONG), "whoever is not answered yet has nothing to take");
        drop(waiting);
    }
}

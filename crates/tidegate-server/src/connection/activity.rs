//! What goes on in a connection: requests that are not answered yet, answers that nobody has taken, and those that go on.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::hour;

/// Answers of a connection that may go on at once: whoever watches how the server is, or asks what it knows, needs one.
pub(super) const MOST_STREAMS: usize = 16;

/// What goes on in a connection.
#[derive(Debug)]
pub(super) struct Activity {
    /// Bytes that were sent.
    sent: AtomicU64,
    recent: Mutex<Recent>,
}

#[derive(Debug)]
struct Recent {
    /// Requests that are not answered.
    asked: usize,
    /// Answers, and pieces of those that go on, that nobody has taken: of this age, and of those before it.
    fresh: usize,
    stale: usize,
    /// The number of the age, and when it began.
    age: u64,
    since: Instant,
    /// Answers whose end nobody knows.
    streams: usize,
    /// When a request was last answered, or given up.
    last: Instant,
    /// How much was sent when that was last looked at.
    sent: u64,
}

impl Activity {
    pub(super) fn new() -> Self {
        let now = Instant::now();
        let (asked, fresh, stale, age, streams, sent) = (0, 0, 0, 0, 0, 0);
        let recent = Recent { asked, fresh, stale, age, since: now, streams, last: now, sent };
        Self { sent: AtomicU64::new(0), recent: Mutex::new(recent) }
    }

    /// Until when it is not idle; `None` if it is.
    pub(super) fn busy_until(&self, idle: Duration) -> Option<Instant> {
        let recent = self.recent();
        let now = Instant::now();
        let is_busy = recent.asked + recent.fresh + recent.stale > 0;
        let until = if is_busy { now + idle } else { recent.last + idle };
        (until > now).then_some(until)
    }

    /// Whether there is something to wait for on a connection that is to end: a request that is not answered, or answers of which
    /// anything was sent since this was asked before.
    pub(super) fn goes_on(&self) -> bool {
        let sent = self.sent.load(Relaxed);
        let mut recent = self.recent();
        let moves = std::mem::replace(&mut recent.sent, sent) != sent;
        recent.asked > 0 || moves && recent.fresh + recent.stale > 0
    }

    /// So many bytes were taken by whoever sends them.
    pub(super) fn send(&self, bytes: usize) {
        self.sent.fetch_add(bytes as u64, Relaxed);
    }

    /// When an answer that waits will have been left for so long, if one does. What is there when this is asked is stale, and has so
    /// long from then on, however much else is taken: whoever asks that often knows before it is twice as long.
    pub(super) fn stuck_at(&self, patience: Duration) -> Option<Instant> {
        let (mut recent, now) = (self.recent(), Instant::now());
        if recent.stale == 0 {
            (recent.stale, recent.fresh) = (recent.fresh, 0);
            (recent.age, recent.since) = (recent.age + 1, now);
        }
        (recent.stale > 0).then_some(recent.since + patience)
    }

    fn recent(&self) -> MutexGuard<'_, Recent> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Recent {
    fn settle(&mut self) {
        self.asked = self.asked.saturating_sub(1);
        self.last = hour::now();
    }

    /// One more waits to be taken; its age.
    const fn answer(&mut self) -> u64 {
        self.fresh += 1;
        self.age
    }
}

/// A request that is not answered yet: it is when this is exchanged, and given up when it is gone.
pub(super) struct Asked(Option<Arc<Activity>>);

impl Asked {
    pub(super) fn new(activity: &Arc<Activity>) -> Self {
        activity.recent().asked += 1;
        Self(Some(Arc::clone(activity)))
    }

    /// It is answered, and the answer is to be taken.
    pub(super) fn answered(mut self) -> Option<Untaken> {
        let activity = self.0.take()?;
        let mut recent = activity.recent();
        recent.settle();
        let age = recent.answer();
        drop(recent);
        Some(Untaken { activity, age })
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        if let Some(activity) = &self.0 {
            activity.recent().settle();
        }
    }
}

/// Something that was answered and waits to be taken, until it is gone.
pub(super) struct Untaken {
    activity: Arc<Activity>,
    age: u64,
}

impl Drop for Untaken {
    fn drop(&mut self) {
        let mut recent = self.activity.recent();
        let of_its_age = if self.age == recent.age { &mut recent.fresh } else { &mut recent.stale };
        *of_its_age = of_its_age.saturating_sub(1);
    }
}

/// A place for an answer whose end nobody knows.
pub(super) struct Stream(Arc<Activity>);

impl Stream {
    /// `None` if there are as many as there may be.
    pub(super) fn open(activity: &Arc<Activity>) -> Option<Self> {
        let mut recent = activity.recent();
        if recent.streams == MOST_STREAMS {
            return None;
        }
        recent.streams += 1;
        Some(Self(Arc::clone(activity)))
    }

    /// Something more of it waits to be taken.
    pub(super) fn more(&self) -> Untaken {
        let age = self.0.recent().answer();
        Untaken { activity: Arc::clone(&self.0), age }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let mut recent = self.0.recent();
        recent.streams = recent.streams.saturating_sub(1);
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
        let request = Asked::new(&activity);
        advance(LONG * 3).await;
        assert_eq!(activity.busy_until(LONG), Some(Instant::now() + LONG));
        drop(request);
        advance(LONG / 2).await;
        assert_eq!(activity.busy_until(LONG), Some(Instant::now() + LONG / 2));
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_stuck_when_an_answer_was_not_taken_for_long_whatever_else_was() {
        let activity = Arc::new(Activity::new());
        let waiting = Asked::new(&activity);
        let answered = || Asked::new(&activity).answered().unwrap();
        let (one, other) = (answered(), answered());
        let long_after = Instant::now() + LONG;
        assert_eq!(activity.stuck_at(LONG), Some(long_after));
        drop(one);
        for _ in 0..3 {
            advance(LONG / 3).await;
            drop(answered());
            assert_eq!(activity.stuck_at(LONG), Some(long_after), "others were taken");
        }
        drop(other);
        for _ in 0..9 {
            advance(LONG).await;
            assert_eq!(activity.stuck_at(LONG), None, "whoever is not answered yet has nothing to take");
        }
        drop(waiting);
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_takes_answers_in_time_is_not_stuck_however_many_wait() {
        let activity = Arc::new(Activity::new());
        let answered = || Asked::new(&activity).answered().unwrap();
        let mut waiting = std::collections::VecDeque::from([answered(), answered()]);
        for _ in 0..20 {
            assert!(activity.stuck_at(LONG).unwrap() > Instant::now());
            advance(LONG / 4).await;
            waiting.push_back(answered());
            waiting.pop_front();
        }
        assert!(activity.busy_until(LONG).is_some());
        waiting.clear();
        let recent = activity.recent();
        assert_eq!((recent.fresh, recent.stale), (0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_goes_on_is_stuck_only_while_there_is_something_to_take() {
        let activity = Arc::new(Activity::new());
        let watching = Stream::open(&activity).unwrap();
        for _ in 0..3 {
            assert_eq!(activity.stuck_at(LONG), None, "there is nothing to take");
            advance(LONG).await;
        }
        let piece = watching.more();
        assert_eq!(activity.stuck_at(LONG), Some(Instant::now() + LONG));
        advance(LONG).await;
        assert_eq!(activity.stuck_at(LONG), Some(Instant::now()));
        drop(piece);
        assert_eq!(activity.stuck_at(LONG), None);
    }

    #[test]
    fn what_ends_waits_for_requests_and_for_answers_of_which_something_is_sent() {
        let activity = Arc::new(Activity::new());
        let asked = Asked::new(&activity);
        assert!(activity.goes_on() && activity.goes_on(), "it is not answered");
        let untaken = asked.answered().unwrap();
        assert!(!activity.goes_on());
        activity.send(1);
        assert!(activity.goes_on() && !activity.goes_on(), "nothing more of it was sent");
        drop(untaken);
        activity.send(1);
        assert!(!activity.goes_on(), "nobody waits for that");
    }

    #[tokio::test]
    async fn so_many_answers_go_on_and_no_more() {
        let activity = Arc::new(Activity::new());
        let mut streams: Vec<_> = (0..MOST_STREAMS).map(|_| Stream::open(&activity).unwrap()).collect();
        assert!(Stream::open(&activity).is_none());
        streams.pop();
        let next = Stream::open(&activity);
        assert!(next.is_some() && Stream::open(&activity).is_none(), "one has ended");
    }
}

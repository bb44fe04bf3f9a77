//! What is under way on a connection: requests without an answer, answers that the peer has not read,
//! and streams.
//!
//! The connection loop asks three questions: is it idle ([`ConnectionActivity::busy_until`]), is it
//! stuck ([`ConnectionActivity::stuck_at`]), and, once it is closing, is it worth waiting for
//! ([`ConnectionActivity::is_progressing`]).

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The most streams (answers without a known end) at once on one connection.
pub const MAX_STREAMS: usize = 16;

/// Bytes that a connection reads in one turn. A peer that never pauses gets no more than others.
pub(super) const MAX_READ_PER_TURN: usize = 64 << 10;

/// What is under way on a connection.
#[derive(Debug)]
pub(super) struct ConnectionActivity {
    /// Bytes that the socket has taken.
    sent: AtomicU64,
    /// Bytes that may still be read in this turn of the connection.
    read_allowance: AtomicUsize,
    state: Mutex<ActivityState>,
}

/// Unsent answers belong to a generation. Invariant: all of `stale` are older than
/// `generation_start`, and a new generation starts only when `stale` is zero. A stuck answer is thus
/// found after at most two timeouts, however many other answers the peer reads.
#[derive(Debug)]
struct ActivityState {
    /// Requests without an answer.
    open_requests: usize,
    /// Unsent answers of this generation, and of those before.
    fresh: usize,
    stale: usize,
    generation: u64,
    generation_start: Instant,
    /// Streams that are open.
    streams: usize,
    /// When a request was last answered or given up.
    last_request_end: Instant,
    /// The bytes that were sent when [`ConnectionActivity::is_progressing`] last looked.
    sent_before: u64,
}

impl ConnectionActivity {
    pub(super) fn new() -> Self {
        let now = Instant::now();
        let state = ActivityState {
            open_requests: 0,
            fresh: 0,
            stale: 0,
            generation: 0,
            generation_start: now,
            streams: 0,
            last_request_end: now,
            sent_before: 0,
        };
        Self {
            sent: AtomicU64::new(0),
            read_allowance: AtomicUsize::new(MAX_READ_PER_TURN),
            state: Mutex::new(state),
        }
    }

    /// A turn of the connection begins: it may read again.
    pub(super) fn begin_turn(&self) {
        self.read_allowance.store(MAX_READ_PER_TURN, Relaxed);
    }

    /// Whether the connection may read more in this turn.
    pub(super) fn may_read(&self) -> bool {
        self.read_allowance.load(Relaxed) > 0
    }

    pub(super) fn note_read(&self, bytes: usize) {
        let left = self.read_allowance.load(Relaxed);
        self.read_allowance.store(left.saturating_sub(bytes), Relaxed);
    }

    /// When the connection will have been idle for `idle`; `None` if it has been.
    pub(super) fn busy_until(&self, idle: Duration) -> Option<Instant> {
        let state = self.lock();
        let now = Instant::now();
        let is_busy = state.open_requests + state.fresh + state.stale > 0;
        let until = if is_busy { now + idle } else { state.last_request_end + idle };
        (until > now).then_some(until)
    }

    /// Whether a closing connection is worth waiting for: it has a request without an answer, or
    /// answers of which bytes were sent since the last call.
    pub(super) fn is_progressing(&self) -> bool {
        let sent = self.sent.load(Relaxed);
        let mut state = self.lock();
        let moves = std::mem::replace(&mut state.sent_before, sent) != sent;
        state.open_requests > 0 || moves && state.fresh + state.stale > 0
    }

    /// Notes bytes that the socket has taken.
    pub(super) fn note_sent(&self, bytes: usize) {
        self.sent.fetch_add(bytes as u64, Relaxed);
    }

    /// When an answer that is unsent now will have been so for `patience`; `None` if none is.
    ///
    /// Answers are counted from the first call that sees them. A caller that asks every `patience`
    /// finds a stuck answer before it is twice as old.
    pub(super) fn stuck_at(&self, patience: Duration) -> Option<Instant> {
        let (mut state, now) = (self.lock(), Instant::now());
        if state.stale == 0 {
            (state.stale, state.fresh) = (state.fresh, 0);
            (state.generation, state.generation_start) = (state.generation + 1, now);
        }
        (state.stale > 0).then_some(state.generation_start + patience)
    }

    fn lock(&self) -> MutexGuard<'_, ActivityState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ActivityState {
    fn end_request(&mut self) {
        self.open_requests = self.open_requests.saturating_sub(1);
        self.last_request_end = Instant::now();
    }

    /// One more unsent answer; its generation.
    const fn add_unsent(&mut self) -> u64 {
        self.fresh += 1;
        self.generation
    }
}

/// A request without an answer: [`answered`](Self::answered) ends it, and so does dropping it.
pub(super) struct OpenRequest(Option<Arc<ConnectionActivity>>);

impl OpenRequest {
    pub(super) fn new(activity: &Arc<ConnectionActivity>) -> Self {
        activity.lock().open_requests += 1;
        Self(Some(Arc::clone(activity)))
    }

    /// Exchanges the request for its unsent answer, in one step: in between the connection would look
    /// idle.
    pub(super) fn answered(mut self) -> Option<UnsentAnswer> {
        let activity = self.0.take()?;
        let mut state = activity.lock();
        state.end_request();
        let generation = state.add_unsent();
        drop(state);
        Some(UnsentAnswer { activity, generation })
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        if let Some(activity) = &self.0 {
            activity.lock().end_request();
        }
    }
}

/// An answer, or a frame of a stream, that is not sent until this is dropped.
pub(super) struct UnsentAnswer {
    activity: Arc<ConnectionActivity>,
    generation: u64,
}

impl Drop for UnsentAnswer {
    fn drop(&mut self) {
        let mut state = self.activity.lock();
        let count = if self.generation == state.generation { &mut state.fresh } else { &mut state.stale };
        *count = count.saturating_sub(1);
    }
}

/// A permit for one stream, until it is dropped.
pub(super) struct StreamPermit(Arc<ConnectionActivity>);

impl StreamPermit {
    /// `None` if [`MAX_STREAMS`] are open.
    pub(super) fn acquire(activity: &Arc<ConnectionActivity>) -> Option<Self> {
        let mut state = activity.lock();
        if state.streams == MAX_STREAMS {
            return None;
        }
        state.streams += 1;
        Some(Self(Arc::clone(activity)))
    }

    /// Another frame to be sent.
    pub(super) fn frame(&self) -> UnsentAnswer {
        let generation = self.0.lock().add_unsent();
        UnsentAnswer { activity: Arc::clone(&self.0), generation }
    }
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.streams = state.streams.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    const LONG: Duration = Duration::from_secs(10);

    fn activity() -> Arc<ConnectionActivity> {
        Arc::new(ConnectionActivity::new())
    }

    #[tokio::test(start_paused = true)]
    async fn idle_time_counts_from_the_last_request() {
        let activity = activity();
        advance(LONG).await;
        assert_eq!(activity.busy_until(LONG), None);
        let request = OpenRequest::new(&activity);
        advance(LONG * 3).await;
        assert_eq!(activity.busy_until(LONG), Some(Instant::now() + LONG));
        drop(request);
        advance(LONG / 2).await;
        assert_eq!(activity.busy_until(LONG), Some(Instant::now() + LONG / 2));
    }

    #[tokio::test(start_paused = true)]
    async fn one_unread_answer_makes_it_stuck() {
        let activity = activity();
        let waiting = OpenRequest::new(&activity);
        let answered = || OpenRequest::new(&activity).answered().unwrap();
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
            assert_eq!(activity.stuck_at(LONG), None, "a request without an answer has nothing to take");
        }
        drop(waiting);
    }

    #[tokio::test(start_paused = true)]
    async fn a_steady_reader_is_never_stuck() {
        let activity = activity();
        let answered = || OpenRequest::new(&activity).answered().unwrap();
        let mut unsent = std::collections::VecDeque::from([answered(), answered()]);
        for _ in 0..20 {
            assert!(activity.stuck_at(LONG).unwrap() > Instant::now());
            advance(LONG / 4).await;
            unsent.push_back(answered());
            unsent.pop_front();
        }
        assert!(activity.busy_until(LONG).is_some());
        unsent.clear();
        let state = activity.lock();
        assert_eq!((state.fresh, state.stale), (0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_stream_is_not_stuck() {
        let activity = activity();
        let stream = StreamPermit::acquire(&activity).unwrap();
        for _ in 0..3 {
            assert_eq!(activity.stuck_at(LONG), None, "there is nothing to take");
            advance(LONG).await;
        }
        let frame = stream.frame();
        assert_eq!(activity.stuck_at(LONG), Some(Instant::now() + LONG));
        advance(LONG).await;
        assert_eq!(activity.stuck_at(LONG), Some(Instant::now()));
        drop(frame);
        assert_eq!(activity.stuck_at(LONG), None);
    }

    #[test]
    fn closing_waits_for_requests_and_progress() {
        let activity = activity();
        let request = OpenRequest::new(&activity);
        assert!(activity.is_progressing() && activity.is_progressing(), "it is not answered");
        let unsent = request.answered().unwrap();
        assert!(!activity.is_progressing());
        activity.note_sent(1);
        assert!(activity.is_progressing() && !activity.is_progressing(), "nothing more of it was sent");
        drop(unsent);
        activity.note_sent(1);
        assert!(!activity.is_progressing(), "no answer is left");
    }

    #[tokio::test]
    async fn limits_open_streams() {
        let activity = activity();
        let acquire = || StreamPermit::acquire(&activity);
        let mut streams: Vec<_> = (0..MAX_STREAMS).map(|_| acquire().unwrap()).collect();
        assert!(acquire().is_none());
        streams.pop();
        let next = acquire();
        assert!(next.is_some() && acquire().is_none(), "one has ended");
    }
}

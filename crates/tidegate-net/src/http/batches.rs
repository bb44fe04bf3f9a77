//! Requests that arrive together over HTTP/2 are started and answered together.
//!
//! In one turn a connection reads what has arrived and starts the requests; in the next it sends all
//! answers that were ready at once. Only a request that has to wait gets a task of its own. Between
//! turns other connections run, so that one connection never holds up a core.
//!
//! Only HTTP/2 hands requests to this executor. Over HTTP/1.1 hyper answers one request after
//! another; a turn then only bounds reads.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use hyper::rt::Executor;

use crate::deadline::catch_panic;

/// The most requests that are started in one turn.
const MAX_PER_TURN: usize = 32;
/// The capacity that the queue keeps between turns.
const KEPT_CAPACITY: usize = 256;

type Request = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Requests that have arrived and are not started. Clones share the queue.
#[derive(Clone, Default)]
pub(super) struct PendingRequests(Arc<Mutex<VecDeque<Request>>>);

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for PendingRequests {
    fn execute(&self, request: F) {
        self.lock().push_back(Box::pin(request));
    }
}

impl PendingRequests {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Request>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The turns of a connection.
pub(super) struct RequestBatches {
    arrived: PendingRequests,
    /// Requests to be started, in order. Kept between turns for its capacity.
    queue: VecDeque<Request>,
}

impl RequestBatches {
    pub(super) fn new(arrived: PendingRequests) -> Self {
        Self { arrived, queue: VecDeque::new() }
    }

    /// One turn: polls the connection, then starts what has arrived.
    ///
    /// Invariant: while requests are queued, the connection is not polled, so it reads nothing. A peer
    /// that resets its streams and opens new ones could otherwise queue without bound.
    pub(super) fn poll<C: Future>(
        &mut self,
        connection: Pin<&mut C>,
        context: &mut Context<'_>,
    ) -> Poll<C::Output> {
        let reads = self.queue.is_empty();
        let ended = if reads { connection.poll(context) } else { Poll::Pending };
        // Wakes itself if requests remain, or if the connection was not polled: the wake-up that
        // caused this turn may have been for bytes to read.
        if self.start_requests() || !reads {
            context.waker().wake_by_ref();
        }
        ended
    }

    /// Polls requests once each; those that wait become tasks. Returns whether more are queued. An
    /// answer that is ready wakes the connection, which sends it in its next turn.
    fn start_requests(&mut self) -> bool {
        self.queue.append(&mut self.arrived.lock());
        for mut request in self.queue.drain(..self.queue.len().min(MAX_PER_TURN)) {
            // The task polls a waiting request again, which registers the waker that counts.
            let polled = catch_panic(|| request.as_mut().poll(&mut Context::from_waker(Waker::noop())));
            if polled == Ok(Poll::Pending) {
                tokio::spawn(request);
            }
        }
        if self.queue.is_empty() {
            self.queue.shrink_to(KEPT_CAPACITY);
        }
        !self.queue.is_empty()
    }
}

/// Breaks the cycle of a request that holds a clone of the queue that it is in.
impl Drop for RequestBatches {
    fn drop(&mut self) {
        let arrived = std::mem::take(&mut *self.arrived.lock());
        drop(arrived);
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, poll_fn, ready};
    use std::pin::pin;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;

    /// Counts wake-ups.
    #[derive(Default)]
    struct WakeCount(AtomicUsize);

    impl Wake for WakeCount {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// One turn of a connection that does this whenever it is polled; how often the turn woke it.
    fn turn(batches: &mut RequestBatches, mut on_poll: impl FnMut()) -> usize {
        let wakes = Arc::new(WakeCount::default());
        let waker = Waker::from(Arc::clone(&wakes));
        let connection = pin!(poll_fn(|_| {
            on_poll();
            Poll::<()>::Pending
        }));
        assert!(batches.poll(connection, &mut Context::from_waker(&waker)).is_pending());
        wakes.0.load(Ordering::SeqCst)
    }

    #[test]
    fn a_turn_starts_a_bounded_batch() {
        let (arrived, answered) = (PendingRequests::default(), Arc::new(AtomicUsize::new(0)));
        let mut batches = RequestBatches::new(arrived.clone());
        let arrive = |count: usize| {
            for _ in 0..count {
                let answered = Arc::clone(&answered);
                arrived.execute(async move {
                    answered.fetch_add(1, Ordering::SeqCst);
                });
            }
        };
        let mut check = |arriving: usize, expected: (usize, usize)| {
            let wakes = turn(&mut batches, || arrive(arriving));
            assert_eq!((answered.load(Ordering::SeqCst), wakes), expected);
        };
        check(3, (3, 0));
        check(MAX_PER_TURN + 2, (3 + MAX_PER_TURN, 1));
        // Nothing is read in this turn, but in the next.
        check(1, (5 + MAX_PER_TURN, 1));
        check(1, (6 + MAX_PER_TURN, 0));
        check(0, (6 + MAX_PER_TURN, 0));
    }

    #[test]
    fn the_queue_is_bounded_by_one_read() {
        let arrived = PendingRequests::default();
        let mut batches = RequestBatches::new(arrived.clone());
        for _ in 0..1000 {
            turn(&mut batches, || (0..256).for_each(|_| arrived.execute(async {})));
            assert!(batches.queue.len() <= 256, "{} wait", batches.queue.len());
        }
    }

    #[test]
    fn queued_requests_drop_with_their_connection() {
        let (arrived, here) = (PendingRequests::default(), Arc::new(()));
        let (batches, list, there) =
            (RequestBatches::new(arrived.clone()), arrived.clone(), Arc::clone(&here));
        arrived.execute(async move { drop((list, there)) });
        drop((batches, arrived));
        assert_eq!(Arc::strong_count(&here), 1);
    }

    #[test]
    fn a_panic_leaves_other_requests_alone() {
        let (arrived, answered) = (PendingRequests::default(), Arc::new(AtomicUsize::new(0)));
        let mut batches = RequestBatches::new(arrived.clone());
        arrived.execute(async { panic!("on purpose") });
        let others = Arc::clone(&answered);
        arrived.execute(async move { others.store(1, Ordering::SeqCst) });
        turn(&mut batches, || {});
        assert_eq!(answered.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn waiting_requests_outlive_their_connection() {
        let (arrived, (sender, receiver)) =
            (PendingRequests::default(), tokio::sync::oneshot::channel::<u8>());
        let (answer, answered) = tokio::sync::oneshot::channel();
        let mut batches = RequestBatches::new(arrived.clone());
        arrived.execute(async move { answer.send(receiver.await).unwrap_or_default() });
        arrived.execute(pending());
        // The connection ends at once.
        assert!(batches.poll(pin!(ready(())), &mut Context::from_waker(Waker::noop())).is_ready());
        sender.send(7).unwrap();
        assert_eq!(answered.await.unwrap(), Ok(7));
    }
}

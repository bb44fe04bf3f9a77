//! Turns of a connection that brings several requests at once: in one it reads what has come and answers what can be answered at once, and
//! in the next it sends all of that together. Only requests that have to wait get tasks of their own, and others have their turns in
//! between, however many come.
//!
//! Only HTTP/2 hands requests over to be begun here. Over HTTP/1.1 hyper answers them itself, one after another: a turn then only
//! bounds what is read and holds the clock.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use hyper::rt::Executor;

use super::hour::Turn;
use crate::guarded::at_once;

/// The most requests that are begun in one turn.
const MOST_PER_TURN: usize = 32;
/// Places that are kept for requests from one turn to the next.
const KEPT_PLACES: usize = 256;

type Request = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Requests that have come and were not begun yet. Clones are the same.
#[derive(Clone, Default)]
pub(super) struct Came(Arc<Mutex<VecDeque<Request>>>);

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for Came {
    fn execute(&self, request: F) {
        self.lock().push_back(Box::pin(request));
    }
}

impl Came {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Request>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The turns of a connection.
pub(super) struct Turns {
    came: Came,
    /// Those whose turn it is: a list that is kept for the next time.
    next: VecDeque<Request>,
}

impl Turns {
    pub(super) fn new(came: Came) -> Self {
        Self { came, next: VecDeque::new() }
    }

    /// Reads and sends, and answers what was read. That is sent in the next turn, after those of all others who have something to read:
    /// who is answered earlier asks earlier, and fewer requests come together. As long as requests wait for their turn, nothing more is
    /// read: whoever takes requests back could bring others in their place, and more of them than are ever begun.
    pub(super) fn poll<C: Future>(
        &mut self,
        connection: Pin<&mut C>,
        context: &mut Context<'_>,
    ) -> Poll<C::Output> {
        let _turn = Turn::begin();
        let reads = self.next.is_empty();
        let ended = if reads { connection.poll(context) } else { Poll::Pending };
        // What woke it may have been something to read.
        if self.begin() || !reads {
            context.waker().wake_by_ref();
        }
        ended
    }

    /// Answers what can be answered at once, and lets the rest go its own way. Whether there are more; whoever was answered
    /// wakes the connection by that.
    fn begin(&mut self) -> bool {
        self.next.append(&mut self.came.lock());
        for mut request in self.next.drain(..self.next.len().min(MOST_PER_TURN)) {
            // Whoever has to wait is polled again by its task, and says then by what it wants to be woken.
            let begun = at_once(|| request.as_mut().poll(&mut Context::from_waker(Waker::noop())));
            if begun == Ok(Poll::Pending) {
                tokio::spawn(request);
            }
        }
        if self.next.is_empty() {
            self.next.shrink_to(KEPT_PLACES);
        }
        !self.next.is_empty()
    }
}

/// Requests have hold of the list that they are in.
impl Drop for Turns {
    fn drop(&mut self) {
        let came = std::mem::take(&mut *self.came.lock());
        drop(came);
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, poll_fn, ready};
    use std::pin::pin;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;

    /// Counts how often somebody is woken.
    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// A turn of a connection that does this each time it is polled, and never ends; and how often it was woken for it.
    fn turn(turns: &mut Turns, does: impl FnMut()) -> usize {
        let woken = Arc::new(Woken::default());
        let (waker, mut does) = (Waker::from(Arc::clone(&woken)), does);
        let connection = pin!(poll_fn(|_| {
            does();
            Poll::<()>::Pending
        }));
        assert!(turns.poll(connection, &mut Context::from_waker(&waker)).is_pending());
        woken.0.load(Ordering::SeqCst)
    }

    #[test]
    fn what_came_is_answered_together_and_others_have_their_turns_before_too_much_is() {
        let (came, answered) = (Came::default(), Arc::new(AtomicUsize::new(0)));
        let mut turns = Turns::new(came.clone());
        let come = |count: usize| {
            for _ in 0..count {
                let answered = Arc::clone(&answered);
                came.execute(async move {
                    answered.fetch_add(1, Ordering::SeqCst);
                });
            }
        };
        let mut check = |comes: usize, expected: (usize, usize)| {
            let woken = turn(&mut turns, || come(comes));
            assert_eq!((answered.load(Ordering::SeqCst), woken), expected);
        };
        check(3, (3, 0));
        check(MOST_PER_TURN + 2, (3 + MOST_PER_TURN, 1));
        // Nothing is read meanwhile, but then again.
        check(1, (5 + MOST_PER_TURN, 1));
        check(1, (6 + MOST_PER_TURN, 0));
        check(0, (6 + MOST_PER_TURN, 0));
    }

    #[test]
    fn however_many_come_in_each_turn_no_more_wait_than_came_in_one() {
        let came = Came::default();
        let mut turns = Turns::new(came.clone());
        for _ in 0..1000 {
            turn(&mut turns, || (0..256).for_each(|_| came.execute(async {})));
            assert!(turns.next.len() <= 256, "{} wait", turns.next.len());
        }
    }

    #[test]
    fn requests_that_were_not_begun_go_with_their_connection() {
        let (came, here) = (Came::default(), Arc::new(()));
        let (turns, list, there) = (Turns::new(came.clone()), came.clone(), Arc::clone(&here));
        came.execute(async move { drop((list, there)) });
        drop((turns, came));
        assert_eq!(Arc::strong_count(&here), 1);
    }

    #[test]
    fn whatever_breaks_breaks_nothing_else() {
        let (came, answered) = (Came::default(), Arc::new(AtomicUsize::new(0)));
        let mut turns = Turns::new(came.clone());
        came.execute(async { panic!("on purpose") });
        let others = Arc::clone(&answered);
        came.execute(async move { others.store(1, Ordering::SeqCst) });
        turn(&mut turns, || {});
        assert_eq!(answered.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn what_waits_and_what_came_last_is_not_lost() {
        let (came, (sent, answer)) = (Came::default(), tokio::sync::oneshot::channel::<u8>());
        let (told, heard) = tokio::sync::oneshot::channel();
        let mut turns = Turns::new(came.clone());
        came.execute(async move { told.send(answer.await).unwrap_or_default() });
        came.execute(pending());
        // Its connection ends at once.
        assert!(turns.poll(pin!(ready(())), &mut Context::from_waker(Waker::noop())).is_ready());
        sent.send(7).unwrap();
        assert_eq!(heard.await.unwrap(), Ok(7));
    }
}

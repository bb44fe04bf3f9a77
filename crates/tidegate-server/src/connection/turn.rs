//! Turns of a connection that brings several requests at once: in one it reads what has come and answers what can be answered at once, and
//! in the next it sends all of that together. Only requests that have to wait get tasks of their own.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use hyper::rt::Executor;

use crate::guarded::at_once;

type Request = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Requests that have come and were not begun yet. Clones are the same.
#[derive(Clone, Default)]
pub(super) struct Came(Arc<Mutex<Vec<Request>>>);

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for Came {
    fn execute(&self, request: F) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Box::pin(request));
    }
}

/// The turns of a connection.
pub(super) struct Turns {
    came: Came,
    /// Those that are being begun: a list that is kept for the next time.
    begun: Vec<Request>,
}

impl Turns {
    pub(super) fn new(came: Came) -> Self {
        Self { came, begun: Vec::new() }
    }

    /// Reads and sends, and answers what was read. That is sent in the next turn, after those of all others who have something to read:
    /// who is answered earlier asks earlier, and fewer requests come together.
    pub(super) fn poll<C: Future>(
        &mut self,
        connection: Pin<&mut C>,
        context: &mut Context<'_>,
    ) -> Poll<C::Output> {
        let ended = connection.poll(context);
        if self.begin() {
            context.waker().wake_by_ref();
        }
        ended
    }

    /// Answers what can be answered at once, and lets the rest go its own way. Whether there was anything.
    fn begin(&mut self) -> bool {
        std::mem::swap(&mut *self.came.0.lock().unwrap_or_else(PoisonError::into_inner), &mut self.begun);
        let any = !self.begun.is_empty();
        for mut request in self.begun.drain(..) {
            // Whoever has to wait is polled again by its task, and says then by what it wants to be woken.
            let begun = at_once(|| request.as_mut().poll(&mut Context::from_waker(Waker::noop())));
            if begun == Ok(Poll::Pending) {
                tokio::spawn(request);
            }
        }
        any
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
    fn what_came_is_answered_together_and_the_connection_has_another_turn_for_it() {
        let (came, answered) = (Came::default(), Arc::new(AtomicUsize::new(0)));
        let mut turns = Turns::new(came.clone());
        let woken = turn(&mut turns, || {
            for _ in 0..3 {
                let answered = Arc::clone(&answered);
                came.execute(async move {
                    answered.fetch_add(1, Ordering::SeqCst);
                });
            }
        });
        assert_eq!((answered.load(Ordering::SeqCst), woken), (3, 1));
        assert_eq!(turn(&mut turns, || {}), 0);
    }

    #[test]
    fn whatever_breaks_breaks_nothing_else() {
        let (came, answered) = (Came::default(), Arc::new(AtomicUsize::new(0)));
        let mut turns = Turns::new(came.clone());
        came.execute(async { panic!("on purpose") });
        let others = Arc::clone(&answered);
        came.execute(async move { others.store(1, Ordering::SeqCst) });
        assert_eq!(turn(&mut turns, || {}), 1);
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

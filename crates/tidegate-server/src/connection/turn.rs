//! A turn of a connection that brings several requests at once: it reads what has come, answers what can be answered at once, and sends
//! all of that together. Only requests that have to wait get tasks of their own.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

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
    call: Option<(Arc<Call>, Waker)>,
}

impl Turns {
    pub(super) fn new(came: Came) -> Self {
        Self { came, begun: Vec::new(), call: None }
    }

    pub(super) fn poll<C: Future>(
        &mut self,
        mut connection: Pin<&mut C>,
        context: &Context<'_>,
    ) -> Poll<C::Output> {
        let (call, waker) = match self.call.take().filter(|(call, _)| call.sleeper.will_wake(context.waker()))
        {
            Some(call) => call,
            None => Call::new(context.waker()),
        };
        call.state.store(UP, Ordering::SeqCst);
        let mut ended = connection.as_mut().poll(&mut Context::from_waker(&waker));
        if self.begin() && ended.is_pending() {
            // Whoever was begun called for what is done now.
            call.state.store(UP, Ordering::SeqCst);
            ended = connection.as_mut().poll(&mut Context::from_waker(&waker));
            if self.begin() {
                call.sleeper.wake_by_ref();
            }
        }
        if call.state.swap(ASLEEP, Ordering::SeqCst) == CALLED {
            call.sleeper.wake_by_ref();
        }
        self.call = Some((call, waker));
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

const ASLEEP: u8 = 0;
/// It is its turn.
const UP: u8 = 1;
/// The same, and it was called meanwhile.
const CALLED: u8 = 2;

/// Calls a connection: one whose turn it is need not be woken for what is done in that turn anyway.
struct Call {
    state: AtomicU8,
    sleeper: Waker,
}

impl Call {
    fn new(sleeper: &Waker) -> (Arc<Self>, Waker) {
        let call = Arc::new(Self { state: AtomicU8::new(ASLEEP), sleeper: sleeper.clone() });
        (Arc::clone(&call), Waker::from(call))
    }
}

impl Wake for Call {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let called = self.state.compare_exchange(UP, CALLED, Ordering::SeqCst, Ordering::SeqCst);
        if called == Err(ASLEEP) {
            self.sleeper.wake_by_ref();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, poll_fn, ready};
    use std::pin::pin;
    use std::sync::atomic::AtomicUsize;

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
    fn turn(turns: &mut Turns, does: impl FnMut(&mut Context<'_>)) -> usize {
        let woken = Arc::new(Woken::default());
        let (waker, mut does) = (Waker::from(Arc::clone(&woken)), does);
        let connection = pin!(poll_fn(|context| {
            does(context);
            Poll::<()>::Pending
        }));
        assert!(turns.poll(connection, &Context::from_waker(&waker)).is_pending());
        woken.0.load(Ordering::SeqCst)
    }

    #[test]
    fn a_connection_is_polled_again_once_for_all_that_it_brought() {
        let (came, mut polled, answered) = (Came::default(), 0, Arc::new(AtomicUsize::new(0)));
        let mut turns = Turns::new(came.clone());
        let woken = turn(&mut turns, |context| {
            polled += 1;
            for _ in 0..if polled == 1 { 3 } else { 0 } {
                let (answered, waker) = (Arc::clone(&answered), context.waker().clone());
                came.execute(async move {
                    answered.fetch_add(1, Ordering::SeqCst);
                    waker.wake();
                });
            }
        });
        assert_eq!((polled, answered.load(Ordering::SeqCst), woken), (2, 3, 0));
        // With nothing to answer, once.
        let mut polled = 0;
        assert_eq!(turn(&mut turns, |_| polled += 1), 0);
        assert_eq!(polled, 1);
    }

    #[test]
    fn whoever_calls_in_its_last_poll_or_later_wakes_it() {
        let (came, mut waker) = (Came::default(), None);
        let mut turns = Turns::new(came.clone());
        let woken = turn(&mut turns, |context| {
            context.waker().wake_by_ref();
            waker = Some(context.waker().clone());
        });
        assert_eq!(woken, 1);
        let woken = Arc::new(Woken::default());
        let own = Waker::from(Arc::clone(&woken));
        let mut waker = None;
        let connection = pin!(poll_fn(|context| {
            waker = Some(context.waker().clone());
            Poll::<()>::Pending
        }));
        assert!(turns.poll(connection, &Context::from_waker(&own)).is_pending());
        assert_eq!(woken.0.load(Ordering::SeqCst), 0);
        waker.unwrap().wake();
        assert_eq!(woken.0.load(Ordering::SeqCst), 1);
        // What comes while answers are sent is begun, and sent in the next turn.
        assert_eq!(turn(&mut turns, |_| came.execute(ready(()))), 1);
    }

    #[test]
    fn whatever_breaks_breaks_nothing_else() {
        let (came, answered) = (Came::default(), Arc::new(AtomicUsize::new(0)));
        let mut turns = Turns::new(came.clone());
        came.execute(async { panic!("on purpose") });
        let others = Arc::clone(&answered);
        came.execute(async move { others.store(1, Ordering::SeqCst) });
        assert_eq!(turn(&mut turns, |_| {}), 0);
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
        assert!(turns.poll(pin!(ready(())), &Context::from_waker(Waker::noop())).is_ready());
        sent.send(7).unwrap();
        assert_eq!(heard.await.unwrap(), Ok(7));
    }
}

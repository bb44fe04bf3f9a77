//! A call of the store that runs to its end even if its caller is gone, so that nothing is charged and then forgotten.

use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use tidegate_core::{Plan, Timestamp};
use tidegate_store::{Answer, Hold, Store, StoreError};
use tokio::runtime::Handle;

use crate::contain::{contain, contained};

/// What the store is asked about a plan.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Inquiry {
    Decide,
    Read,
    Reserve(Hold),
}

/// The plan comes back with the answer.
type Running = Pin<Box<dyn Future<Output = (Plan, Result<Answer, StoreError>)> + Send>>;

/// A call under way. Dropped before its end, the rest becomes a task that gives back what the call took.
pub(crate) struct StoreCall<S: Store> {
    store: Arc<S>,
    inquiry: Inquiry,
    now: Timestamp,
    running: Option<Running>,
}

impl<S: Store> StoreCall<S> {
    pub(crate) fn new(store: &Arc<S>, inquiry: Inquiry, plan: Plan, now: Timestamp) -> Self {
        let called = Arc::clone(store);
        let running = async move {
            // The future is made inside of the block, so that a panic on the way there is contained as well.
            let answer = contained(async { inquiry.ask(&*called, &plan, now).await }).await;
            (plan, answer.unwrap_or(Err(StoreError::Panicked)))
        };
        Self { store: Arc::clone(store), inquiry, now, running: Some(Box::pin(running)) }
    }
}

impl Inquiry {
    async fn ask<S: Store>(self, store: &S, plan: &Plan, now: Timestamp) -> Result<Answer, StoreError> {
        match self {
            Self::Decide => store.decide(plan, now).await,
            Self::Read => store.read(plan, now).await,
            Self::Reserve(hold) => store.reserve(plan, hold, now).await,
        }
    }
}

impl<S: Store> Future for StoreCall<S> {
    type Output = (Plan, Result<Answer, StoreError>);

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let running = self.running.as_mut().expect("a call is not polled after its end");
        let answered = ready!(running.as_mut().poll(context));
        self.running = None;
        Poll::Ready(answered)
    }
}

impl<S: Store> Drop for StoreCall<S> {
    fn drop(&mut self) {
        let Some(running) = mem::take(&mut self.running) else { return };
        let (store, inquiry, now) = (Arc::clone(&self.store), self.inquiry, self.now);
        detach(async move {
            let (plan, Ok(answer)) = running.await else { return };
            if answer.allowed() && !answer.replayed {
                give_back_slots(&*store, inquiry, &plan, now).await;
            }
        });
    }
}

/// Units stay charged, since the request may have passed; nobody knows of the slots and the reservation.
async fn give_back_slots<S: Store>(store: &S, inquiry: Inquiry, plan: &Plan, now: Timestamp) {
    match inquiry {
        Inquiry::Read => {}
        Inquiry::Reserve(_) => drop(store.cancel(plan.ticket(), now).await),
        Inquiry::Decide => {
            if plan.charges().any(|charge| charge.limit.term_us().is_some()) {
                drop(store.release(plan, now).await);
            }
        }
    }
}

/// Runs a future that nobody waits for: at once as far as it goes, and the rest as a task of the caller's runtime.
pub(crate) fn detach(future: impl Future<Output = ()> + Send + 'static) {
    let mut future = Box::pin(future);
    let polled = contain(|| future.as_mut().poll(&mut Context::from_waker(Waker::noop())));
    if polled == Ok(Poll::Pending)
        && let Ok(runtime) = Handle::try_current()
    {
        drop(runtime.spawn(future));
    }
}

//! A call of the store that runs to its end even if its caller is gone, so that nothing is charged and then forgotten.

use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, Waker, ready};

use tidegate_core::{Plan, Timestamp};
use tidegate_store::{Act, Done, Hold, Store, StoreError};
use tokio::runtime::Handle;

use crate::contain::{contain, contained};

/// Calls without a caller that may be under way in a process. What comes beyond is dropped where it waits, so that a store
/// that never answers cannot pile them up.
const MAX_DETACHED: usize = 10_000;

static DETACHED: AtomicUsize = AtomicUsize::new(0);

/// What the store is asked about a plan.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Inquiry {
    Decide,
    Read,
    Reserve(Hold),
    /// With the instant of the charge.
    Refund(Timestamp),
}

/// The plan comes back with the result.
type Running = Pin<Box<dyn Future<Output = (Plan, Result<Done, StoreError>)> + Send>>;

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
            let done = contained(async { called.run(inquiry.act(&plan), now).await }).await;
            (plan, done.unwrap_or(Err(StoreError::Panicked)))
        };
        Self { store: Arc::clone(store), inquiry, now, running: Some(Box::pin(running)) }
    }
}

impl Inquiry {
    fn act(self, plan: &Plan) -> Act<'_> {
        match self {
            Self::Decide => Act::Decide(plan),
            Self::Read => Act::Read(plan),
            Self::Reserve(hold) => Act::Reserve(plan, hold),
            Self::Refund(charged_at) => Act::Refund(plan, charged_at),
        }
    }
}

impl<S: Store> Future for StoreCall<S> {
    type Output = (Plan, Result<Done, StoreError>);

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let running = self.running.as_mut().expect("a call is not polled after its end");
        let done = ready!(running.as_mut().poll(context));
        self.running = None;
        Poll::Ready(done)
    }
}

impl<S: Store> Drop for StoreCall<S> {
    fn drop(&mut self) {
        let Some(running) = mem::take(&mut self.running) else { return };
        let (store, inquiry, now) = (Arc::clone(&self.store), self.inquiry, self.now);
        detach(async move {
            if let (plan, Ok(Done::Answer(answer))) = running.await
                && answer.allowed()
                && !answer.replayed
            {
                give_back_slots(&*store, inquiry, &plan, now).await;
            }
        });
    }
}

/// Units stay charged, since the request may have passed. Slots and a reservation have no holder and are given back; but
/// slots of an idempotent plan stay until their term, because a repeated delivery is answered with them.
async fn give_back_slots<S: Store>(store: &S, inquiry: Inquiry, plan: &Plan, now: Timestamp) {
    match inquiry {
        Inquiry::Reserve(_) => drop(store.cancel(plan.ticket(), now).await),
        Inquiry::Decide if plan.idempotency().is_none() && holds_slots(plan) => {
            drop(store.release(plan, now).await);
        }
        Inquiry::Decide | Inquiry::Read | Inquiry::Refund(_) => {}
    }
}

fn holds_slots(plan: &Plan) -> bool {
    plan.charges().any(|charge| charge.limit.term_us().is_some())
}

/// Runs a future that has no caller: at once as far as it goes, and the rest as a task of the current runtime.
pub(crate) fn detach(future: impl Future<Output = ()> + Send + 'static) {
    let mut future = Box::pin(future);
    let polled = contain(|| future.as_mut().poll(&mut Context::from_waker(Waker::noop())));
    if polled == Ok(Poll::Pending)
        && let Ok(runtime) = Handle::try_current()
        && let Some(place) = DetachedPlace::take()
    {
        drop(runtime.spawn(async move {
            let _place = place;
            future.await;
        }));
    }
}

struct DetachedPlace;

impl DetachedPlace {
    fn take() -> Option<Self> {
        let running = DETACHED.fetch_add(1, Relaxed);
        let place = Self;
        (running < MAX_DETACHED).then_some(place)
    }
}

impl Drop for DetachedPlace {
    fn drop(&mut self) {
        DETACHED.fetch_sub(1, Relaxed);
    }
}

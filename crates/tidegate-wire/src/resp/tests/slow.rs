//! A store that answers when it is told to.

use std::future::poll_fn;
use std::sync::Mutex;
use std::task::{Poll, Waker};

use tidegate_core::{Plan, Ticket, Timestamp};
use tidegate_store::{Answer, Hold, Reference, Settlement, Store, StoreError, Verdicts};

/// Counts in memory, but every question waits until it is let go, in whatever order.
#[derive(Default)]
pub(super) struct Slow {
    inner: Reference,
    questions: Mutex<Questions>,
}

#[derive(Default)]
struct Questions {
    /// How many were let go.
    let_go: Vec<bool>,
    wakers: Vec<Waker>,
}

impl Slow {
    /// How many have been asked.
    pub(super) fn asked(&self) -> usize {
        self.questions.lock().unwrap().let_go.len()
    }

    /// Lets one be answered.
    pub(super) fn let_go(&self, question: usize) {
        let mut questions = self.questions.lock().unwrap();
        questions.let_go[question] = true;
        questions.wakers.drain(..).for_each(Waker::wake);
    }

    async fn wait(&self) {
        let own = {
            let mut questions = self.questions.lock().unwrap();
            questions.let_go.push(false);
            questions.let_go.len() - 1
        };
        poll_fn(|context| {
            let mut questions = self.questions.lock().unwrap();
            if questions.let_go[own] {
                return Poll::Ready(());
            }
            questions.wakers.push(context.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

impl Store for Slow {
    async fn decide(&self, plan: &Plan, now: Timestamp) -> Result<Answer, StoreError> {
        // What is counted is counted in the order in which it was asked.
        let answer = self.inner.decide_now(plan, now);
        self.wait().await;
        answer
    }

    async fn read(&self, plan: &Plan, now: Timestamp) -> Result<Answer, StoreError> {
        self.inner.read(plan, now).await
    }

    async fn reserve(&self, plan: &Plan, hold: Hold, now: Timestamp) -> Result<Answer, StoreError> {
        self.inner.reserve(plan, hold, now).await
    }

    async fn commit(&self, ticket: Ticket, costs: &[u64], now: Timestamp) -> Result<Settlement, StoreError> {
        self.inner.commit(ticket, costs, now).await
    }

    async fn cancel(&self, ticket: Ticket, now: Timestamp) -> Result<Settlement, StoreError> {
        self.inner.cancel(ticket, now).await
    }

    async fn release(&self, plan: &Plan, now: Timestamp) -> Result<u64, StoreError> {
        self.inner.release(plan, now).await
    }

    async fn renew(&self, plan: &Plan, now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
        self.inner.renew(plan, now).await
    }

    async fn refund(&self, plan: &Plan, at: Timestamp, now: Timestamp) -> Result<(), StoreError> {
        self.inner.refund(plan, at, now).await
    }

    async fn raise(&self, plan: &Plan, now: Timestamp) -> Result<Verdicts, StoreError> {
        self.inner.raise(plan, now).await
    }

    async fn reset(&self, plan: &Plan, now: Timestamp) -> Result<usize, StoreError> {
        self.inner.reset(plan, now).await
    }
}

//! A store that notes how long it may take.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tidegate_core::{Plan, Ticket, Timestamp};
use tidegate_store::{Answer, Hold, Reference, Settlement, Store, StoreError, Verdicts};

/// The reference store, with a note of each plan that it is asked about.
#[derive(Clone, Default)]
pub(crate) struct Noting {
    inner: Arc<Reference>,
    patience: Arc<Mutex<Vec<Option<Duration>>>>,
}

impl Noting {
    /// How long it was given each time, in microseconds; 0 if nobody said.
    pub(crate) fn taken(&self) -> Vec<u128> {
        let taken = std::mem::take(&mut *self.patience.lock().unwrap());
        taken.into_iter().map(|one| one.map_or(0, |one| one.as_micros())).collect()
    }

    fn note(&self, plan: &Plan) {
        self.patience.lock().unwrap().push(plan.patience());
    }
}

impl Store for Noting {
    async fn decide(&self, plan: &Plan, now: Timestamp) -> Result<Answer, StoreError> {
        self.note(plan);
        self.inner.decide(plan, now).await
    }

    async fn read(&self, plan: &Plan, now: Timestamp) -> Result<Answer, StoreError> {
        self.note(plan);
        self.inner.read(plan, now).await
    }

    async fn reserve(&self, plan: &Plan, hold: Hold, now: Timestamp) -> Result<Answer, StoreError> {
        self.note(plan);
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

    async fn refund(&self, plan: &Plan, charged_at: Timestamp, now: Timestamp) -> Result<(), StoreError> {
        self.note(plan);
        self.inner.refund(plan, charged_at, now).await
    }

    async fn raise(&self, plan: &Plan, now: Timestamp) -> Result<Verdicts, StoreError> {
        self.inner.raise(plan, now).await
    }

    async fn reset(&self, plan: &Plan, now: Timestamp) -> Result<usize, StoreError> {
        self.inner.reset(plan, now).await
    }
}

//! Stores that do not answer.

use tidegate_core::{Plan, Ticket, Timestamp};
use tidegate_store::{Answer, Hold, Settlement, Store, StoreError, Verdicts};

/// A store that does not answer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Faulty {
    /// It says that it cannot.
    Failing,
    /// It says nothing.
    Stuck,
}

impl Faulty {
    async fn fail<T>(self) -> Result<T, StoreError> {
        match self {
            Self::Failing => Err(StoreError::Full),
            Self::Stuck => std::future::pending().await,
        }
    }
}

impl Store for Faulty {
    async fn decide(&self, _plan: &Plan, _now: Timestamp) -> Result<Answer, StoreError> {
        self.fail().await
    }

    async fn read(&self, _plan: &Plan, _now: Timestamp) -> Result<Answer, StoreError> {
        self.fail().await
    }

    async fn reserve(&self, _plan: &Plan, _hold: Hold, _now: Timestamp) -> Result<Answer, StoreError> {
        self.fail().await
    }

    async fn commit(
        &self,
        _ticket: Ticket,
        _costs: &[u64],
        _now: Timestamp,
    ) -> Result<Settlement, StoreError> {
        self.fail().await
    }

    async fn cancel(&self, _ticket: Ticket, _now: Timestamp) -> Result<Settlement, StoreError> {
        self.fail().await
    }

    async fn release(&self, _plan: &Plan, _now: Timestamp) -> Result<u64, StoreError> {
        self.fail().await
    }

    async fn renew(&self, _plan: &Plan, _now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
        self.fail().await
    }

    async fn refund(&self, _plan: &Plan, _at: Timestamp, _now: Timestamp) -> Result<(), StoreError> {
        self.fail().await
    }

    async fn raise(&self, _plan: &Plan, _now: Timestamp) -> Result<Verdicts, StoreError> {
        self.fail().await
    }

    async fn reset(&self, _plan: &Plan, _now: Timestamp) -> Result<usize, StoreError> {
        self.fail().await
    }
}

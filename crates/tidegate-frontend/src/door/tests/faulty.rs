//! Stores that do not answer.

use tidegate_core::Timestamp;
use tidegate_store::{Act, Done, Store, StoreError};

/// A store that does not answer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Faulty {
    /// It says that it cannot.
    Failing,
    /// It says nothing.
    Stuck,
}

impl Store for Faulty {
    async fn run(&self, _act: Act<'_>, _now: Timestamp) -> Result<Done, StoreError> {
        match self {
            Self::Failing => Err(StoreError::Full),
            Self::Stuck => std::future::pending().await,
        }
    }
}

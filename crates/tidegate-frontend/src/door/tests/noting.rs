//! A store that notes how long it may take.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tidegate_core::{Plan, Timestamp};
use tidegate_store::{Act, Done, Reference, Store, StoreError};

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
    async fn run(&self, act: Act<'_>, now: Timestamp) -> Result<Done, StoreError> {
        if let Act::Decide(plan) | Act::Read(plan) | Act::Reserve(plan, _) | Act::Refund(plan, _) = act {
            self.note(plan);
        }
        self.inner.run(act, now).await
    }
}

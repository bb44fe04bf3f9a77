//! Stores that are none: one allows everything at once, so that what is left is the engine's own cost; one keeps the plan
//! that it is asked.

use std::future::{Future, ready};
use std::sync::{Mutex, PoisonError};

use tidegate_core::{Outcome, Plan, Ticket, Timestamp, Verdict};
use tidegate_store::{Answer, Hold, Settlement, Store, StoreError, Verdicts};

/// Allows everything.
pub(super) struct Nodding;

/// Allows everything, and keeps the last plan.
#[derive(Default)]
pub(super) struct Keeping(Mutex<Option<Plan>>);

impl Keeping {
    pub(super) fn take(&self) -> Option<Plan> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// A store that only decides; nothing here asks for more.
trait Decides: Send + Sync {
    fn yes(&self, plan: &Plan) -> Answer;
}

impl Decides for Nodding {
    #[inline]
    fn yes(&self, plan: &Plan) -> Answer {
        nod(plan)
    }
}

impl Decides for Keeping {
    fn yes(&self, plan: &Plan) -> Answer {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(plan.clone());
        nod(plan)
    }
}

fn nod(plan: &Plan) -> Answer {
    let verdict = Verdict {
        outcome: Outcome::Allowed,
        limit: 100,
        remaining: 99,
        debt: 0,
        reset_after_us: 1,
        next_after_us: 1,
    };
    Answer::new(plan, (0..plan.len()).map(|_| verdict).collect(), |_| true)
}

macro_rules! store {
    ($name:ty) => {
        impl Store for $name {
            fn decide(
                &self,
                plan: &Plan,
                _: Timestamp,
            ) -> impl Future<Output = Result<Answer, StoreError>> + Send {
                ready(Ok(self.yes(plan)))
            }

            async fn read(&self, plan: &Plan, _: Timestamp) -> Result<Answer, StoreError> {
                Ok(nod(plan))
            }

            async fn reserve(&self, plan: &Plan, _: Hold, _: Timestamp) -> Result<Answer, StoreError> {
                Ok(nod(plan))
            }

            async fn commit(&self, _: Ticket, _: &[u64], _: Timestamp) -> Result<Settlement, StoreError> {
                Ok(Settlement::Gone)
            }

            async fn cancel(&self, _: Ticket, _: Timestamp) -> Result<Settlement, StoreError> {
                Ok(Settlement::Gone)
            }

            async fn release(&self, _: &Plan, _: Timestamp) -> Result<u64, StoreError> {
                Ok(0)
            }

            async fn renew(&self, _: &Plan, _: Timestamp) -> Result<Option<Timestamp>, StoreError> {
                Ok(None)
            }

            async fn refund(&self, _: &Plan, _: Timestamp, _: Timestamp) -> Result<(), StoreError> {
                Ok(())
            }

            async fn raise(&self, plan: &Plan, _: Timestamp) -> Result<Verdicts, StoreError> {
                Ok(nod(plan).verdicts)
            }

            async fn reset(&self, _: &Plan, _: Timestamp) -> Result<usize, StoreError> {
                Ok(0)
            }
        }
    };
}

store!(Nodding);
store!(Keeping);

//! Stores that are none: one allows everything at once, so that what is left is the engine's own cost; one keeps the plan
//! that it is asked.

use std::sync::{Mutex, PoisonError};

use tidegate_core::{Outcome, Plan, Timestamp, Verdict};
use tidegate_store::{Act, Answer, Done, Settlement, Store, StoreError};

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
            fn try_decide(&self, plan: &Plan, _: Timestamp) -> Option<Result<Answer, StoreError>> {
                Some(Ok(self.yes(plan)))
            }

            async fn run(&self, act: Act<'_>, _: Timestamp) -> Result<Done, StoreError> {
                Ok(match act {
                    Act::Decide(plan) => self.yes(plan).into(),
                    Act::Read(plan) | Act::Reserve(plan, _) => nod(plan).into(),
                    Act::Commit(..) | Act::Cancel(_) => Settlement::Gone.into(),
                    Act::Release(_) => Done::Released(0),
                    Act::Renew(_) => Done::Renewed(None),
                    Act::Refund(..) => Done::Refunded,
                    Act::Raise(plan) => Done::Raised(nod(plan).verdicts),
                    Act::Reset(_) => Done::Reset(0),
                })
            }
        }
    };
}

store!(Nodding);
store!(Keeping);

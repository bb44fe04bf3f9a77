//! When the store has lost counters: those with long windows are told again, in steps, until it has taken them.
//!
//! A counter is [raised](Store::raise) to what was last known of it, never charged on top of what is there. So it does not matter how
//! often it is told, by how many nodes, whether an answer was lost, or whether the counter was lost at all: the most that any node
//! knew counts, and nothing counts twice. What was admitted between the loss and the telling counts as part of that.

use tidegate_core::{KeyRef, Plan, Timestamp};

use super::Fallback;
use super::long::Lost;
use super::repay::FAILURES;
use crate::contract::{Store, StoreError};

/// So many are told in one step.
const PER_STEP: usize = 32;

impl<S: Store> Fallback<S> {
    /// The store has lost the counters that live there. Those with long windows wait to be [told again](Self::tell_again); how
    /// many of them this node remembers.
    pub fn lost(&self, lives_there: impl Fn(KeyRef<'_>) -> bool, now: Timestamp) -> usize {
        let mut lost = self.long.all(now);
        lost.retain(|one| lives_there(one.key.as_ref()));
        let count = lost.len();
        self.untold.add(lost, now);
        count
    }

    /// Tells the store some of what it has lost, the most used first; how many are left. What cannot be told now waits until the
    /// others were. Several steps may be under way at once.
    pub async fn tell_again(&self, now: Timestamp) -> usize {
        let mut failures = 0;
        for _ in 0..PER_STEP {
            let Some(lost) = self.untold.next() else { break };
            if self.tell(&lost, now).await.is_err() {
                self.untold.put_off(lost);
                failures += 1;
            }
            if failures == FAILURES {
                break;
            }
        }
        self.untold.len()
    }

    /// Tells what was lost of one counter, if anything was.
    pub(super) async fn tell_at_once(&self, key: KeyRef<'_>, now: Timestamp) -> Result<(), StoreError> {
        let Some(lost) = self.untold.take(key) else { return Ok(()) };
        let told = self.tell(&lost, now).await;
        if told.is_err() {
            self.untold.put_off(lost);
        }
        told
    }

    /// Fails if it must be tried again. It can be, whether it has happened or not: nobody takes it for a charge that may have.
    async fn tell(&self, lost: &Lost, now: Timestamp) -> Result<(), StoreError> {
        let units = lost.word.used_at(now).units();
        let mut plan = Plan::new();
        if units == 0 || plan.charge(lost.key.as_ref(), lost.limit, units).is_err() {
            return Ok(());
        }
        match self.inner.raise(&plan, now).await {
            Ok(verdicts) => self.remember(&plan, &verdicts, now),
            Err(StoreError::Unavailable { shard, kind, .. }) => {
                return Err(StoreError::Unavailable { shard, kind, maybe_charged: false });
            }
            // Its calendar window is over.
            Err(_) => {}
        }
        Ok(())
    }
}

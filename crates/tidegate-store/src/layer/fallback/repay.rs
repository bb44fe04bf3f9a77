//! When the store is back: what it is owed.

use std::sync::atomic::Ordering;

use tidegate_core::{KeyRef, Pay, Plan, Timestamp};

use super::Fallback;
use super::ledger::Debt;
use crate::contract::{Store, StoreError};

/// So many counters are tried in vain before the others wait for the next time.
pub(super) const FAILURES: usize = 8;

impl<S: Store> Fallback<S> {
    /// Pays some of what counters owe, the most first; how many are left. Ends early if the store cannot answer, but not before some
    /// others were tried: they may live elsewhere.
    pub async fn pay_back(&self, now: Timestamp) -> usize {
        self.pay_back_where(|_| true, now).await
    }

    /// The same for the counters that may be paid now; the others wait.
    pub async fn pay_back_where(&self, may_be_paid: impl Fn(KeyRef<'_>) -> bool, now: Timestamp) -> usize {
        let mut failures = 0;
        for debt in self.ledger.largest() {
            if !may_be_paid(debt.key.as_ref()) {
                self.ledger.put_off(&debt);
                continue;
            }
            match self.pay(&debt, now).await {
                Err(StoreError::Unavailable { maybe_charged: false, .. }) => {
                    self.ledger.put_off(&debt);
                    failures += 1;
                }
                // What may have been charged counts as paid: to charge it again would refuse somebody wrongly.
                Err(StoreError::Unavailable { .. }) => {
                    self.is_paid(&debt, now);
                    break;
                }
                came => {
                    self.counts.paid_back.fetch_add(came.unwrap_or(0), Ordering::Relaxed);
                    self.is_paid(&debt, now);
                }
            }
            if failures == FAILURES {
                break;
            }
        }
        self.ledger.len()
    }

    /// Takes a debt off. What was admitted here stays counted here until the store has the word again, or a node could admit its part
    /// once more while it cannot be asked, or while another counter of the same plan still owes.
    fn is_paid(&self, debt: &Debt, now: Timestamp) {
        if self.ledger.paid(debt) && !self.leftover.add(debt.key.as_ref()) {
            self.forget_locally(debt.key.as_ref(), &debt.limit, now);
        }
    }

    /// Charges what a counter owes and still counts; how much that was. What the store has lost of it comes first: told afterwards, it
    /// would be taken to hold what was paid.
    async fn pay(&self, debt: &Debt, now: Timestamp) -> Result<u64, StoreError> {
        self.tell_at_once(debt.key.as_ref(), now).await?;
        let part = debt.limit.divided(self.members.get(), 0);
        let units = debt.units.min(self.used_here(debt.key.as_ref(), part, now));
        let mut plan = Plan::new();
        if units == 0 || plan.charge_when(debt.key.as_ref(), debt.limit, units, Pay::Always).is_err() {
            return Ok(0);
        }
        let answer = self.inner.decide(&plan, now).await?;
        self.remember(&plan, &answer.verdicts, now);
        Ok(units)
    }
}

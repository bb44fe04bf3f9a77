//! When the store is back: what it is owed, and what it has lost.

use std::sync::atomic::Ordering;

use tidegate_core::{Idempotency, Pay, Plan, Timestamp};

use super::Fallback;
use super::ledger::Debt;
use crate::contract::{Store, StoreError};

/// How long it is remembered that a lost counter was told again: nodes notice a loss within seconds.
const KEEP_US: u64 = 3_600_000_000;

/// So many debts are tried in vain before the others wait for the next time.
const FAILURES: usize = 8;

impl<S: Store> Fallback<S> {
    /// Pays some of what counters owe, the most first; how many are left. Ends early if the store cannot answer, but not before some
    /// others were tried: they may live elsewhere.
    pub async fn pay_back(&self, now: Timestamp) -> usize {
        let mut failures = 0;
        for debt in self.ledger.largest() {
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

    /// Told that the store has lost nothing until now.
    pub fn confirm(&self) {
        self.long.confirm();
    }

    /// Tells a store that has lost its counters what this node last knew of those with long windows, the most used first; how
    /// many it took. `epoch` names the loss: whichever node comes first with a counter is believed, and others are not counted
    /// again. Ends early if the store cannot answer.
    pub async fn tell_again(&self, epoch: &str, now: Timestamp) -> usize {
        let mut told = 0;
        for lost in self.long.lost(now) {
            let key = lost.key.as_ref();
            let mut plan = Plan::new();
            if plan.charge_encoded_when(key, lost.limit, lost.units, Pay::Always).is_err() {
                continue;
            }
            let Ok(name) = key.beside(&[b"told again", epoch.as_bytes(), key.bytes()]) else { continue };
            plan.set_idempotency(Idempotency { key: name, keep_us: KEEP_US, asked: None });
            match self.inner.decide(&plan, now).await {
                Ok(answer) => told += usize::from(!answer.replayed),
                Err(StoreError::Unavailable { .. }) => break,
                // Somebody else was first; or its calendar window is over.
                Err(_) => {}
            }
        }
        told
    }

    /// Takes a debt off. What was admitted here stays counted here until the store has the word again, or a node could admit its part
    /// once more while it cannot be asked, or while another counter of the same plan still owes.
    fn is_paid(&self, debt: &Debt, now: Timestamp) {
        if self.ledger.paid(debt) && !self.leftover.add(debt.key.as_ref()) {
            self.forget_locally(debt.key.as_ref(), &debt.limit, now);
        }
    }

    /// Charges what a counter owes and still counts; how much that was.
    async fn pay(&self, debt: &Debt, now: Timestamp) -> Result<u64, StoreError> {
        let part = debt.limit.divided(self.members.get(), 0);
        let units = debt.units.min(self.used_here(debt.key.as_ref(), part, now));
        let mut plan = Plan::new();
        if units == 0 || plan.charge_encoded_when(debt.key.as_ref(), debt.limit, units, Pay::Always).is_err()
        {
            return Ok(0);
        }
        let answer = self.inner.decide(&plan, now).await?;
        self.remember(&plan, &answer, now);
        Ok(units)
    }
}

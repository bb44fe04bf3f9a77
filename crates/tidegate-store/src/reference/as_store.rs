//! The contract, kept at once: every future is ready when it is made.

use std::future::{Future, ready};

use tidegate_core::{Plan, Ticket, Timestamp};

use super::Reference;
use crate::contract::{Answer, Hold, Settlement, Store, StoreError};

impl Store for Reference {
    fn decide(&self, plan: &Plan, now: Timestamp) -> impl Future<Output = Result<Answer, StoreError>> + Send {
        ready(self.decide_now(plan, now))
    }

    fn read(&self, plan: &Plan, now: Timestamp) -> impl Future<Output = Result<Answer, StoreError>> + Send {
        ready(self.read_now(plan, now))
    }

    fn reserve(
        &self,
        plan: &Plan,
        hold: Hold,
        now: Timestamp,
    ) -> impl Future<Output = Result<Answer, StoreError>> + Send {
        ready(self.reserve_now(plan, hold, now))
    }

    fn commit(
        &self,
        ticket: Ticket,
        costs: &[u64],
        now: Timestamp,
    ) -> impl Future<Output = Result<Settlement, StoreError>> + Send {
        ready(self.commit_now(ticket, costs, now))
    }

    fn cancel(
        &self,
        ticket: Ticket,
        now: Timestamp,
    ) -> impl Future<Output = Result<Settlement, StoreError>> + Send {
        ready(Ok(self.cancel_now(ticket, now)))
    }

    fn release(&self, plan: &Plan, now: Timestamp) -> impl Future<Output = Result<u64, StoreError>> + Send {
        ready(Ok(self.release_now(plan, now)))
    }

    fn renew(
        &self,
        plan: &Plan,
        now: Timestamp,
    ) -> impl Future<Output = Result<Option<Timestamp>, StoreError>> + Send {
        ready(Ok(self.renew_now(plan, now)))
    }

    fn refund(
        &self,
        plan: &Plan,
        charged_at: Timestamp,
        now: Timestamp,
    ) -> impl Future<Output = Result<(), StoreError>> + Send {
        ready(self.refund_now(plan, charged_at, now))
    }

    fn reset(&self, plan: &Plan, _: Timestamp) -> impl Future<Output = Result<usize, StoreError>> + Send {
        ready(Ok(self.reset_now(plan)))
    }
}

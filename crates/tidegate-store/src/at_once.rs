//! The contract, kept at once: every future is ready when it is made.

use std::future::{Future, ready};

use tidegate_core::{KeyRef, Limit, Plan, Ticket, Timestamp, Verdict};

use crate::contract::{Answer, Hold, Settlement, Store, StoreError, Verdicts};
use crate::memory::Memory;
use crate::reference::Reference;
use crate::ways;

macro_rules! keeps_the_contract_at_once {
    ($store:ident { $($own:tt)* }) => {
        impl $store {
            /// [`Store::read`] without a future.
            pub fn read_now(&self, plan: &Plan, now: Timestamp) -> Result<Answer, StoreError> {
                ways::read(self, plan, now)
            }

            /// [`Store::reserve`] without a future.
            pub fn reserve_now(&self, plan: &Plan, hold: Hold, now: Timestamp) -> Result<Answer, StoreError> {
                ways::reserve(self, plan, hold, now)
            }

            /// [`Store::commit`] without a future.
            pub fn commit_now(
                &self,
                ticket: Ticket,
                costs: &[u64],
                now: Timestamp,
            ) -> Result<Settlement, StoreError> {
                ways::commit(self, ticket, costs, now)
            }

            /// [`Store::cancel`] without a future.
            pub fn cancel_now(&self, ticket: Ticket, now: Timestamp) -> Settlement {
                ways::cancel(self, ticket, now)
            }

            /// [`Store::release`] without a future.
            pub fn release_now(&self, plan: &Plan, now: Timestamp) -> u64 {
                ways::release(self, plan, now)
            }

            /// [`Store::renew`] without a future.
            pub fn renew_now(&self, plan: &Plan, now: Timestamp) -> Option<Timestamp> {
                ways::renew(self, plan, now)
            }

            /// [`Store::refund`] without a future.
            pub fn refund_now(
                &self,
                plan: &Plan,
                charged_at: Timestamp,
                now: Timestamp,
            ) -> Result<(), StoreError> {
                ways::refund(self, plan, charged_at, now)
            }

            /// [`Store::raise`] without a future.
            pub fn raise_now(&self, plan: &Plan, now: Timestamp) -> Result<Verdicts, StoreError> {
                ways::raise(self, plan, now)
            }

            /// [`Store::reset`] without a future.
            pub fn reset_now(&self, plan: &Plan, now: Timestamp) -> usize {
                ways::reset(self, plan, now)
            }
        }

        impl Store for $store {
            fn answers_at_once(&self) -> bool {
                true
            }

            $($own)*

            fn decide(
                &self,
                plan: &Plan,
                now: Timestamp,
            ) -> impl Future<Output = Result<Answer, StoreError>> + Send {
                ready(self.decide_now(plan, now))
            }

            fn read(
                &self,
                plan: &Plan,
                now: Timestamp,
            ) -> impl Future<Output = Result<Answer, StoreError>> + Send {
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

            fn release(
                &self,
                plan: &Plan,
                now: Timestamp,
            ) -> impl Future<Output = Result<u64, StoreError>> + Send {
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

            fn raise(
                &self,
                plan: &Plan,
                now: Timestamp,
            ) -> impl Future<Output = Result<Verdicts, StoreError>> + Send {
                ready(self.raise_now(plan, now))
            }

            fn reset(
                &self,
                plan: &Plan,
                now: Timestamp,
            ) -> impl Future<Output = Result<usize, StoreError>> + Send {
                ready(Ok(self.reset_now(plan, now)))
            }
        }
    };
}

keeps_the_contract_at_once!(Reference {});
keeps_the_contract_at_once!(Memory {
    fn decide_one_at_once(
        &self,
        key: KeyRef<'_>,
        limit: &Limit,
        cost: u64,
        now: Timestamp,
    ) -> Option<Verdict> {
        self.decide_one_now(key, limit, cost, now)
    }
});

//! The contract, kept at once: every future is ready when it is made.

use std::future::{Future, ready};

use tidegate_core::{Plan, Ticket, Timestamp};

use crate::contract::{Act, Answer, Done, Hold, Settlement, Store, StoreError, Verdicts};
use crate::memory::Memory;
use crate::reference::Reference;
use crate::ways;

macro_rules! keeps_the_contract_at_once {
    ($store:ident) => {
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

        impl $store {
            /// [`Store::run`] without a future.
            pub fn run_now(&self, act: Act<'_>, now: Timestamp) -> Result<Done, StoreError> {
                Ok(match act {
                    Act::Decide(plan) => self.decide_now(plan, now)?.into(),
                    Act::Read(plan) => self.read_now(plan, now)?.into(),
                    Act::Reserve(plan, hold) => self.reserve_now(plan, hold, now)?.into(),
                    Act::Commit(ticket, costs) => self.commit_now(ticket, costs, now)?.into(),
                    Act::Cancel(ticket) => self.cancel_now(ticket, now).into(),
                    Act::Release(plan) => Done::Released(self.release_now(plan, now)),
                    Act::Renew(plan) => Done::Renewed(self.renew_now(plan, now)),
                    Act::Refund(plan, charged_at) => {
                        self.refund_now(plan, charged_at, now)?;
                        Done::Refunded
                    }
                    Act::Raise(plan) => Done::Raised(self.raise_now(plan, now)?),
                    Act::Reset(plan) => Done::Reset(self.reset_now(plan, now)),
                })
            }
        }

        impl Store for $store {
            #[inline]
            fn try_decide(&self, plan: &Plan, now: Timestamp) -> Option<Result<Answer, StoreError>> {
                Some(self.decide_now(plan, now))
            }

            fn run(
                &self,
                act: Act<'_>,
                now: Timestamp,
            ) -> impl Future<Output = Result<Done, StoreError>> + Send {
                ready(self.run_now(act, now))
            }
        }
    };
}

keeps_the_contract_at_once!(Reference);
keeps_the_contract_at_once!(Memory);

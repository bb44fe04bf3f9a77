//! The store: plans become calls of scripts, and replies become answers.

mod ask;
mod ways;

use std::future::Future;

use tidegate_core::{KeyRef, Limit, Plan, State, Ticket, Timestamp};
use tidegate_store::{Answer, Hold, Settlement, Store, StoreError};

use crate::call::Caller;
use crate::draft;
use crate::names::Names;
use crate::open::Open;
use crate::settings::{Clock, Settings};
use crate::value;

/// Counters in Redis: every plan is decided by one script, which reads all, computes all and writes all.
pub struct Redis<C> {
    caller: C,
    names: Names,
    clock: Clock,
    open: Open,
}

impl<C: Caller> Redis<C> {
    /// A store behind that caller.
    pub fn new(caller: C, settings: &Settings) -> Self {
        let names = Names::new(&settings.prefix, settings.secret);
        Self { caller, names, clock: settings.clock, open: Open::default() }
    }

    /// The state of a counter as it is written: what has ended since then, or is due back, is still in it.
    pub async fn state(&self, key: KeyRef<'_>, limit: &Limit) -> Result<State, StoreError> {
        let seat = self.names.seat(key, limit);
        let mut value = self.fetch(seat.key.clone()).await?;
        for level in draft::levels(&seat.key) {
            let Some(bytes) = value else { break };
            let mut rest = bytes.as_slice();
            let head = value::take_head(&mut rest).ok_or_else(ask::garbled)?;
            let state = value::state(seat.form, seat.id, rest).ok_or_else(ask::garbled)?;
            if state != State::EMPTY || !head.overflows {
                return Ok(state);
            }
            value = self.fetch(level).await?;
        }
        Ok(State::EMPTY)
    }
}

/// What it counts stays in the servers.
impl<C> std::fmt::Debug for Redis<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redis")
            .field("names", &self.names)
            .field("clock", &self.clock)
            .finish_non_exhaustive()
    }
}

impl<C: Caller> Store for Redis<C> {
    fn decide(&self, plan: &Plan, now: Timestamp) -> impl Future<Output = Result<Answer, StoreError>> + Send {
        self.decided(plan, now)
    }

    fn read(&self, plan: &Plan, now: Timestamp) -> impl Future<Output = Result<Answer, StoreError>> + Send {
        self.looked_at(plan, now)
    }

    fn reserve(
        &self,
        plan: &Plan,
        hold: Hold,
        now: Timestamp,
    ) -> impl Future<Output = Result<Answer, StoreError>> + Send {
        self.reserved(plan, hold, now)
    }

    fn commit(
        &self,
        ticket: Ticket,
        costs: &[u64],
        now: Timestamp,
    ) -> impl Future<Output = Result<Settlement, StoreError>> + Send {
        self.settled(ticket, Some(costs), now)
    }

    fn cancel(
        &self,
        ticket: Ticket,
        now: Timestamp,
    ) -> impl Future<Output = Result<Settlement, StoreError>> + Send {
        self.settled(ticket, None, now)
    }

    fn release(&self, plan: &Plan, now: Timestamp) -> impl Future<Output = Result<u64, StoreError>> + Send {
        self.released(plan, now)
    }

    fn renew(
        &self,
        plan: &Plan,
        now: Timestamp,
    ) -> impl Future<Output = Result<Option<Timestamp>, StoreError>> + Send {
        self.renewed(plan, now)
    }

    fn refund(
        &self,
        plan: &Plan,
        charged_at: Timestamp,
        now: Timestamp,
    ) -> impl Future<Output = Result<(), StoreError>> + Send {
        self.refunded(plan, charged_at, now)
    }

    fn reset(&self, plan: &Plan, now: Timestamp) -> impl Future<Output = Result<usize, StoreError>> + Send {
        self.forgotten(plan, now)
    }
}

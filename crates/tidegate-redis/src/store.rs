//! The store: plans become calls of scripts, and replies become answers.

mod ways;
mod across;
mod notes;
mod homes;
mod ask;
mod raise;

pub(crate) use ask::{garbled, unavailable};

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use tidegate_core::{KeyRef, Limit, State, Timestamp};
use tidegate_store::{Act, Done, Store, StoreError};

use crate::call::{Caller, Fault};
use crate::draft;
use crate::names::Names;
use crate::open::Open;
use crate::settings::{Clock, Settings};
use crate::value;

/// Counters in Redis: every plan is decided by one script, which reads all, computes all and writes all.
pub struct Redis<C> {
    caller: Arc<C>,
    names: Arc<Names>,
    clock: Clock,
    open: Arc<Open>,
    /// A random number, and how many holds have been named after it.
    node: u64,
    holds: Arc<AtomicU64>,
}

impl<C: Caller + 'static> Redis<C> {
    /// A store behind that caller.
    pub fn new(caller: C, settings: &Settings) -> Self {
        Self {
            caller: Arc::new(caller),
            names: Arc::new(Names::of(settings)),
            clock: settings.clock,
            open: Arc::new(Open::default()),
            node: RandomState::new().hash_one(0),
            holds: Arc::new(AtomicU64::new(0)),
        }
    }

    /// The state of a counter as it is written: what has ended since then, or is due back, is still in it.
    pub async fn state(&self, key: KeyRef<'_>, limit: &Limit) -> Result<State, StoreError> {
        let seat = self.names.seat(key, limit);
        let mut value = self.fetch(seat.key.to_vec()).await?;
        for level in draft::levels(&seat.key) {
            let Some(bytes) = value else { break };
            if bytes.first() != Some(&value::VERSION) {
                return Err(ask::uncharged(Fault::NewerFormat));
            }
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

/// Another handle to the same store.
impl<C> Clone for Redis<C> {
    fn clone(&self) -> Self {
        Self {
            caller: Arc::clone(&self.caller),
            names: Arc::clone(&self.names),
            clock: self.clock,
            open: Arc::clone(&self.open),
            node: self.node,
            holds: Arc::clone(&self.holds),
        }
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

impl<C: Caller + 'static> Store for Redis<C> {
    async fn run(&self, act: Act<'_>, now: Timestamp) -> Result<Done, StoreError> {
        match act {
            Act::Decide(plan) => self.decided(plan, now).await.map(Done::from),
            // Only decisions are frequent: their future stays small.
            act => Box::pin(self.run_seldom(act, now)).await,
        }
    }
}

impl<C: Caller + 'static> Redis<C> {
    async fn run_seldom(&self, act: Act<'_>, now: Timestamp) -> Result<Done, StoreError> {
        Ok(match act {
            Act::Decide(plan) => self.decided(plan, now).await?.into(),
            Act::Read(plan) => self.looked_at(plan, now).await?.into(),
            Act::Reserve(plan, hold) => self.reserved(plan, hold, now).await?.into(),
            Act::Commit(ticket, costs) => self.settled(ticket, Some(costs), now).await?.into(),
            Act::Cancel(ticket) => self.settled(ticket, None, now).await?.into(),
            Act::Release(plan) => Done::Released(self.released(plan, now).await?),
            Act::Renew(plan) => Done::Renewed(self.renewed(plan, now).await?),
            Act::Refund(plan, charged_at) => {
                self.refunded(plan, charged_at, now).await?;
                Done::Refunded
            }
            Act::Raise(plan) => Done::Raised(self.raised(plan, now).await?),
            Act::Reset(plan) => Done::Reset(self.forgotten(plan, now).await?),
        })
    }
}

impl<C> Redis<C> {
    /// What brings calls to servers.
    pub fn caller(&self) -> &C {
        &self.caller
    }

    pub(crate) fn names(&self) -> &Names {
        &self.names
    }
}

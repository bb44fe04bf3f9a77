//! The store in memory: a table of 16-byte slots for the counters that fit into one, which are nearly all, and the
//! [reference store](crate::Reference)'s maps for the rest: logs, slots of concurrency limits, large limits, calendars,
//! idempotency keys, reservations.
//!
//! A plan takes the mutexes of the maps first, if it needs them, and then the lock bits of its slots, in the order of their
//! addresses. So no two plans wait for each other; and nothing is done under a plan's bits but arithmetic. Only when a
//! segment is replaced by a larger one is that made while the old one's slots are locked.

mod sync;
mod arena;
mod sip;
mod slot;
mod registry;
mod page;
mod segment;
mod blank;
mod warmer;
mod pool;
mod eviction;
mod directory;
mod lookup;
mod table;
mod held;
mod mixed;
mod optimistic;
mod overflow;
mod carried;
pub mod checkpoint;
#[cfg(all(test, loom))]
mod model;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use tidegate_core::{KeyRef, Limit, Plan, Timestamp, Verdict};

use crate::contract::{Answer, StoreError, Verdicts};
use crate::reference::{Locked, Reference, Usage};
use crate::step::{Counters as _, Step};
use crate::ways::{self, Desk, Intent, Pending};
use carried::Carried;
use held::Held;
pub(crate) use mixed::Mixed;
pub use optimistic::PlainCharge;
use table::Table;

/// The byte cap of [`Memory::new`].
pub const DEFAULT_CAP_BYTES: usize = crate::reference::DEFAULT_CAP_BYTES;

/// A store in memory, made for a great many counters: exact under threads, and bounded in bytes.
///
/// A key is told from others by 60 bits of a keyed hash (SipHash): among 100 million keys two share a counter with odds of
/// 1 to 230. When the cap is reached, counters that have emptied make room first, then those that have used the least of
/// their limit; what was lost is counted in [`Usage::evicted`].
pub struct Memory {
    table: Table,
    rest: Reference,
    /// Whether a plan was ever charged to the rest. It is told before a counter leaves the table for there, so that whoever
    /// does not find it in the table looks there.
    rest_is_used: AtomicBool,
    /// Counters of an earlier process that belong to the rest, until somebody asks for them.
    carried: Carried,
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

impl Memory {
    /// An empty store with a cap of [`DEFAULT_CAP_BYTES`].
    pub fn new() -> Self {
        Self::with_cap(DEFAULT_CAP_BYTES)
    }

    /// An empty store that holds at most about `cap_bytes`: three quarters for the table, a quarter for the rest.
    pub fn with_cap(cap_bytes: usize) -> Self {
        Self {
            table: Table::with_cap(Self::table_bytes(cap_bytes)),
            rest: Reference::with_cap(Self::rest_bytes(cap_bytes)),
            rest_is_used: AtomicBool::new(false),
            carried: Carried::none(),
        }
    }

    /// What it holds at the moment.
    pub fn usage(&self) -> Usage {
        let rest = self.rest.usage();
        Usage {
            counters: rest.counters + self.table.len() + self.carried.len(),
            bytes: rest.bytes + self.table.bytes() + self.carried.bytes(),
            evicted: rest.evicted + self.table.registry.evicted().values().sum::<u64>(),
            ..rest
        }
    }

    /// [`crate::Store::decide`] without a future.
    pub fn decide_now(&self, plan: &Plan, now: Timestamp) -> Result<Answer, StoreError> {
        ways::give_back_what_ended(self, now);
        if let Some(answer) = optimistic::decide(&self.table, plan, now, |key| self.is_in_the_rest(key)) {
            return Ok(answer);
        }
        let seated = self.seated(plan, now);
        ways::decide(self, seated.as_ref().unwrap_or(plan), now)
    }

    /// Decides a plan of one charge without a plan; `None` if it has to be asked as one.
    #[inline]
    pub fn decide_one_now(
        &self,
        key: KeyRef<'_>,
        limit: &Limit,
        cost: u64,
        now: Timestamp,
    ) -> Option<Verdict> {
        if cost == 0 {
            return None;
        }
        ways::give_back_what_ended(self, now);
        let charge = PlainCharge { key, limit, cost };
        optimistic::decide_one(&self.table, charge, now, |key| self.is_in_the_rest(key))
    }

    /// Decides charges together without a plan, if all of them pass; `None` if they have to be asked as one. They are
    /// admitted all together or not at all, at most 16 of them.
    pub fn decide_few_now(&self, charges: &[PlainCharge<'_>], now: Timestamp) -> Option<Verdicts> {
        ways::give_back_what_ended(self, now);
        let verdicts =
            optimistic::decide_together(&self.table, charges, now, |key| self.is_in_the_rest(key))?;
        verdicts.iter().all(Verdict::allowed).then_some(verdicts)
    }

    /// How many counters of each [share](tidegate_core::Limit::in_share) were dropped while they counted, since the store
    /// was made. Those beside the table are not told apart; they are in [`Usage::evicted`] only.
    pub fn evictions(&self) -> HashMap<u32, u64> {
        self.table.registry.evicted()
    }
}

impl Memory {
    const fn table_bytes(cap_bytes: usize) -> usize {
        cap_bytes / 4 * 3
    }

    const fn rest_bytes(cap_bytes: usize) -> usize {
        cap_bytes / 4
    }

    /// The part of the rest's bytes that may be taken by what was carried over.
    const fn carried_bytes(cap_bytes: usize) -> usize {
        cap_bytes / 8
    }

    /// What was carried over is looked for first: it goes to the others while their mutex is held.
    fn is_in_the_rest(&self, key: KeyRef<'_>) -> bool {
        self.rest_is_used.load(Ordering::Acquire)
            && (self.carried.holds(|| self.table.hash(key)) || self.rest.holds(key))
    }

    /// Lets counters that were carried over go on under the plan's keys.
    fn hand_over(&self, plan: &Plan, rest: &mut Locked<'_>) {
        if self.carried.is_empty() {
            return;
        }
        for (index, charge) in plan.charges().enumerate() {
            if let Some(state) = self.carried.take(self.table.hash(charge.key)) {
                self.rest.release(carried::bytes_of(&state));
                rest.change(index, |new| *new = state);
            }
        }
    }
}

impl Desk for Memory {
    type Ledger<'a> = Mixed<'a>;

    fn step<'a>(&'a self, plan: &'a Plan, now: Timestamp, intent: Intent) -> Step<'a, Mixed<'a>> {
        if intent == Intent::Charge && !self.rest_is_used.load(Ordering::Relaxed) {
            self.rest_is_used.store(true, Ordering::Release);
        }
        let mut rest = self.rest.lock(plan);
        self.hand_over(plan, &mut rest);
        let mut looks = 0;
        loop {
            if let Ok(held) = Held::take(&self.table, plan, (now, intent), |index| rest.has(index)) {
                return Step::new(plan, Mixed { held, rest });
            }
            sync::pause(&mut looks);
        }
    }

    fn seated(&self, plan: &Plan, now: Timestamp) -> Option<Plan> {
        Self::seated(self, plan, now)
    }

    fn pending(&self) -> &Pending {
        self.rest.pending()
    }

    fn afterwards(&self, plan: &Plan, now: Timestamp) {
        self.rest.afterwards(plan, now);
    }
}

/// Counters may stand under secret keys: a store tells how much it holds, not what.
impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Memory").field(&self.usage()).finish()
    }
}

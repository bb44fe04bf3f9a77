//! The reference store: maps behind mutexes, obviously right.
//!
//! A plan locks the shards of all its keys in ascending order, judges, charges and lets go. What is under the locks is
//! exactly what core says; everything else here is finding, bounding and remembering.

mod locked;
mod table;
mod reservations;
mod as_store;

use std::hash::RandomState;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tidegate_core::{Outside, Plan, Refund, State, Ticket, Timestamp};

use crate::contract::{Answer, AtEnd, Hold, Settlement, StoreError};
use crate::step::Step;
use locked::Locked;
use reservations::{Reservation, Reservations};
use table::{Budget, Held, Table};

/// How many shards there are: enough that two threads seldom meet, few enough to count them all now and then.
const SHARDS: usize = 64;

/// The byte cap of [`Reference::new`].
pub const DEFAULT_CAP_BYTES: usize = 256 << 20;

/// The smallest byte cap: empty tables alone take a part of it.
pub const MIN_CAP_BYTES: usize = 1 << 20;

/// A store in memory: exact under threads, bounded in bytes, and simple enough to be the oracle for all others.
///
/// When its cap is reached, counters that have emptied make room first, then those that would empty soonest; what was
/// lost is counted in [`Usage::evicted`]. Losing a counter means that its key starts afresh: at most one more burst, or
/// one more window's amount, per loss. A plan's own counters never make room for each other, so that memory stays below
/// the cap and the counters of the plans that are being decided.
pub struct Reference {
    hasher: RandomState,
    shards: Box<[Mutex<Shard>]>,
    counters: Budget,
    admissions: Budget,
    reservations: Mutex<Reservations>,
    /// When the next reservation ends; read without the lock, so that checks pay nothing while none is due.
    next_end_us: AtomicU64,
}

/// What a [`Reference`] holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Counters.
    pub counters: usize,
    /// Admissions remembered under idempotency keys.
    pub admissions: usize,
    /// Open reservations.
    pub reservations: usize,
    /// Memory held, in bytes.
    pub bytes: usize,
    /// Counters and admissions that were dropped while they still counted, to keep the cap.
    pub evicted: u64,
}

struct Shard {
    counters: Table<State>,
    admissions: Table<Admission>,
}

/// An admission remembered under an idempotency key.
struct Admission {
    fingerprint: u64,
    /// What was asked.
    asked: Option<u64>,
    until: Timestamp,
    answer: Answer,
}

impl Held for State {
    fn empty_at(&self) -> Timestamp {
        self.empty_at()
    }

    fn heap_bytes(&self) -> usize {
        self.heap_bytes()
    }
}

impl Held for Admission {
    fn empty_at(&self) -> Timestamp {
        self.until
    }

    fn heap_bytes(&self) -> usize {
        if self.answer.verdicts.spilled() {
            self.answer.verdicts.capacity() * size_of::<tidegate_core::Verdict>()
        } else {
            0
        }
    }
}

impl Default for Reference {
    fn default() -> Self {
        Self::new()
    }
}

impl Reference {
    /// An empty store with a cap of [`DEFAULT_CAP_BYTES`].
    pub fn new() -> Self {
        Self::with_cap(DEFAULT_CAP_BYTES)
    }

    /// An empty store that holds at most about `cap_bytes`; at least [`MIN_CAP_BYTES`]. Three quarters are for counters,
    /// an eighth each for idempotency keys and for reservations.
    pub fn with_cap(cap_bytes: usize) -> Self {
        let cap_bytes = cap_bytes.max(MIN_CAP_BYTES);
        let shard = || Mutex::new(Shard { counters: Table::new(), admissions: Table::new() });
        Self {
            counters: Budget::of(cap_bytes / 4 * 3),
            admissions: Budget::of(cap_bytes / 8),
            hasher: RandomState::new(),
            shards: (0..SHARDS).map(|_| shard()).collect(),
            reservations: Mutex::new(Reservations::with_cap(cap_bytes / 8)),
            next_end_us: AtomicU64::new(u64::MAX),
        }
    }

    /// What it holds at the moment.
    pub fn usage(&self) -> Usage {
        let mut usage = Usage::default();
        for shard in &self.shards {
            let shard = locked(shard);
            usage.counters += shard.counters.len();
            usage.admissions += shard.admissions.len();
            usage.bytes += shard.counters.bytes() + shard.admissions.bytes();
            usage.evicted += shard.counters.evicted() + shard.admissions.evicted();
        }
        let reservations = locked(&self.reservations);
        usage.reservations = reservations.len();
        usage.bytes += reservations.bytes();
        usage
    }

    /// [`crate::Store::decide`] without a future.
    pub fn decide_now(&self, plan: &Plan, now: Timestamp) -> Result<Answer, StoreError> {
        self.give_back_what_ended(now);
        self.decide_unless_known(plan, now, || Ok(()), |_| {})
    }

    /// [`crate::Store::read`] without a future.
    pub fn read_now(&self, plan: &Plan, now: Timestamp) -> Result<Answer, StoreError> {
        covers(plan, now)?;
        self.give_back_what_ended(now);
        let mut step = self.step(plan);
        for index in 0..plan.len() {
            step.judge(index, now);
        }
        Ok(step.answer(now))
    }

    /// [`crate::Store::reserve`] without a future.
    pub fn reserve_now(&self, plan: &Plan, hold: Hold, now: Timestamp) -> Result<Answer, StoreError> {
        let mut reservations = self.reservations_at(now);
        let mut paid = Vec::new();
        let may = || reservations.admit(plan);
        let answer = self.decide_unless_known(plan, now, may, |step| paid = step.paid())?;
        if answer.allowed() && !answer.replayed {
            let ends_at = now.plus_us(hold.term_us);
            reservations.insert(Reservation { plan: plan.clone(), paid, ends_at, at_end: hold.at_end });
            self.publish_next_end(&reservations);
        }
        Ok(answer)
    }

    /// [`crate::Store::commit`] without a future.
    pub fn commit_now(
        &self,
        ticket: Ticket,
        costs: &[u64],
        now: Timestamp,
    ) -> Result<Settlement, StoreError> {
        let mut reservations = self.reservations_at(now);
        match reservations.get(ticket).map(|reservation| reservation.plan.len()) {
            Some(charges) if charges != costs.len() => {
                Err(StoreError::CostCount { charges, costs: costs.len() })
            }
            _ => Ok(self.settle(&mut reservations, ticket, now, Truth::Costs(costs))),
        }
    }

    /// [`crate::Store::cancel`] without a future.
    pub fn cancel_now(&self, ticket: Ticket, now: Timestamp) -> Settlement {
        let mut reservations = self.reservations_at(now);
        self.settle(&mut reservations, ticket, now, Truth::Nothing)
    }

    /// [`crate::Store::release`] without a future.
    pub fn release_now(&self, plan: &Plan, now: Timestamp) -> u64 {
        let mut step = self.step(plan);
        (0..plan.len()).map(|index| step.release(index, now)).sum()
    }

    /// [`crate::Store::renew`] without a future.
    pub fn renew_now(&self, plan: &Plan, now: Timestamp) -> Option<Timestamp> {
        let mut step = self.step(plan);
        step.renew(now)
    }

    /// [`crate::Store::refund`] without a future.
    pub fn refund_now(&self, plan: &Plan, charged_at: Timestamp, now: Timestamp) -> Result<(), StoreError> {
        covers(plan, now)?;
        let mut step = self.step(plan);
        for (index, charge) in plan.charges().enumerate().filter(|(_, charge)| charge.pay.on_admission()) {
            step.refund(index, now, Refund { units: charge.cost, charged_at });
        }
        Ok(())
    }

    /// [`crate::Store::reset`] without a future.
    pub fn reset_now(&self, plan: &Plan) -> usize {
        let mut step = self.step(plan);
        (0..plan.len()).filter(|index| step.counters.forget(*index)).count()
    }

    /// One atomic step: every shard of the plan is locked while this runs. `may` has a last word before a plan that is
    /// not a replay is judged; `then` sees the step when it is paid.
    fn decide_unless_known(
        &self,
        plan: &Plan,
        now: Timestamp,
        may: impl FnOnce() -> Result<(), StoreError>,
        then: impl FnOnce(&Step<'_, Locked<'_>>),
    ) -> Result<Answer, StoreError> {
        covers(plan, now)?;
        let mut step = self.step(plan);
        if let Some(answer) = step.counters.replay(now)? {
            return Ok(answer);
        }
        may()?;
        step.counters.make_room(now, self);
        step.judge_and_pay(now);
        then(&step);
        let answer = step.answer(now);
        step.counters.remember(&answer, now);
        step.counters.keep_the_caps(now, self);
        drop(step);
        self.make_room_elsewhere(plan, now);
        Ok(answer)
    }

    /// A step over the plan's counters, with every shard of it locked.
    fn step<'a>(&'a self, plan: &'a Plan) -> Step<'a, Locked<'a>> {
        Step::new(plan, Locked::new(plan, &self.hasher, &self.shards))
    }

    /// If the plan's own shards had nothing left to drop, the others do: a few entries each, in turn.
    fn make_room_elsewhere(&self, plan: &Plan, now: Timestamp) {
        let drop_some = |shard: &Mutex<Shard>| {
            locked(shard).counters.drop_some(&self.counters, now, |key| locked::pinned(plan, key))
        };
        while self.counters.is_exceeded()
            && self.shards.iter().fold(false, |any, shard| any | drop_some(shard))
        {}
    }

    /// The reservations, after those that have ended are dealt with. Always locked before any shard.
    fn reservations_at(&self, now: Timestamp) -> MutexGuard<'_, Reservations> {
        let mut reservations = locked(&self.reservations);
        while let Some(ended) = reservations.pop_ended(now) {
            if ended.at_end == AtEnd::GiveBack {
                self.give_back(&ended, now);
            }
        }
        self.publish_next_end(&reservations);
        reservations
    }

    /// Before any decision: a check at an instant sees everything that was due back by then.
    fn give_back_what_ended(&self, now: Timestamp) {
        if self.next_end_us.load(Ordering::Acquire) <= now.as_micros() {
            drop(self.reservations_at(now));
        }
    }

    /// Published only after what ended was given back, while the lock is held.
    fn publish_next_end(&self, reservations: &Reservations) {
        let next_end = reservations.next_end().map_or(u64::MAX, Timestamp::as_micros);
        self.next_end_us.store(next_end, Ordering::Release);
    }

    fn give_back(&self, ended: &Reservation, now: Timestamp) {
        let mut step = self.step(&ended.plan);
        for (index, booked_at) in &ended.paid {
            step.adjust(*index, now, 0, *booked_at);
        }
    }

    fn settle(
        &self,
        reservations: &mut Reservations,
        ticket: Ticket,
        now: Timestamp,
        truth: Truth<'_>,
    ) -> Settlement {
        let Some(reservation) = reservations.remove(ticket) else { return Settlement::Gone };
        self.publish_next_end(reservations);
        let mut step = self.step(&reservation.plan);
        for (index, booked_at) in &reservation.paid {
            let cost = if let Truth::Costs(costs) = truth { costs[*index] } else { 0 };
            step.adjust(*index, now, cost, *booked_at);
        }
        if matches!(truth, Truth::Nothing) {
            step.counters.forget_name();
        }
        let verdicts = step.verdicts(now);
        step.counters.keep_the_caps(now, self);
        Settlement::Settled(verdicts)
    }
}

/// What a reservation came to.
#[derive(Clone, Copy)]
enum Truth<'a> {
    /// So much for each charge.
    Costs(&'a [u64]),
    /// It was not needed.
    Nothing,
}

/// Counters may stand under secret keys: a store tells how much it holds, not what.
impl std::fmt::Debug for Reference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Reference").field(&self.usage()).finish()
    }
}

/// Reads past a panic in another thread: every write under a lock is complete on its own.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bits from the middle choose the shard: the table inside it uses the lowest and the highest.
const fn shard_of(hash: u64) -> usize {
    (hash >> 48) as usize % SHARDS
}

fn covers(plan: &Plan, now: Timestamp) -> Result<(), Outside> {
    if plan.charges().all(|charge| charge.limit.covers(now)) { Ok(()) } else { Err(Outside) }
}

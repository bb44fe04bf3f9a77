//! The reference store: maps behind mutexes, obviously right.
//!
//! A plan locks the shards of all its keys in ascending order, judges, charges and lets go. What is under the locks is
//! exactly what core says; everything else here is finding, bounding and remembering.

mod lock;
mod table;
mod walk;

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Mutex;

use tidegate_core::{KeyRef, Plan, State, Timestamp};

use crate::contract::{Answer, StoreError};
use crate::locked;
use crate::step::Step;
use crate::ways::{self, Desk, Intent, Pending};
pub(crate) use lock::Locked;
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
    budgets: Budgets,
    pending: Pending,
}

/// Bytes for each kind of thing.
struct Budgets {
    counters: Budget,
    admissions: Budget,
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
            budgets: Budgets {
                counters: Budget::of(cap_bytes / 4 * 3),
                admissions: Budget::of(cap_bytes / 8),
            },
            hasher: RandomState::new(),
            shards: (0..SHARDS).map(|_| shard()).collect(),
            pending: Pending::with_cap(cap_bytes / 8),
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
        let (reservations, bytes) = self.pending.usage();
        usage.reservations = reservations;
        usage.bytes += bytes;
        usage
    }

    /// The plan's shards, locked.
    pub(crate) fn lock<'a>(&'a self, plan: &'a Plan) -> Locked<'a> {
        Locked::new(plan, &self.hasher, (&self.shards, &self.budgets))
    }

    /// Keeps bytes of its counters' share for others.
    pub(crate) fn reserve(&self, bytes: usize) {
        self.budgets.counters.change(0, bytes);
    }

    /// Takes such bytes back.
    pub(crate) fn release(&self, bytes: usize) {
        self.budgets.counters.change(bytes, 0);
    }

    /// Whether it holds that counter.
    pub(crate) fn holds(&self, key: KeyRef<'_>) -> bool {
        let hash = self.hasher.hash_one(key.bytes());
        locked(&self.shards[shard_of(hash)]).counters.find(hash, key.bytes()).is_some()
    }

    /// The state of a counter; empty if there is none. For those who compare other stores with this one.
    pub fn state(&self, key: KeyRef<'_>) -> State {
        let hash = self.hasher.hash_one(key.bytes());
        let shard = locked(&self.shards[shard_of(hash)]);
        let place = shard.counters.find(hash, key.bytes());
        place.and_then(|place| shard.counters.get(place)).cloned().unwrap_or_default()
    }

    /// [`crate::Store::decide`] without a future.
    pub fn decide_now(&self, plan: &Plan, now: Timestamp) -> Result<Answer, StoreError> {
        ways::decide(self, plan, now)
    }

    /// If the plan's own shards had nothing left to drop, the others do: a few entries each, in turn.
    fn make_room_elsewhere(&self, plan: &Plan, now: Timestamp) {
        let drop_some = |shard: &Mutex<Shard>| {
            locked(shard).counters.drop_some(&self.budgets.counters, now, |key| lock::pinned(plan, key))
        };
        while self.budgets.counters.is_exceeded()
            && self.shards.iter().fold(false, |any, shard| any | drop_some(shard))
        {}
    }
}

impl Desk for Reference {
    type Ledger<'a> = Locked<'a>;

    fn step<'a>(&'a self, plan: &'a Plan, _: Timestamp, _: Intent) -> Step<'a, Locked<'a>> {
        Step::new(plan, self.lock(plan))
    }

    fn pending(&self) -> &Pending {
        &self.pending
    }

    fn afterwards(&self, plan: &Plan, now: Timestamp) {
        self.make_room_elsewhere(plan, now);
    }
}

/// Counters may stand under secret keys: a store tells how much it holds, not what.
impl std::fmt::Debug for Reference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Reference").field(&self.usage()).finish()
    }
}

/// Bits from the middle choose the shard: the table inside it uses the lowest and the highest.
const fn shard_of(hash: u64) -> usize {
    (hash >> 48) as usize % SHARDS
}

//! The shards that a plan touches, locked, and its counters in them.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Mutex, MutexGuard};

use smallvec::SmallVec;
use tidegate_core::{Plan, State, Timestamp};

use super::{Admission, Budgets, Shard, shard_of};
use crate::contract::{Answer, StoreError};
use crate::locked;
use crate::step::Counters;
use crate::ways::Ledger;

/// A plan's keys, and the shards of all of them, locked.
pub(crate) struct Locked<'a> {
    plan: &'a Plan,
    budgets: &'a Budgets,
    hasher: &'a RandomState,
    seats: SmallVec<[Seat; 4]>,
    /// The hash of the idempotency key.
    name: Option<u64>,
    /// In ascending order of their numbers.
    shards: SmallVec<[(usize, MutexGuard<'a, Shard>); 4]>,
}

/// Where a charge's counter is.
#[derive(Clone, Copy)]
struct Seat {
    hash: u64,
    /// The position of its shard among the locked ones.
    shard: usize,
}

impl<'a> Locked<'a> {
    /// Finds and locks everything that the plan touches, in ascending order, so that no two plans wait for each other.
    pub(super) fn new(
        plan: &'a Plan,
        hasher: &'a RandomState,
        (shards, budgets): (&'a [Mutex<Shard>], &'a Budgets),
    ) -> Self {
        let name = plan.idempotency().map(|idempotency| hasher.hash_one(idempotency.key.as_ref().bytes()));
        let seat =
            |charge: tidegate_core::Charge<'_>| Seat { hash: hasher.hash_one(charge.key.bytes()), shard: 0 };
        let mut seats: SmallVec<[Seat; 4]> = plan.charges().map(seat).collect();
        let mut wanted: SmallVec<[usize; 8]> =
            seats.iter().map(|seat| seat.hash).chain(name).map(shard_of).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let shards = wanted.iter().map(|shard| (*shard, locked(&shards[*shard]))).collect();
        for seat in &mut seats {
            seat.shard = wanted.binary_search(&shard_of(seat.hash)).unwrap_or(0);
        }
        Self { plan, budgets, hasher, seats, name, shards }
    }

    /// Whether the counter of a charge is here.
    pub(crate) fn has(&self, index: usize) -> bool {
        self.find(index).is_some()
    }

    fn find(&self, index: usize) -> Option<usize> {
        let Seat { hash, shard } = self.seats[index];
        self.shards[shard].1.counters.find(hash, self.plan.get(index).key.bytes())
    }

    /// The position of a hash's shard among the locked ones.
    fn position(&self, hash: u64) -> usize {
        let number = shard_of(hash);
        self.shards
            .iter()
            .position(|(shard, _)| *shard == number)
            .expect("every shard of the plan was locked")
    }

    /// Tells plans apart that come under one idempotency key. Numbers of limits, and when
    /// charges pay, are left out: they may be reloaded.
    fn fingerprint(&self) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        for charge in self.plan.charges() {
            hasher.write_usize(charge.key.bytes().len());
            hasher.write(charge.key.bytes());
            hasher.write_u64(charge.cost);
            hasher.write_u16(charge.group);
        }
        hasher.finish()
    }
}

impl Ledger for Locked<'_> {
    fn make_room(&mut self, now: Timestamp) {
        let plan = self.plan;
        for (position, (number, shard)) in self.shards.iter_mut().enumerate() {
            let more = self.seats.iter().filter(|seat| seat.shard == position).count();
            shard.counters.make_room(more, now, &self.budgets.counters, |key| pinned(plan, key));
            if self.name.map(shard_of) == Some(*number) {
                shard.admissions.make_room(1, now, &self.budgets.admissions, |_| false);
            }
        }
    }

    fn close(mut self, now: Timestamp) {
        let plan = self.plan;
        for (_, shard) in &mut self.shards {
            shard.counters.keep_within(&self.budgets.counters, now, |key| pinned(plan, key));
            shard.admissions.keep_within(&self.budgets.admissions, now, |_| false);
        }
    }

    fn replay(&self, now: Timestamp) -> Result<Option<Answer>, StoreError> {
        let (Some(idempotency), Some(hash)) = (self.plan.idempotency(), self.name) else { return Ok(None) };
        let admissions = &self.shards[self.position(hash)].1.admissions;
        let known =
            admissions.find(hash, idempotency.key.as_ref().bytes()).and_then(|place| admissions.get(place));
        let Some(known) = known.filter(|known| known.until > now) else { return Ok(None) };
        let answer = known.answer.clone();
        if known.fingerprint == self.fingerprint() {
            Ok(Some(answer.replay()))
        } else if known.asked.is_some() && known.asked == idempotency.asked {
            Ok(Some(answer.replay_without_verdicts()))
        } else {
            Err(StoreError::IdempotencyConflict)
        }
    }

    fn remember(&mut self, answer: &Answer, now: Timestamp) {
        let (Some(idempotency), Some(hash)) = (self.plan.idempotency(), self.name) else { return };
        if answer.allowed() {
            let until = now.plus_us(idempotency.keep_us);
            let (fingerprint, asked) = (self.fingerprint(), idempotency.asked);
            let admission = Admission { fingerprint, asked, until, answer: answer.clone() };
            let shard = self.position(hash);
            self.shards[shard].1.admissions.insert(hash, idempotency.key.as_ref().bytes(), admission);
        }
    }

    fn forget_name(&mut self) {
        if let (Some(idempotency), Some(hash)) = (self.plan.idempotency(), self.name) {
            let shard = self.position(hash);
            self.shards[shard].1.admissions.remove(hash, idempotency.key.as_ref().bytes());
        }
    }

    fn forget(&mut self, index: usize) -> bool {
        let Seat { hash, shard } = self.seats[index];
        self.shards[shard].1.counters.remove(hash, self.plan.get(index).key.bytes())
    }
}

impl Counters for Locked<'_> {
    fn state(&self, index: usize) -> &State {
        let counters = &self.shards[self.seats[index].shard].1.counters;
        self.find(index).and_then(|place| counters.get(place)).unwrap_or(&State::EMPTY)
    }

    fn change<T>(&mut self, index: usize, change: impl FnOnce(&mut State) -> T) -> T {
        let (place, Seat { hash, shard }) = (self.find(index), self.seats[index]);
        let counters = &mut self.shards[shard].1.counters;
        let key = self.plan.get(index).key.bytes();
        let place = place.unwrap_or_else(|| counters.insert(hash, key, State::EMPTY));
        counters.change(place, change).expect("it was found or made above")
    }

    fn change_if_there<T>(&mut self, index: usize, change: impl FnOnce(&mut State) -> T) -> Option<T> {
        let place = self.find(index)?;
        self.shards[self.seats[index].shard].1.counters.change(place, change)
    }
}

/// Whether the key is one of the plan's own: a plan never makes room for itself by forgetting what it just charged.
pub(super) fn pinned(plan: &Plan, key: &[u8]) -> bool {
    plan.charges().any(|charge| charge.key.bytes() == key)
}

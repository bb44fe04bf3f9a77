//! One atomic step: a plan with every shard that it touches locked.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::ops::Range;
use std::sync::MutexGuard;

use smallvec::SmallVec;
use tidegate_core::{Limit, Outcome, Plan, Refund, State, Timestamp};

use super::{Admission, Shard, shard_of};
use crate::contract::{Answer, StoreError, Verdicts};

/// A plan and the shards of all its keys, locked.
pub(super) struct Step<'a> {
    pub(super) plan: &'a Plan,
    pub(super) seats: SmallVec<[Seat; 4]>,
    pub(super) hasher: &'a RandomState,
    /// The hash of the idempotency key.
    pub(super) name: Option<u64>,
    /// In ascending order of their numbers.
    pub(super) shards: SmallVec<[(usize, MutexGuard<'a, Shard>); 4]>,
}

/// Where one charge of the plan stands.
pub(super) struct Seat {
    pub(super) hash: u64,
    /// The position of its shard among the locked ones.
    shard: usize,
    /// What all charges of its group on its key cost together: duplicates pass or fail as one.
    total: u64,
    /// Whether it is the first of its group on its key: the one that pays for all.
    first: bool,
    outcome: Outcome,
    pub(super) paid: bool,
}

impl Seat {
    pub(super) fn new(hash: u64) -> Self {
        Self { hash, shard: 0, total: 0, first: true, outcome: Outcome::Allowed, paid: false }
    }
}

impl Step<'_> {
    /// Finds each charge's shard, and folds the charges of a group that fall on one key.
    pub(super) fn take_seats(&mut self) {
        for index in 0..self.seats.len() {
            let charge = self.plan.get(index);
            let (hash, mut total, mut first) = (self.seats[index].hash, 0_u64, true);
            for (other, seat) in self.seats.iter().enumerate().filter(|(_, seat)| seat.hash == hash) {
                let twin = self.plan.get(other);
                if seat.hash == hash && twin.group == charge.group && twin.key == charge.key {
                    total = total.saturating_add(twin.cost);
                    first &= other >= index;
                }
            }
            let shard = self.locked(hash);
            self.seats[index] = Seat { shard, total, first, ..Seat::new(hash) };
        }
    }

    /// The groups as ranges of charges.
    pub(super) fn groups(&self) -> SmallVec<[Range<usize>; 4]> {
        let mut groups: SmallVec<[Range<usize>; 4]> = SmallVec::new();
        for (index, charge) in self.plan.charges().enumerate() {
            match groups.last_mut() {
                Some(group) if self.plan.get(group.start).group == charge.group => group.end = index + 1,
                _ => groups.push(index..index + 1),
            }
        }
        groups
    }

    /// Makes room for as many new keys as the plan could bring.
    pub(super) fn make_room(&mut self, now: Timestamp) {
        let plan = self.plan;
        for (position, (_, shard)) in self.shards.iter_mut().enumerate() {
            let more = self.seats.iter().filter(|seat| seat.shard == position).count();
            shard.counters.make_room(more, now, |key| pinned(plan, key));
            shard.admissions.make_room(1, now, |_| false);
        }
    }

    /// The answer that an earlier delivery of this plan got.
    pub(super) fn replay(&self, now: Timestamp) -> Result<Option<Answer>, StoreError> {
        let (Some(idempotency), Some(hash)) = (self.plan.idempotency(), self.name) else { return Ok(None) };
        let admissions = &self.shards[self.locked(hash)].1.admissions;
        let known =
            admissions.find(hash, idempotency.key.as_ref().bytes()).and_then(|place| admissions.get(place));
        match known {
            Some(known) if known.until > now && known.fingerprint != self.fingerprint() => {
                Err(StoreError::IdempotencyConflict)
            }
            Some(known) if known.until > now => Ok(Some(known.answer.clone().replay())),
            _ => Ok(None),
        }
    }

    /// Remembers an admission under the plan's idempotency key, in the same step as its charges.
    pub(super) fn remember(&mut self, answer: &Answer, now: Timestamp) {
        let (Some(idempotency), Some(hash)) = (self.plan.idempotency(), self.name) else { return };
        if answer.allowed() {
            let until = now.plus_us(idempotency.keep_us);
            let admission = Admission { fingerprint: self.fingerprint(), until, answer: answer.clone() };
            let shard = self.locked(hash);
            self.shards[shard].1.admissions.insert(hash, idempotency.key.as_ref().bytes(), admission);
        }
    }

    /// Whether the charge would pass.
    pub(super) fn judge(&mut self, index: usize, now: Timestamp) -> bool {
        let total = self.seats[index].total;
        let outcome = self.on(index, |limit, state| limit.judge(state, now, total));
        self.seats[index].outcome = outcome;
        outcome.allowed()
    }

    /// Makes the charge.
    pub(super) fn pay(&mut self, index: usize, now: Timestamp) {
        let Seat { total, first, .. } = self.seats[index];
        self.seats[index].paid = true;
        if first {
            self.charge(index, now, total);
        }
    }

    /// Gives units back, if the counter is still there.
    pub(super) fn refund(&mut self, index: usize, now: Timestamp, refund: Refund) {
        self.change(index, |limit, state| limit.refund(state, now, refund));
    }

    /// Changes what was paid for a charge from its cost to what it came to. Slots are given back.
    pub(super) fn adjust(&mut self, index: usize, now: Timestamp, cost: u64, charged_at: Timestamp) {
        let charge = self.plan.get(index);
        if charge.limit.term_us().is_some() {
            self.release(index, now);
        } else if cost < charge.cost {
            self.refund(index, now, Refund { units: charge.cost - cost, charged_at });
        } else {
            self.charge(index, now, cost - charge.cost);
        }
    }

    /// Gives the plan's slot at this charge back; how many units it held.
    pub(super) fn release(&mut self, index: usize, now: Timestamp) -> u64 {
        let ticket = self.plan.ticket();
        self.change(index, |limit, state| limit.release(state, now, ticket)).unwrap_or(0)
    }

    /// Renews the slots of all concurrency charges; the first end among them, `None` if one was gone.
    pub(super) fn renew(&mut self, now: Timestamp) -> Option<Timestamp> {
        let ticket = self.plan.ticket();
        let mut first_end = None;
        let mut all_there = true;
        for index in (0..self.plan.len()).filter(|index| self.plan.get(*index).limit.term_us().is_some()) {
            let end = self.change(index, |limit, state| limit.renew(state, now, ticket)).flatten();
            all_there &= end.is_some();
            first_end = first_end.into_iter().chain(end).min();
        }
        first_end.filter(|_| all_there)
    }

    /// Drops the counter; whether there was one.
    pub(super) fn forget(&mut self, index: usize) -> bool {
        let key = self.plan.get(index).key.bytes();
        let Seat { hash, shard, .. } = self.seats[index];
        self.shards[shard].1.counters.remove(hash, key)
    }

    /// One verdict per charge, on the counters as they now are.
    pub(super) fn verdicts(&self, now: Timestamp) -> Verdicts {
        let verdict = |(index, seat): (usize, &Seat)| {
            self.on(index, |limit, state| limit.verdict(state, now, seat.outcome))
        };
        self.seats.iter().enumerate().map(verdict).collect()
    }

    /// Bounds the memory of every shard that was touched.
    pub(super) fn keep_the_cap(&mut self, now: Timestamp) {
        let plan = self.plan;
        for (_, shard) in &mut self.shards {
            shard.counters.keep_the_cap(now, |key| pinned(plan, key));
            shard.admissions.keep_the_cap(now, |_| false);
        }
    }

    fn charge(&mut self, index: usize, now: Timestamp, cost: u64) {
        if cost == 0 {
            return;
        }
        let charge = self.plan.get(index);
        let Seat { hash, shard, .. } = self.seats[index];
        let counters = &mut self.shards[shard].1.counters;
        let place = counters.find(hash, charge.key.bytes());
        let place = place.unwrap_or_else(|| counters.insert(hash, charge.key.bytes(), State::EMPTY));
        counters.change(place, |state| charge.limit.charge(state, now, cost, self.plan.ticket()));
    }

    /// Reads the charge's counter; an empty one if there is none.
    fn on<T>(&self, index: usize, read: impl FnOnce(&Limit, &State) -> T) -> T {
        let charge = self.plan.get(index);
        let Seat { hash, shard, .. } = self.seats[index];
        let counters = &self.shards[shard].1.counters;
        let place = counters.find(hash, charge.key.bytes());
        read(charge.limit, place.and_then(|place| counters.get(place)).unwrap_or(&State::EMPTY))
    }

    /// Changes the charge's counter, if there is one.
    fn change<T>(&mut self, index: usize, change: impl FnOnce(&Limit, &mut State) -> T) -> Option<T> {
        let charge = self.plan.get(index);
        let Seat { hash, shard, .. } = self.seats[index];
        let counters = &mut self.shards[shard].1.counters;
        let place = counters.find(hash, charge.key.bytes())?;
        counters.change(place, |state| change(charge.limit, state))
    }

    /// The position of a hash's shard among the locked ones.
    fn locked(&self, hash: u64) -> usize {
        let number = shard_of(hash);
        self.shards
            .iter()
            .position(|(shard, _)| *shard == number)
            .expect("every shard of the plan was locked")
    }

    /// Tells plans apart that come under one idempotency key. Numbers of limits are left out: they may be reloaded.
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

fn pinned(plan: &Plan, key: &[u8]) -> bool {
    plan.charges().any(|charge| charge.key.bytes() == key)
}

//! One atomic step: a plan with every shard that it touches locked.

mod pay;

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Mutex, MutexGuard};

use smallvec::SmallVec;
use tidegate_core::{Charge, Limit, Outcome, Plan, Refund, State, Timestamp};

use pay::Paid;

use super::{Admission, Reference, Shard, locked, shard_of};
use crate::contract::{Answer, StoreError, Verdicts};

/// A plan and the shards of all its keys, locked. It is filled where it stands and never moved: it is large.
pub(super) struct Step<'a> {
    plan: &'a Plan,
    hasher: &'a RandomState,
    seats: SmallVec<[Seat<'a>; 4]>,
    /// The hash of the idempotency key.
    name: Option<u64>,
    /// In ascending order of their numbers.
    shards: SmallVec<[(usize, MutexGuard<'a, Shard>); 4]>,
}

/// Where one charge of the plan stands.
struct Seat<'a> {
    charge: Charge<'a>,
    hash: u64,
    /// The position of its shard among the locked ones.
    shard: usize,
    /// The place of its counter, once it was found. Nothing is removed between that and its last use.
    place: Option<usize>,
    /// What all charges of its group on its key cost together: duplicates pass or fail as one.
    total: u64,
    /// Whether it is the first of its group on its key: the one that pays for all.
    first: bool,
    outcome: Outcome,
    paid: Paid,
    booked_at: Timestamp,
}

impl<'a> Step<'a> {
    /// A step that has locked nothing yet.
    pub(super) fn new(plan: &'a Plan, hasher: &'a RandomState) -> Self {
        let name = plan.idempotency().map(|idempotency| hasher.hash_one(idempotency.key.as_ref().bytes()));
        Self { plan, hasher, seats: SmallVec::new(), name, shards: SmallVec::new() }
    }

    /// Finds and locks everything that the plan touches, in ascending order, so that no two plans wait for each other.
    pub(super) fn lock(&mut self, shards: &'a [Mutex<Shard>]) {
        for charge in self.plan.charges() {
            self.seats.push(Seat::new(charge, self.hasher.hash_one(charge.key.bytes())));
        }
        let mut wanted: SmallVec<[usize; 8]> =
            self.seats.iter().map(|seat| seat.hash).chain(self.name).map(shard_of).collect();
        wanted.sort_unstable();
        wanted.dedup();
        for shard in wanted {
            self.shards.push((shard, locked(&shards[shard])));
        }
        for index in 0..self.seats.len() {
            self.seats[index].shard = self.position(self.seats[index].hash);
            self.fold(index);
        }
    }

    /// Adds up the charges of the seat's group that fall on its key.
    fn fold(&mut self, index: usize) {
        let Seat { charge, hash, .. } = self.seats[index];
        let is_twin = |seat: &Seat<'_>| {
            seat.hash == hash && seat.charge.group == charge.group && seat.charge.key == charge.key
        };
        let twins = self.seats.iter().filter(|seat| is_twin(seat));
        let total = twins.fold(0_u64, |total, twin| total.saturating_add(twin.charge.cost));
        let first = !self.seats[..index].iter().any(is_twin);
        (self.seats[index].total, self.seats[index].first) = (total, first);
    }

    /// The store's word, on the counters as they now are.
    pub(super) fn answer(&mut self, now: Timestamp) -> Answer {
        let verdicts = self.verdicts(now);
        Answer::new(self.plan, verdicts, |index| self.seats[index].paid != Paid::Not)
    }

    /// Makes room for as many new keys as the plan could bring.
    pub(super) fn make_room(&mut self, now: Timestamp, store: &Reference) {
        let plan = self.plan;
        for (position, (number, shard)) in self.shards.iter_mut().enumerate() {
            let more = self.seats.iter().filter(|seat| seat.shard == position).count();
            shard.counters.make_room(more, now, &store.counters, |key| pinned(plan, key));
            if self.name.map(shard_of) == Some(*number) {
                shard.admissions.make_room(1, now, &store.admissions, |_| false);
            }
        }
    }

    /// The answer that an earlier delivery of this plan got.
    pub(super) fn replay(&self, now: Timestamp) -> Result<Option<Answer>, StoreError> {
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

    /// Remembers an admission under the plan's idempotency key, in the same step as its charges.
    pub(super) fn remember(&mut self, answer: &Answer, now: Timestamp) {
        let (Some(idempotency), Some(hash)) = (self.plan.idempotency(), self.name) else { return };
        if answer.allowed() {
            let until = now.plus_us(idempotency.keep_us);
            let (fingerprint, asked) = (self.fingerprint(), idempotency.asked);
            let admission = Admission { fingerprint, asked, until, answer: answer.clone() };
            let shard = self.position(hash);
            self.shards[shard].1.admissions.insert(hash, idempotency.key.as_ref().bytes(), admission);
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

    /// Renews the slots of all concurrency charges that take some; the first end among them, `None` if one was gone.
    pub(super) fn renew(&mut self, now: Timestamp) -> Option<Timestamp> {
        let ticket = self.plan.ticket();
        let mut first_end = None;
        let mut all_there = true;
        let held = |charge: Charge<'_>| charge.limit.term_us().is_some() && charge.pay.on_admission();
        for index in (0..self.plan.len()).filter(|index| held(self.plan.get(*index))) {
            let end = self.change(index, |limit, state| limit.renew(state, now, ticket)).flatten();
            all_there &= end.is_some();
            first_end = first_end.into_iter().chain(end).min();
        }
        first_end.filter(|_| all_there)
    }

    /// Drops the counter; whether there was one.
    pub(super) fn forget(&mut self, index: usize) -> bool {
        let Seat { charge, hash, shard, .. } = self.seats[index];
        self.shards[shard].1.counters.remove(hash, charge.key.bytes())
    }

    /// One verdict per charge, on the counters as they now are.
    pub(super) fn verdicts(&mut self, now: Timestamp) -> Verdicts {
        (0..self.seats.len()).for_each(|index| self.find(index));
        let verdict =
            |seat: &Seat<'_>| seat.charge.limit.verdict(self.state(seat), now, self.outcome(seat, now));
        self.seats.iter().map(verdict).collect()
    }

    /// Bounds the memory of every shard that was touched.
    pub(super) fn keep_the_caps(&mut self, now: Timestamp, store: &Reference) {
        let plan = self.plan;
        for (_, shard) in &mut self.shards {
            shard.counters.keep_within(&store.counters, now, |key| pinned(plan, key));
            shard.admissions.keep_within(&store.admissions, now, |_| false);
        }
    }

    /// Forgets the plan's idempotency key.
    pub(super) fn forget_name(&mut self) {
        if let (Some(idempotency), Some(hash)) = (self.plan.idempotency(), self.name) {
            let shard = self.position(hash);
            self.shards[shard].1.admissions.remove(hash, idempotency.key.as_ref().bytes());
        }
    }

    fn charge(&mut self, index: usize, now: Timestamp, cost: u64) {
        self.seats[index].booked_at = now;
        if cost == 0 {
            return;
        }
        self.find(index);
        let Seat { charge, hash, shard, place, .. } = self.seats[index];
        let counters = &mut self.shards[shard].1.counters;
        let place = place.unwrap_or_else(|| counters.insert(hash, charge.key.bytes(), State::EMPTY));
        let ticket = self.plan.ticket();
        let booked_at = counters.change(place, |state| charge.limit.charge(state, now, cost, ticket));
        self.seats[index].place = Some(place);
        self.seats[index].booked_at = booked_at.unwrap_or(now);
    }

    /// Looks for the charge's counter, if it was not there yet when last looked for.
    fn find(&mut self, index: usize) {
        let Seat { charge, hash, shard, place, .. } = self.seats[index];
        if place.is_none() {
            self.seats[index].place = self.shards[shard].1.counters.find(hash, charge.key.bytes());
        }
    }

    /// The seat's counter; an empty one if there is none.
    fn state(&self, seat: &Seat<'_>) -> &State {
        let counters = &self.shards[seat.shard].1.counters;
        seat.place.and_then(|place| counters.get(place)).unwrap_or(&State::EMPTY)
    }

    /// Changes the charge's counter, if there is one.
    fn change<T>(&mut self, index: usize, change: impl FnOnce(&Limit, &mut State) -> T) -> Option<T> {
        self.find(index);
        let Seat { charge, shard, place, .. } = self.seats[index];
        self.shards[shard].1.counters.change(place?, |state| change(charge.limit, state))
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

impl<'a> Seat<'a> {
    fn new(charge: Charge<'a>, hash: u64) -> Self {
        Self {
            charge,
            hash,
            shard: 0,
            place: None,
            total: 0,
            first: true,
            outcome: Outcome::Allowed,
            paid: Paid::Not,
            booked_at: Timestamp::ZERO,
        }
    }
}

/// Whether the key is one of the plan's own: a plan never makes room for itself by forgetting what it just charged.
pub(super) fn pinned(plan: &Plan, key: &[u8]) -> bool {
    plan.charges().any(|charge| charge.key.bytes() == key)
}

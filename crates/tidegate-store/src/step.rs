//! One atomic step over counters that are held fast: judging a plan, and charging it. Where the counters are is up to the
//! store.

mod pay;

use smallvec::SmallVec;
use tidegate_core::{Charge, Outcome, Plan, Refund, State, Timestamp};

pub(crate) use pay::Paid;

use crate::contract::{Answer, Verdicts};

/// The counters of a plan's charges, by their places in the plan, while nobody else changes them. Charges on one key have
/// one counter.
pub(crate) trait Counters {
    /// What is there; an empty state if there is nothing.
    fn state(&self, index: usize) -> &State;

    /// Changes a counter, which is made if it is not there.
    fn change<T>(&mut self, index: usize, change: impl FnOnce(&mut State) -> T) -> T;

    /// Changes a counter, if it is there.
    fn change_if_there<T>(&mut self, index: usize, change: impl FnOnce(&mut State) -> T) -> Option<T>;
}

/// A plan and its counters.
pub(crate) struct Step<'a, C> {
    plan: &'a Plan,
    seats: SmallVec<[Seat<'a>; 4]>,
    pub(crate) counters: C,
}

/// Where one charge of the plan stands.
#[derive(Clone, Copy)]
struct Seat<'a> {
    charge: Charge<'a>,
    /// What all charges of its group on its key cost together: duplicates pass or fail as one.
    total: u64,
    /// Whether it is the first of its group on its key: the one that pays for all.
    first: bool,
    outcome: Outcome,
    paid: Paid,
    booked_at: Timestamp,
}

impl<'a, C: Counters> Step<'a, C> {
    pub(crate) fn new(plan: &'a Plan, counters: C) -> Self {
        let mut seats: SmallVec<[Seat<'a>; 4]> = plan.charges().map(Seat::new).collect();
        for index in 0..seats.len() {
            let Charge { key, group, .. } = seats[index].charge;
            let is_twin = |seat: &&Seat<'_>| seat.charge.group == group && seat.charge.key == key;
            let costs = seats.iter().filter(is_twin).map(|twin| twin.charge.cost);
            let total = costs.fold(0_u64, u64::saturating_add);
            let first = !seats[..index].iter().any(|seat| is_twin(&seat));
            (seats[index].total, seats[index].first) = (total, first);
        }
        Self { plan, seats, counters }
    }

    /// The store's word, on the counters as they now are.
    pub(crate) fn answer(&self, now: Timestamp) -> Answer {
        Answer::new(self.plan, self.verdicts(now), |index| self.seats[index].paid != Paid::Not)
    }

    /// One verdict per charge, on the counters as they now are.
    pub(crate) fn verdicts(&self, now: Timestamp) -> Verdicts {
        let verdict = |(index, seat): (usize, &Seat<'_>)| {
            seat.charge.limit.verdict(self.counters.state(index), now, self.outcome(index, now))
        };
        self.seats.iter().enumerate().map(verdict).collect()
    }

    /// Gives units back, if the counter is still there.
    pub(crate) fn refund(&mut self, index: usize, now: Timestamp, refund: Refund) {
        let limit = self.seats[index].charge.limit;
        self.counters.change_if_there(index, |state| limit.refund(state, now, refund));
    }

    /// Changes what was paid for a charge from its cost to what it came to. Slots are given back.
    pub(crate) fn adjust(&mut self, index: usize, now: Timestamp, cost: u64, charged_at: Timestamp) {
        let charge = self.seats[index].charge;
        if charge.limit.term_us().is_some() {
            self.release(index, now);
        } else if cost < charge.cost {
            self.refund(index, now, Refund { units: charge.cost - cost, charged_at });
        } else {
            self.charge(index, now, cost - charge.cost);
        }
    }

    /// Charges what the counter lacks of the charge's cost.
    pub(crate) fn raise(&mut self, index: usize, now: Timestamp) {
        let charge = self.seats[index].charge;
        if charge.limit.term_us().is_none() {
            let verdict = charge.limit.verdict(self.counters.state(index), now, Outcome::Allowed);
            let units = charge.cost.min(verdict.limit.saturating_mul(2));
            self.charge(index, now, units.saturating_sub(verdict.used()));
        }
    }

    /// Gives the plan's slot at this charge back; how many units it held.
    pub(crate) fn release(&mut self, index: usize, now: Timestamp) -> u64 {
        let (limit, ticket) = (self.seats[index].charge.limit, self.plan.ticket());
        self.counters.change_if_there(index, |state| limit.release(state, now, ticket)).unwrap_or(0)
    }

    /// Renews the slots of all concurrency charges that take some; the first end among them, `None` if one was gone.
    pub(crate) fn renew(&mut self, now: Timestamp) -> Option<Timestamp> {
        let ticket = self.plan.ticket();
        let mut first_end = None;
        let mut all_there = true;
        let held = |charge: Charge<'_>| charge.limit.term_us().is_some() && charge.pay.on_admission();
        for index in (0..self.plan.len()).filter(|index| held(self.plan.get(*index))) {
            let limit = self.seats[index].charge.limit;
            let end = self.counters.change_if_there(index, |state| limit.renew(state, now, ticket)).flatten();
            all_there &= end.is_some();
            first_end = first_end.into_iter().chain(end).min();
        }
        first_end.filter(|_| all_there)
    }

    fn charge(&mut self, index: usize, now: Timestamp, cost: u64) {
        self.seats[index].booked_at = now;
        if cost == 0 {
            return;
        }
        let (limit, ticket) = (self.seats[index].charge.limit, self.plan.ticket());
        let booked_at = self.counters.change(index, |state| limit.charge(state, now, cost, ticket));
        self.seats[index].booked_at = booked_at;
    }
}

impl<'a> Seat<'a> {
    fn new(charge: Charge<'a>) -> Self {
        Self {
            charge,
            total: 0,
            first: true,
            outcome: Outcome::Allowed,
            paid: Paid::Not,
            booked_at: Timestamp::ZERO,
        }
    }
}

//! The way of most plans: all of their counters are in the table, and each charge pays if all pass. No mutex is taken.
//!
//! Everything is read first; if a charge is refused, that is the answer, and nothing was written. Otherwise the lock bits
//! are taken in the order of their addresses, what was read is read again, and the new states are stored.

use smallvec::SmallVec;
use tidegate_core::{Charge, Outcome, Pay, Plan, State, Timestamp};

use super::registry::Registered;
use super::slot::Content;
use super::table::{Seat, Table};
use crate::contract::{Answer, Verdicts};

/// Plans with more charges go the other way.
const MOST_CHARGES: usize = 16;

/// What came of an attempt.
enum Tried {
    Answered(Answer),
    /// Something changed meanwhile.
    Again,
    /// This is not the way for such a plan.
    Unfit,
}

/// A charge and its counter.
struct Seated<'a> {
    charge: Charge<'a>,
    /// The limit with its number.
    entry: &'a Registered,
    seat: Seat,
    /// What was in the slot; `None` if the counter is not there yet.
    seen: Option<Content>,
    state: State,
    outcome: Outcome,
    locked: bool,
}

type All<'a> = SmallVec<[Seated<'a>; 4]>;

/// Decides a plan, if this is the way for it. `knows_others` tells whether a counter that is not in the table may be
/// elsewhere.
pub(super) fn decide<'a>(
    table: &'a Table,
    plan: &'a Plan,
    now: Timestamp,
    knows_others: bool,
) -> Option<Answer> {
    if plan.idempotency().is_some() || plan.len() > MOST_CHARGES || plan.is_empty() {
        return None;
    }
    loop {
        match attempt(table, plan, now, knows_others) {
            Tried::Answered(answer) => return Some(answer),
            Tried::Again => {}
            Tried::Unfit => return None,
        }
    }
}

fn attempt<'a>(table: &'a Table, plan: &'a Plan, now: Timestamp, knows_others: bool) -> Tried {
    let mut all = All::new();
    for charge in plan.charges() {
        if charge.pay != Pay::IfAdmitted || charge.group > 0 || charge.cost == 0 {
            return Tried::Unfit;
        }
        let seated = match Seated::read(table, charge, now) {
            Ok(seated) => seated,
            Err(tried) => return tried,
        };
        if all.iter().any(|other: &Seated<'_>| other.seat.hash == seated.seat.hash) {
            return Tried::Unfit;
        }
        if seated.seen.is_none() && knows_others {
            return Tried::Unfit;
        }
        all.push(seated);
    }
    if all.iter().any(|one| !one.outcome.allowed()) {
        return if all.iter_mut().all(Seated::is_unchanged) {
            Tried::Answered(answer(plan, &all, now, false))
        } else {
            Tried::Again
        };
    }
    admit(table, plan, &mut all, now)
}

/// Everything passed when it was read.
fn admit(table: &Table, plan: &Plan, all: &mut All<'_>, now: Timestamp) -> Tried {
    let hashes: SmallVec<[_; 4]> = all.iter().map(|one| one.seat.hash).collect();
    for one in all.iter_mut().filter(|one| one.seen.is_none()) {
        if !table.claim(&mut one.seat, one.entry, (now, &hashes)) {
            return Tried::Unfit;
        }
    }
    let mut order: SmallVec<[usize; 4]> = (0..all.len()).collect();
    if all.len() > 1 {
        order.sort_unstable_by_key(|index| all[*index].seat.order());
    }
    for index in order {
        if !all[index].lock_and_read(table, now) {
            return Tried::Again;
        }
    }
    let mut contents: SmallVec<[Content; 4]> = SmallVec::new();
    for one in all.iter_mut() {
        let limit = one.charge.limit;
        limit.charge(&mut one.state, now, one.charge.cost, plan.ticket());
        let Some(packed) = one.entry.packing.pack(limit, &one.state, now) else { return Tried::Unfit };
        contents.push(Content { hash: one.seat.hash, number: one.entry.number, packed });
    }
    for (one, content) in all.iter_mut().zip(contents) {
        one.seat.unlock_with(content);
        one.locked = false;
    }
    Tried::Answered(answer(plan, all, now, true))
}

fn answer(plan: &Plan, all: &All<'_>, now: Timestamp, paid: bool) -> Answer {
    let verdicts: Verdicts =
        all.iter().map(|one| one.charge.limit.verdict(&one.state, now, one.outcome)).collect();
    Answer::new(plan, verdicts, |_| paid)
}

impl<'a> Seated<'a> {
    /// Reads the counter and judges the charge.
    fn read(table: &'a Table, charge: Charge<'a>, now: Timestamp) -> Result<Self, Tried> {
        let mut seat = table.seat(table.hash(charge.key), now);
        let (mut seen, mut state, mut left_by) = (None, State::EMPTY, None);
        if seat.find() {
            let content = seat.look().ok_or(Tried::Again)?;
            let entry = table.registry.get(content.number).ok_or(Tried::Unfit)?;
            (seen, state, left_by) = (Some(content), entry.state(content, now), Some(entry));
        }
        let same = left_by.filter(|entry| entry.limit == *charge.limit);
        let entry = same.or_else(|| table.registry.enter(charge.limit)).ok_or(Tried::Unfit)?;
        let outcome = charge.limit.judge(&state, now, charge.cost);
        Ok(Self { charge, entry, seat, seen, state, outcome, locked: false })
    }

    /// Takes the lock bit and reads again; `false` if the counter is elsewhere now, or refuses now.
    fn lock_and_read(&mut self, table: &Table, now: Timestamp) -> bool {
        self.locked = self.seat.lock();
        let Some(content) = self.seat.slot().filter(|_| self.locked).and_then(|slot| slot.held()) else {
            return false;
        };
        if self.seen != Some(content) {
            self.state = table.state(content, now);
            self.outcome = self.charge.limit.judge(&self.state, now, self.charge.cost);
        }
        self.outcome.allowed()
    }

    /// Whether what was read is still so.
    fn is_unchanged(&mut self) -> bool {
        match self.seen {
            Some(_) => self.seat.look() == self.seen,
            None => !self.seat.find() && self.seat.is_current(),
        }
    }
}

impl Drop for Seated<'_> {
    fn drop(&mut self) {
        if self.locked {
            self.seat.unlock();
        }
    }
}

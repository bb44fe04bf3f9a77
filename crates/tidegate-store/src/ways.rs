//! The ways of a plan through a store in memory: decide, read, reserve, settle, give back. They are the same wherever its
//! counters are: a desk hands out steps over them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use tidegate_core::{Outside, Plan, Refund, Ticket, Timestamp};

use crate::contract::{Answer, AtEnd, Hold, Settlement, StoreError, Verdicts};
use crate::locked;
use crate::reservations::{Reservation, Reservations};
use crate::step::{Counters, Step};

/// Hands out steps.
pub(crate) trait Desk {
    /// A plan's counters while they are held fast, and what is remembered beside them.
    type Ledger<'a>: Ledger
    where
        Self: 'a;

    /// A step over the plan's counters, which nobody else changes until it is closed or dropped.
    fn step<'a>(&'a self, plan: &'a Plan, now: Timestamp, intent: Intent) -> Step<'a, Self::Ledger<'a>>;

    /// The plan to reserve instead of that one, if one of its counters is to share another's place.
    fn seated(&self, _plan: &Plan, _now: Timestamp) -> Option<Plan> {
        None
    }

    /// The reservations.
    fn pending(&self) -> &Pending;

    /// What is left to do once a decision is made and nothing is held.
    fn afterwards(&self, plan: &Plan, now: Timestamp);
}

/// What a step is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Intent {
    /// To charge: counters that are not there are made.
    Charge,
    /// To look at, or to change what is there.
    Look,
}

/// Counters, and admissions by their idempotency keys.
pub(crate) trait Ledger: Counters {
    /// The answer that an earlier delivery of the plan got.
    fn replay(&self, now: Timestamp) -> Result<Option<Answer>, StoreError>;

    /// Makes room for as many new keys as the plan could bring.
    fn make_room(&mut self, now: Timestamp);

    /// Remembers an admission under the plan's idempotency key, in the same step as its charges.
    fn remember(&mut self, answer: &Answer, now: Timestamp);

    /// Forgets the plan's idempotency key.
    fn forget_name(&mut self);

    /// Drops a counter; whether there was one.
    fn forget(&mut self, index: usize) -> bool;

    /// Makes the changes good, lets go, and keeps memory within its bounds.
    fn close(self, now: Timestamp);
}

/// Plans that were paid and wait for their real costs.
pub(crate) struct Pending {
    reservations: Mutex<Reservations>,
    /// When the next one ends; read without the lock, so that checks pay nothing while none is due.
    next_end_us: AtomicU64,
}

impl Pending {
    pub(crate) fn with_cap(cap_bytes: usize) -> Self {
        let reservations = Mutex::new(Reservations::with_cap(cap_bytes));
        Self { reservations, next_end_us: AtomicU64::new(u64::MAX) }
    }

    /// How many there are, and their bytes.
    pub(crate) fn usage(&self) -> (usize, usize) {
        let reservations = locked(&self.reservations);
        (reservations.len(), reservations.bytes())
    }

    /// Published only after what ended was given back, while the lock is held.
    fn publish_next_end(&self, reservations: &Reservations) {
        let next_end = reservations.next_end().map_or(u64::MAX, Timestamp::as_micros);
        self.next_end_us.store(next_end, Ordering::Release);
    }

    fn are_due(&self, now: Timestamp) -> bool {
        self.next_end_us.load(Ordering::Acquire) <= now.as_micros()
    }
}

pub(crate) fn decide(desk: &impl Desk, plan: &Plan, now: Timestamp) -> Result<Answer, StoreError> {
    give_back_what_ended(desk, now);
    decide_unless_known(desk, plan, now, || Ok(()), |_| {})
}

pub(crate) fn read(desk: &impl Desk, plan: &Plan, now: Timestamp) -> Result<Answer, StoreError> {
    covers(plan, now)?;
    give_back_what_ended(desk, now);
    let mut step = desk.step(plan, now, Intent::Look);
    for index in 0..plan.len() {
        step.judge(index, now);
    }
    Ok(step.answer(now))
}

pub(crate) fn reserve(
    desk: &impl Desk,
    plan: &Plan,
    hold: Hold,
    now: Timestamp,
) -> Result<Answer, StoreError> {
    let mut reservations = reservations_at(desk, now);
    let seated = desk.seated(plan, now);
    let plan = seated.as_ref().unwrap_or(plan);
    let mut paid = Vec::new();
    let answer =
        decide_unless_known(desk, plan, now, || reservations.admit(plan), |found| paid.extend(found))?;
    if answer.allowed() && !answer.replayed {
        let ends_at = now.plus_us(hold.term_us);
        reservations.insert(Reservation { plan: plan.clone(), paid, ends_at, at_end: hold.at_end });
        desk.pending().publish_next_end(&reservations);
    }
    Ok(answer)
}

pub(crate) fn commit(
    desk: &impl Desk,
    ticket: Ticket,
    costs: &[u64],
    now: Timestamp,
) -> Result<Settlement, StoreError> {
    let mut reservations = reservations_at(desk, now);
    match reservations.get(ticket).map(|reservation| reservation.plan.len()) {
        Some(charges) if charges != costs.len() => Err(StoreError::CostCount { charges, costs: costs.len() }),
        _ => Ok(settle(desk, &mut reservations, (ticket, now), Truth::Costs(costs))),
    }
}

pub(crate) fn cancel(desk: &impl Desk, ticket: Ticket, now: Timestamp) -> Settlement {
    let mut reservations = reservations_at(desk, now);
    settle(desk, &mut reservations, (ticket, now), Truth::Nothing)
}

pub(crate) fn release(desk: &impl Desk, plan: &Plan, now: Timestamp) -> u64 {
    let mut step = desk.step(plan, now, Intent::Look);
    let released = (0..plan.len()).map(|index| step.release(index, now)).sum();
    step.counters.close(now);
    released
}

pub(crate) fn renew(desk: &impl Desk, plan: &Plan, now: Timestamp) -> Option<Timestamp> {
    let mut step = desk.step(plan, now, Intent::Look);
    let renewed = step.renew(now);
    step.counters.close(now);
    renewed
}

pub(crate) fn refund(
    desk: &impl Desk,
    plan: &Plan,
    charged_at: Timestamp,
    now: Timestamp,
) -> Result<(), StoreError> {
    covers(plan, now)?;
    let mut step = desk.step(plan, now, Intent::Look);
    for (index, charge) in plan.charges().enumerate().filter(|(_, charge)| charge.pay.on_admission()) {
        step.refund(index, now, Refund { units: charge.cost, charged_at });
    }
    step.counters.close(now);
    Ok(())
}

pub(crate) fn raise(desk: &impl Desk, plan: &Plan, now: Timestamp) -> Result<Verdicts, StoreError> {
    covers(plan, now)?;
    give_back_what_ended(desk, now);
    let mut step = desk.step(plan, now, Intent::Charge);
    step.counters.make_room(now);
    for index in 0..plan.len() {
        step.raise(index, now);
    }
    let verdicts = step.verdicts(now);
    step.counters.close(now);
    desk.afterwards(plan, now);
    Ok(verdicts)
}

pub(crate) fn reset(desk: &impl Desk, plan: &Plan, now: Timestamp) -> usize {
    let mut step = desk.step(plan, now, Intent::Look);
    let forgotten = (0..plan.len()).filter(|index| step.counters.forget(*index)).count();
    step.counters.close(now);
    forgotten
}

/// What a reservation came to.
#[derive(Clone, Copy)]
enum Truth<'a> {
    /// So much for each charge.
    Costs(&'a [u64]),
    /// It was not needed.
    Nothing,
}

/// One atomic step. `may` has a last word before a plan that is not a replay is judged; `then` is told which charges were
/// paid on admission, and the instants that they were booked at.
fn decide_unless_known(
    desk: &impl Desk,
    plan: &Plan,
    now: Timestamp,
    may: impl FnOnce() -> Result<(), StoreError>,
    then: impl FnOnce(&mut dyn Iterator<Item = (usize, Timestamp)>),
) -> Result<Answer, StoreError> {
    covers(plan, now)?;
    let mut step = desk.step(plan, now, Intent::Charge);
    if let Some(answer) = step.counters.replay(now)? {
        return Ok(answer);
    }
    may()?;
    step.counters.make_room(now);
    step.judge_and_pay(now);
    then(&mut step.paid());
    let answer = step.answer(now);
    step.counters.remember(&answer, now);
    step.counters.close(now);
    desk.afterwards(plan, now);
    Ok(answer)
}

/// The reservations, after those that have ended are dealt with. Always locked before anything else.
#[inline(never)]
fn reservations_at<D: Desk>(desk: &D, now: Timestamp) -> MutexGuard<'_, Reservations> {
    let mut reservations = locked(&desk.pending().reservations);
    while let Some(ended) = reservations.pop_ended(now) {
        if ended.at_end == AtEnd::GiveBack {
            let mut step = desk.step(&ended.plan, now, Intent::Look);
            for (index, booked_at) in &ended.paid {
                step.adjust(*index, now, 0, *booked_at);
            }
            step.counters.close(now);
        }
    }
    desk.pending().publish_next_end(&reservations);
    reservations
}

/// Before any decision: a check at an instant sees everything that was due back by then.
#[inline]
pub(crate) fn give_back_what_ended(desk: &impl Desk, now: Timestamp) {
    if desk.pending().are_due(now) {
        drop(reservations_at(desk, now));
    }
}

fn settle(
    desk: &impl Desk,
    reservations: &mut Reservations,
    (ticket, now): (Ticket, Timestamp),
    truth: Truth<'_>,
) -> Settlement {
    let Some(reservation) = reservations.remove(ticket) else { return Settlement::Gone };
    desk.pending().publish_next_end(reservations);
    let mut step = desk.step(&reservation.plan, now, Intent::Charge);
    for (index, booked_at) in &reservation.paid {
        let cost = if let Truth::Costs(costs) = truth { costs[*index] } else { 0 };
        step.adjust(*index, now, cost, *booked_at);
    }
    if matches!(truth, Truth::Nothing) {
        step.counters.forget_name();
    }
    let verdicts = step.verdicts(now);
    step.counters.close(now);
    Settlement::Settled(verdicts)
}

fn covers(plan: &Plan, now: Timestamp) -> Result<(), Outside> {
    if plan.charges().all(|charge| charge.limit.covers(now)) { Ok(()) } else { Err(Outside) }
}

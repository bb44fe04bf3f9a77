//! The way of nearly all plans: every counter is there, narrow, as its limit left it, and every charge passes. What lies in
//! the slots is stepped as it lies there. Whatever is otherwise goes the other way, with nothing changed.

use smallvec::SmallVec;
use tidegate_core::{KeyRef, Limit, Plan, Timestamp, Verdict};

use super::quick::is_plain;
use super::segment::{Aim, Stamp};
use super::slot::{Glance, Slot};
use super::table::Table;
use crate::contract::{Answer, Verdicts};

/// Plans with more charges go the other way.
const MOST_CHARGES: usize = 4;

/// A counter as it was found, and the packed state that the charge leaves.
#[derive(Clone, Copy)]
struct Found<'a> {
    stamp: Stamp<'a>,
    slot: Slot<'a>,
    seen: Glance,
    left: u64,
}

/// Decides about one charge.
#[inline]
pub(super) fn decide_one(
    table: &Table,
    (key, limit, cost): (KeyRef<'_>, &Limit, u64),
    now: Timestamp,
) -> Option<Verdict> {
    if cost == 0 {
        return None;
    }
    let aim = table.aim(table.hash(key), now)?;
    let (found, verdict) = find(table, aim, (limit, cost), now)?;
    if !found.lock() {
        return None;
    }
    found.slot.put(found.seen, found.left);
    Some(verdict)
}

/// Decides a plan.
#[inline]
pub(super) fn decide(table: &Table, plan: &Plan, now: Timestamp) -> Option<Answer> {
    if plan.len() > MOST_CHARGES {
        return None;
    }
    let mut aims: SmallVec<[Aim<'_>; MOST_CHARGES]> = SmallVec::new();
    for charge in plan.charges() {
        if !is_plain(&charge) {
            return None;
        }
        // All lines are on their way from memory before the first is read.
        let aim = table.aim(table.hash(charge.key), now)?;
        aim.prefetch();
        aims.push(aim);
    }
    let mut all: SmallVec<[Found<'_>; MOST_CHARGES]> = SmallVec::new();
    let mut verdicts = Verdicts::new();
    for (charge, aim) in plan.charges().zip(aims) {
        let (found, verdict) = find(table, aim, (charge.limit, charge.cost), now)?;
        verdicts.push(verdict);
        // Into its place in the order of addresses; nothing stands in two of them.
        let place = all.iter().rposition(|other| other.slot.order() <= found.slot.order());
        if place.is_some_and(|place| all[place].slot.order() == found.slot.order()) {
            return None;
        }
        all.insert(place.map_or(0, |place| place + 1), found);
    }
    let locked = all.iter().take_while(|found| found.lock()).count();
    if locked < all.len() {
        all[..locked].iter().for_each(|found| found.slot.leave(found.seen));
        return None;
    }
    all.iter().for_each(|found| found.slot.put(found.seen, found.left));
    Some(Answer::to_all(plan.ticket(), verdicts))
}

#[inline]
fn find<'a>(
    table: &'a Table,
    aim: Aim<'a>,
    (limit, cost): (&Limit, u64),
    now: Timestamp,
) -> Option<(Found<'a>, Verdict)> {
    let slot = aim.find()?;
    let seen = slot.glance();
    let entry = table.registry.get(seen.number())?;
    let (left, verdict) = entry.packing.admit_swiftly((limit, &entry.limit), seen.packed(), now, cost)?;
    Some((Found { stamp: aim.stamp(), slot, seen, left }, verdict))
}

impl Found<'_> {
    /// Takes the lock bit, if all is as it was found. Does not wait: who has to, goes the other way.
    #[inline]
    fn lock(&self) -> bool {
        if !self.slot.take(self.seen) {
            return false;
        }
        let is_ours = self.stamp.is_current();
        if !is_ours {
            self.slot.leave(self.seen);
        }
        is_ours
    }
}

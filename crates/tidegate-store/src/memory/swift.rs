//! The way of nearly all plans: every counter is there, as its limit left it, and every charge passes, or there is but one.
//! What lies in the slots is stepped as it lies there. Whatever is otherwise goes the other way, with nothing changed.

use smallvec::SmallVec;
use tidegate_core::{KeyRef, Limit, Packing, Plan, Timestamp, Verdict};

use super::page::Width;
use super::quick::is_plain;
use super::segment::{Aim, Stamp};
use super::slot::{Content, Glance, Hash, Slot};
use super::sync::pause;
use super::table::Table;
use crate::contract::{Answer, Verdicts};

/// Who finds others at a counter so often goes the other way.
#[cfg(not(loom))]
const MOST_LOOKS: u32 = 63;
#[cfg(loom)]
const MOST_LOOKS: u32 = 1;

/// Plans with more charges go the other way.
const MOST_CHARGES: usize = 4;

/// A counter as it was found, and the packed state that the charge leaves.
#[derive(Clone, Copy)]
struct Found<'a> {
    stamp: Stamp<'a>,
    slot: Slot<'a>,
    seen: Glance,
    /// `None` if the charge is refused.
    left: Option<u64>,
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
    let hash = table.hash(key);
    if Packing::is_likely_wide(limit) {
        return decide_wide(table, hash, (limit, cost), now);
    }
    let mut looks = 0;
    loop {
        let (found, verdict) = find(table, table.aim(hash, now)?, (limit, cost), now)?;
        match found.left {
            Some(left) if found.lock() => {
                found.slot.put(found.seen, left);
                return Some(verdict);
            }
            None if found.slot.is_still(found.seen) => return Some(verdict),
            _ => {}
        }
        if looks == MOST_LOOKS {
            return None;
        }
        pause(&mut looks);
    }
}

/// The same about a charge on a wide counter.
#[inline(never)]
fn decide_wide(table: &Table, hash: Hash, (limit, cost): (&Limit, u64), now: Timestamp) -> Option<Verdict> {
    let mut looks = 0;
    loop {
        let mut seat = table.seat(hash, Width::Wide, now);
        if !seat.find() {
            return None;
        }
        if let Some(seen) = seat.look() {
            let entry = table.registry.get(seen.number)?;
            let (left, verdict) =
                entry.packing.step_wide_swiftly((limit, &entry.limit), seen.packed, now, cost)?;
            let Some(packed) = left else { return Some(verdict) };
            if seat.lock_as(seen) {
                seat.unlock_with(Content { packed, ..seen });
                return Some(verdict);
            }
        }
        if looks == MOST_LOOKS {
            return None;
        }
        pause(&mut looks);
    }
}

/// Decides a plan.
#[inline]
pub(super) fn decide(table: &Table, plan: &Plan, now: Timestamp) -> Option<Answer> {
    if plan.len() > MOST_CHARGES || !plan.charges().all(|charge| is_plain(&charge)) {
        return None;
    }
    let charges = plan.charges().map(|charge| (charge.key, charge.limit, charge.cost));
    let verdicts = decide_few(table, &charges.collect(), now)?;
    Some(Answer::to_all(plan.ticket(), verdicts))
}

/// A few charges: keys, their limits, and the units that are asked for.
pub type Few<'a> = SmallVec<[(KeyRef<'a>, &'a Limit, u64); MOST_CHARGES]>;

/// Decides about a few charges together.
pub(super) fn decide_few(table: &Table, charges: &Few<'_>, now: Timestamp) -> Option<Verdicts> {
    let mut aims: SmallVec<[Aim<'_>; MOST_CHARGES]> = SmallVec::new();
    for (key, ..) in charges {
        // All lines are on their way from memory before the first is read.
        let aim = table.aim(table.hash(*key), now)?;
        aim.prefetch();
        aims.push(aim);
    }
    let mut all: SmallVec<[Found<'_>; MOST_CHARGES]> = SmallVec::new();
    let mut verdicts = Verdicts::new();
    let mut order = Order::default();
    for ((_, limit, cost), aim) in charges.iter().zip(&aims) {
        let (found, verdict) = find(table, *aim, (limit, *cost), now)?;
        if found.left.is_none() || !order.insert(found.slot.order(), all.len()) {
            return None;
        }
        verdicts.push(verdict);
        all.push(found);
    }
    let all = all.as_slice();
    let locked = order.indices().take_while(|index| all[*index].lock()).count();
    if locked < all.len() {
        order.indices().take(locked).for_each(|index| all[index].slot.leave(all[index].seen));
        return None;
    }
    for found in all {
        found.slot.put(found.seen, found.left.unwrap_or(found.seen.packed()));
    }
    Some(verdicts)
}

/// Slots by their addresses: the order in which their lock bits are taken.
#[derive(Default)]
struct Order {
    len: usize,
    sorted: [(usize, usize); MOST_CHARGES],
}

impl Order {
    /// `false` if the slot is there already, or if there is no room.
    #[inline]
    fn insert(&mut self, address: usize, index: usize) -> bool {
        if self.len == MOST_CHARGES {
            return false;
        }
        let mut place = self.len;
        while place > 0 && self.sorted[place - 1].0 > address {
            self.sorted[place] = self.sorted[place - 1];
            place -= 1;
        }
        self.sorted[place] = (address, index);
        self.len += 1;
        place == 0 || self.sorted[place - 1].0 != address
    }

    #[inline]
    fn indices(&self) -> impl Iterator<Item = usize> {
        self.sorted.iter().take(self.len).map(|(_, index)| *index)
    }
}

#[inline]
fn find<'a>(
    table: &'a Table,
    aim: Aim<'a>,
    (limit, cost): (&Limit, u64),
    now: Timestamp,
) -> Option<(Found<'a>, Verdict)> {
    let (slot, seen) = aim.find()?;
    let entry = table.registry.get(seen.number())?;
    let (left, verdict) = entry.packing.step_swiftly((limit, &entry.limit), seen.packed(), now, cost)?;
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

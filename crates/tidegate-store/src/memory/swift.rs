//! The way of nearly all plans: every counter is there, as its limit left it, and every charge passes, or there is but one.
//! What lies in the slots is stepped as it lies there. Whatever is otherwise goes the other way, with nothing changed.

use smallvec::SmallVec;
use tidegate_core::{KeyRef, Limit, Packing, Plan, Timestamp, Verdict};

use super::page::Width;
use super::quick::is_plain;
use super::seat::Seat;
use super::segment::{Aim, Stamp};
use super::slot::{Content, Glance, Hash, Slot};
use super::sync::pause;
use super::table::Table;
use crate::contract::{Answer, Verdicts};

/// Who finds others at a counter so often goes the other way.
#[cfg(not(loom))]
const MOST_LOOKS: u32 = 64;
#[cfg(loom)]
const MOST_LOOKS: u32 = 2;

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

/// Decides about one charge; or says where its counter is not, if it was looked for there.
#[inline]
pub(super) fn decide_one<'a>(
    table: &'a Table,
    hash: Hash,
    (limit, cost): (&Limit, u64),
    now: Timestamp,
) -> Result<Verdict, Option<Seat<'a>>> {
    if cost == 0 {
        return Err(None);
    }
    if Packing::is_likely_wide(limit) {
        return decide_wide(table, hash, (limit, cost), now);
    }
    let mut looks = 0;
    while looks < MOST_LOOKS {
        let aim = table.aim(hash, now).ok_or(None)?;
        let (found, verdict) = find(table, aim, (limit, cost), now).ok_or(None)?;
        match found.left {
            Some(left) if found.lock() => {
                found.slot.put(found.seen, left);
                return Ok(verdict);
            }
            None if found.slot.is_still(found.seen) => return Ok(verdict),
            _ => pause(&mut looks),
        }
    }
    Err(None)
}

/// The same about a charge on a wide counter.
#[inline(never)]
fn decide_wide<'a>(
    table: &'a Table,
    hash: Hash,
    (limit, cost): (&Limit, u64),
    now: Timestamp,
) -> Result<Verdict, Option<Seat<'a>>> {
    let mut looks = 0;
    while looks < MOST_LOOKS {
        let mut seat = table.seat(hash, Width::Wide, now);
        if !seat.find() {
            return Err(Some(seat));
        }
        if let Some(seen) = seat.look() {
            let entry = table.registry.get(seen.number).ok_or(None)?;
            let stepped = entry.packing.step_wide_swiftly((limit, &entry.limit), seen.packed, now, cost);
            let (left, verdict) = stepped.ok_or(None)?;
            let Some(packed) = left else { return Ok(verdict) };
            if seat.lock_as(seen) {
                seat.unlock_with(Content { packed, ..seen });
                return Ok(verdict);
            }
        }
        pause(&mut looks);
    }
    Err(None)
}

/// Decides a plan.
#[inline]
pub(super) fn decide(table: &Table, plan: &Plan, now: Timestamp) -> Option<Answer> {
    if plan.len() > MOST_CHARGES || !plan.charges().all(|charge| is_plain(&charge)) {
        return None;
    }
    let charges: Few<'_> = plan.charges().map(|charge| (charge.key, charge.limit, charge.cost)).collect();
    let verdicts = decide_few(table, &charges, now)?;
    Some(Answer::to_all(plan.ticket(), verdicts))
}

/// A few charges: keys, their limits, and the units that are asked for.
pub type Few<'a> = SmallVec<[One<'a>; MOST_CHARGES]>;

/// One of them.
type One<'a> = (KeyRef<'a>, &'a Limit, u64);

/// Decides about a few charges together.
pub(super) fn decide_few(table: &Table, charges: &[One<'_>], now: Timestamp) -> Option<Verdicts> {
    match charges {
        [one] => decide_exactly(table, &[*one], now),
        [one, two] => decide_exactly(table, &[*one, *two], now),
        [one, two, three] => decide_exactly(table, &[*one, *two, *three], now),
        [one, two, three, four] => decide_exactly(table, &[*one, *two, *three, *four], now),
        _ => None,
    }
}

/// The same with a number of charges that the compiler knows.
fn decide_exactly<const N: usize>(table: &Table, charges: &[One<'_>; N], now: Timestamp) -> Option<Verdicts> {
    let hashes = charges.each_ref().map(|(key, ..)| table.hash(*key));
    let mut aims = [table.aim(hashes[0], now)?; N];
    for index in 1..N {
        aims[index] = table.aim(hashes[index], now)?;
    }
    // All lines are on their way from memory before the first is read.
    for aim in &aims {
        aim.prefetch();
    }
    let (first, verdict) = find(table, aims[0], (charges[0].1, charges[0].2), now)?;
    let (mut all, mut verdicts) = ([first; N], [verdict; N]);
    for index in 1..N {
        let (_, limit, cost) = charges[index];
        (all[index], verdicts[index]) = find(table, aims[index], (limit, cost), now)?;
    }
    let order = order(&all)?;
    let locked = order.iter().take_while(|index| all[**index].lock()).count();
    if locked < N {
        order[..locked].iter().for_each(|index| all[*index].slot.leave(all[*index].seen));
        return None;
    }
    for found in &all {
        found.slot.put(found.seen, found.left.unwrap_or(found.seen.packed()));
    }
    Some(Verdicts::from_slice(&verdicts))
}

/// The order in which lock bits are taken: by the addresses of their slots. `None` if a charge is refused, or if two are of one
/// counter.
#[inline]
fn order<const N: usize>(all: &[Found<'_>; N]) -> Option<[usize; N]> {
    let addresses = all.each_ref().map(|found| found.slot.order());
    let mut order = [0; N];
    for (index, found) in all.iter().enumerate() {
        found.left?;
        let mut place = index;
        while place > 0 && addresses[order[place - 1]] >= addresses[index] {
            if addresses[order[place - 1]] == addresses[index] {
                return None;
            }
            order[place] = order[place - 1];
            place -= 1;
        }
        order[place] = index;
    }
    Some(order)
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

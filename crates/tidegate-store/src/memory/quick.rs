//! The way of most plans: all of their counters are in the table, and each charge pays if all pass. No mutex is taken.
//!
//! Everything is read and computed first; if a charge is refused, that is the answer, and nothing was written. Otherwise the
//! lock bits are taken in the order of their addresses, what was read is compared with what is there now, and the new words
//! are stored. If something has changed meanwhile, all of it is done again; after a few times the other way is taken, which
//! takes the bits before it reads.

use smallvec::SmallVec;
use tidegate_core::{Charge, KeyRef, Limit, Packed, Pay, Plan, State, Timestamp, Verdict};

use super::eviction::Need;
use super::page::Width;
use super::registry::Registered;
use super::seat::Seat;
use super::slot::{Content, Hash};
use super::swift;
use super::sync::pause;
use super::table::{Claim, Table};
use crate::contract::{Answer, Verdicts};

/// Plans with more charges go the other way.
const MOST_CHARGES: usize = 16;

/// After so many attempts the other way is taken.
const ATTEMPTS: u32 = 256;

/// Why there is no answer.
enum Why {
    /// Something changed meanwhile.
    Again,
    /// This is not the way for such a plan.
    Unfit,
}

/// A charge with what it found and what it leaves.
struct Seated<'a> {
    seat: Seat<'a>,
    /// What was in the slot; `None` if the counter is not there yet.
    seen: Option<Content>,
    left: Content,
    verdict: Verdict,
    locked: bool,
}

/// Decides a plan, if this is the way for it. A counter that is not in the table is `elsewhere` or nowhere.
pub(super) fn decide(
    table: &Table,
    plan: &Plan,
    now: Timestamp,
    elsewhere: impl Fn(KeyRef<'_>) -> bool,
) -> Option<Answer> {
    if plan.idempotency().is_some() || plan.len() > MOST_CHARGES || plan.is_empty() {
        return None;
    }
    if plan.len() == 1 {
        let charge = plan.get(0);
        let asked = (charge.key, charge.limit, charge.cost);
        return is_plain(&charge)
            .then(|| decide_one(table, asked, now, elsewhere))
            .flatten()
            .map(|verdict| Answer::to_one(plan.ticket(), verdict));
    }
    if let Some(answer) = swift::decide(table, plan, now) {
        return Some(answer);
    }
    decide_slowly(table, plan, now, elsewhere)
}

/// The same where there is more to do.
#[inline(never)]
fn decide_slowly(
    table: &Table,
    plan: &Plan,
    now: Timestamp,
    elsewhere: impl Fn(KeyRef<'_>) -> bool,
) -> Option<Answer> {
    let mut attempts = 0;
    while attempts < ATTEMPTS {
        match attempt(table, plan, now, &elsewhere) {
            Ok(answer) => return Some(answer),
            Err(Why::Again) => pause(&mut attempts),
            Err(Why::Unfit) => break,
        }
    }
    None
}

/// Decides a plan of one charge, which pays if it is admitted.
#[inline]
pub(super) fn decide_one(
    table: &Table,
    (key, limit, cost): (KeyRef<'_>, &Limit, u64),
    now: Timestamp,
    elsewhere: impl Fn(KeyRef<'_>) -> bool,
) -> Option<Verdict> {
    let hash = table.hash(key);
    match swift::decide_one(table, hash, (limit, cost), now) {
        Ok(verdict) => Some(verdict),
        Err(empty) => decide_one_slowly(table, (hash, empty), (limit, cost), now, || elsewhere(key)),
    }
}

/// The same where there is more to do.
#[inline(never)]
fn decide_one_slowly<'a>(
    table: &'a Table,
    (hash, empty): (Hash, Option<Seat<'a>>),
    (limit, cost): (&Limit, u64),
    now: Timestamp,
    is_elsewhere: impl Fn() -> bool,
) -> Option<Verdict> {
    if let Some(empty) = empty
        && let Some(verdict) = decide_new(table, empty, (limit, cost), now, &is_elsewhere)
    {
        return Some(verdict);
    }
    let mut attempts = 0;
    while attempts < ATTEMPTS && cost > 0 {
        match attempt_one(table, hash, (limit, cost), now, &is_elsewhere) {
            Ok(verdict) => return Some(verdict),
            Err(Why::Again) => pause(&mut attempts),
            Err(Why::Unfit) => break,
        }
    }
    None
}

/// Decides about a charge on a counter that is not where it most likely would be, if it is nowhere else and what the charge leaves
/// can be told at once.
#[inline]
fn decide_new<'a>(
    table: &'a Table,
    mut seat: Seat<'a>,
    (limit, cost): (&Limit, u64),
    now: Timestamp,
    is_elsewhere: &impl Fn() -> bool,
) -> Option<Verdict> {
    let entry = table.registry.enter(limit)?;
    if entry.has_both_widths() && table.beside(&seat, now).is_some() || is_elsewhere() {
        return None;
    }
    let (packed, verdict) = swiftly((entry, limit), Packed::default(), now, cost)?;
    let content = Content { hash: seat.hash, number: entry.number, packed: packed? };
    let need = Need { share: entry.limit.share(), now, pinned: &[seat.hash] };
    (table.claim_with(&mut seat, (content, entry), need) == Claim::Made).then_some(verdict)
}

/// The same as [`attempt`] for one charge.
fn attempt_one(
    table: &Table,
    hash: Hash,
    (limit, cost): (&Limit, u64),
    now: Timestamp,
    is_elsewhere: &impl Fn() -> bool,
) -> Result<Verdict, Why> {
    let seat = table.find(hash, Table::likely_width(limit), now);
    let mut one = Seated::read(table, seat, (limit, cost), now)?;
    let passes = one.verdict.allowed();
    if one.seen.is_none() && is_elsewhere() {
        return Err(Why::Unfit);
    }
    if passes && one.seen.is_none() {
        return begin(table, one, now);
    }
    if passes {
        one.lock()?;
        one.unlock();
    }
    Ok(one.verdict)
}

/// Gives a counter that is not there yet its place, with what the charge leaves.
fn begin<'a>(table: &'a Table, mut one: Seated<'a>, now: Timestamp) -> Result<Verdict, Why> {
    let entry = table.registry.get(one.left.number).ok_or(Why::Unfit)?;
    let need = Need { share: entry.limit.share(), now, pinned: &[one.seat.hash] };
    match table.claim_with(&mut one.seat, (one.left, entry), need) {
        Claim::Made => Ok(one.verdict),
        Claim::There => Err(Why::Again),
        Claim::NoRoom | Claim::OnlyOffenders => Err(Why::Unfit),
    }
}

pub(super) fn is_plain(charge: &Charge<'_>) -> bool {
    charge.pay == Pay::IfAdmitted && charge.group == 0 && charge.cost > 0
}

fn attempt(
    table: &Table,
    plan: &Plan,
    now: Timestamp,
    elsewhere: &impl Fn(KeyRef<'_>) -> bool,
) -> Result<Answer, Why> {
    // All lines are on their way from memory before the first is read.
    let seat =
        |charge: Charge<'_>| table.seat(table.hash(charge.key), Table::likely_width(charge.limit), now);
    let seats: SmallVec<[Seat<'_>; 4]> = plan.charges().map(seat).collect();
    let mut all: SmallVec<[Seated<'_>; 4]> = SmallVec::new();
    let mut passes = true;
    for (charge, seat) in plan.charges().zip(seats) {
        if !is_plain(&charge) {
            return Err(Why::Unfit);
        }
        let seat = table.find_from(seat, now);
        let seated = Seated::read(table, seat, (charge.limit, charge.cost), now)?;
        let has_twin = all.iter().any(|other| other.seat.hash == seated.seat.hash);
        if has_twin || seated.seen.is_none() && elsewhere(charge.key) {
            return Err(Why::Unfit);
        }
        passes &= seated.verdict.allowed();
        all.push(seated);
    }
    if passes {
        return admit(table, plan, &mut all, now);
    }
    let answer = refuse(table, plan, &all, now);
    if all.iter_mut().all(Seated::is_unchanged) { Ok(answer) } else { Err(Why::Again) }
}

/// One of the charges is refused: the others are told what is there.
fn refuse(table: &Table, plan: &Plan, all: &[Seated<'_>], now: Timestamp) -> Answer {
    let verdict = |(one, charge): (&Seated<'_>, Charge<'_>)| match one.seen {
        _ if !one.verdict.allowed() => one.verdict,
        Some(seen) => charge.limit.verdict(&table.state(seen, now), now, one.verdict.outcome),
        None => charge.limit.verdict(&State::EMPTY, now, one.verdict.outcome),
    };
    Answer::new(plan, all.iter().zip(plan.charges()).map(verdict).collect(), |_| false)
}

/// Everything passed when it was read.
fn admit<'a>(table: &'a Table, plan: &Plan, all: &mut [Seated<'a>], now: Timestamp) -> Result<Answer, Why> {
    if all.iter().any(|one| one.seen.is_none()) {
        return Err(make_places(table, all, now));
    }
    let mut order: SmallVec<[usize; 4]> = (0..all.len()).collect();
    order.sort_unstable_by_key(|index| all[*index].seat.order());
    for index in order {
        all[index].lock()?;
    }
    all.iter_mut().for_each(Seated::unlock);
    let verdicts: Verdicts = all.iter().map(|one| one.verdict).collect();
    Ok(Answer::new(plan, verdicts, |_| true))
}

/// Gives places to counters that are not there yet; then all is to be done again.
#[cold]
fn make_places<'a>(table: &'a Table, all: &mut [Seated<'a>], now: Timestamp) -> Why {
    let hashes: SmallVec<[_; 4]> = all.iter().map(|one| one.seat.hash).collect();
    for one in all.iter_mut().filter(|one| one.seen.is_none()) {
        let Some(entry) = table.registry.get(one.left.number) else { return Why::Unfit };
        let need = Need { share: entry.limit.share(), now, pinned: &hashes };
        if table.claim(&mut one.seat, entry, need) != Claim::Made {
            return Why::Unfit;
        }
    }
    Why::Again
}

impl<'a> Seated<'a> {
    /// Reads the counter, if it was found, and computes what the charge leaves.
    #[inline]
    fn read(
        table: &'a Table,
        seat: Seat<'a>,
        (limit, cost): (&Limit, u64),
        now: Timestamp,
    ) -> Result<Self, Why> {
        let seen = if seat.is_taken() { Some(seat.look().ok_or(Why::Again)?) } else { None };
        let left_by = match seen {
            Some(content) => table.registry.get(content.number),
            None => table.registry.enter(limit),
        };
        let mut entry = left_by.ok_or(Why::Unfit)?;
        let content =
            seen.unwrap_or(Content { hash: seat.hash, number: entry.number, packed: Packed::default() });
        if let Some((packed, verdict)) = swiftly((entry, limit), content.packed, now, cost) {
            let left = Content { packed: packed.unwrap_or_default(), ..content };
            return Ok(Self { seat, seen, left, verdict, locked: false });
        }
        let mut state = entry.state(content, now);
        if entry.limit != *limit {
            entry = table.registry.enter(limit).ok_or(Why::Unfit)?;
        }
        let verdict = limit.step(&mut state, now, cost).map_err(|_| Why::Unfit)?;
        if seen.is_some() && entry.packing.is_wide() != (seat.width() == Width::Wide) {
            return Err(Why::Unfit);
        }
        let packed = if verdict.allowed() {
            entry.packing.pack_admitted(&state).ok_or(Why::Unfit)?
        } else {
            Packed::default()
        };
        let left = Content { hash: seat.hash, number: entry.number, packed };
        Ok(Self { seat, seen, left, verdict, locked: false })
    }

    /// Takes the lock bit, if nothing has changed.
    #[inline]
    fn lock(&mut self) -> Result<(), Why> {
        self.locked = self.seen.is_some_and(|seen| self.seat.lock_as(seen));
        if self.locked { Ok(()) } else { Err(Why::Again) }
    }

    /// Gives the lock bit back with what the charge leaves.
    #[inline]
    fn unlock(&mut self) {
        self.seat.unlock_with(self.left);
        self.locked = false;
    }

    /// Whether what was read is still so.
    fn is_unchanged(&mut self) -> bool {
        match self.seen {
            Some(_) => self.seat.look() == self.seen,
            None => !self.seat.find() && self.seat.is_current(),
        }
    }
}

/// What a charge makes of a state as it lies there, if it is admitted, and the verdict on it; `None` if it has to be unpacked.
#[inline]
fn swiftly(
    (entry, limit): (&Registered, &Limit),
    packed: Packed,
    now: Timestamp,
    cost: u64,
) -> Option<(Option<Packed>, Verdict)> {
    let (limits, packing) = ((limit, &entry.limit), entry.packing);
    if packing.is_wide() {
        return packing.step_wide_swiftly(limits, packed, now, cost);
    }
    let (word, verdict) = packing.step_swiftly(limits, packed.word, now, cost)?;
    Some((word.map(|word| Packed { word, ..Packed::default() }), verdict))
}

impl Drop for Seated<'_> {
    fn drop(&mut self) {
        if self.locked {
            self.seat.unlock();
        }
    }
}

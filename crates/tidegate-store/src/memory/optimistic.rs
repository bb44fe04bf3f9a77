//! The optimistic way of a plan: read and compute without a lock, then lock, compare and store.
//!
//! It takes plans whose charges all pay if the plan is admitted, and whose counters are in the table. A refusal writes
//! nothing and takes no lock bit. If a counter has changed between the read and the lock, the attempt starts over. After
//! [`MAX_ATTEMPTS`] conflicts, and for all other plans, the [general way](super::held) takes the lock bits before it reads.

use smallvec::SmallVec;
use tidegate_core::{Charge, KeyRef, Limit, Outcome, Packed, Pay, Plan, State, Timestamp, Verdict};

use super::eviction::Need;
use super::lookup::SlotLookup;
use super::slot::{Content, Hash};
use super::sync::pause;
use super::table::{Claim, Table};
use crate::contract::{Answer, Verdicts};

/// Plans with more charges take the general way.
const MAX_CHARGES: usize = 16;

/// After so many conflicts the general way is taken.
const MAX_ATTEMPTS: u32 = 256;

/// One unit or more of a limit, paid if the whole plan is admitted.
#[derive(Clone, Copy)]
pub struct PlainCharge<'a> {
    /// The counter's key.
    pub key: KeyRef<'a>,
    /// The limit that it is held to.
    pub limit: &'a Limit,
    /// Units asked for; a charge of 0 takes the general way.
    pub cost: u64,
}

/// Why an attempt has no answer. Nothing was charged.
enum Abort {
    /// A counter changed between the read and the lock.
    Conflict,
    /// The general way has to decide.
    Unsupported,
}

/// What a charge found in its counter, and what it leaves there.
#[derive(Clone, Copy)]
struct Change {
    /// `None` if the counter has no slot yet.
    seen: Option<Content>,
    /// Of no meaning if the charge is refused.
    left: Content,
}

/// A charge of a plan under way.
struct Target<'a> {
    lookup: SlotLookup<'a>,
    change: Change,
}

impl<'a> PlainCharge<'a> {
    #[inline]
    fn of(charge: Charge<'a>) -> Option<Self> {
        let Charge { key, limit, cost, group, pay } = charge;
        (pay == Pay::IfAdmitted && group == 0 && cost > 0).then_some(Self { key, limit, cost })
    }
}

/// Decides a plan. A counter that is not in the table is `elsewhere` or nowhere.
#[inline]
pub(super) fn decide(
    table: &Table,
    plan: &Plan,
    now: Timestamp,
    elsewhere: impl Fn(KeyRef<'_>) -> bool,
) -> Option<Answer> {
    if plan.idempotency().is_some() {
        return None;
    }
    match plan.len() {
        1 => {
            let verdict = decide_one(table, PlainCharge::of(plan.get(0))?, now, elsewhere)?;
            Some(Answer::to_one(plan.ticket(), verdict))
        }
        2..=MAX_CHARGES => decide_several(table, plan, now, elsewhere),
        _ => None,
    }
}

#[inline(never)]
fn decide_several(
    table: &Table,
    plan: &Plan,
    now: Timestamp,
    elsewhere: impl Fn(KeyRef<'_>) -> bool,
) -> Option<Answer> {
    let mut charges: SmallVec<[PlainCharge<'_>; 4]> = SmallVec::new();
    for charge in plan.charges() {
        charges.push(PlainCharge::of(charge)?);
    }
    let mut verdicts = Verdicts::new();
    retry(|| attempt(table, &charges, &mut verdicts, now, &elsewhere))?;
    if verdicts.iter().all(|verdict| verdict.outcome == Outcome::Allowed) {
        // Saves a walk over the plan: 7 % of the instructions (`examples/instructions.rs`, case `four`).
        return Some(Answer::to_all(plan.ticket(), verdicts));
    }
    let admitted = verdicts.iter().all(Verdict::allowed);
    Some(Answer::new(plan, verdicts, |_| admitted))
}

/// Decides one charge: the same attempt without a list and an order of locks, which cost a hot narrow key 51 % more
/// instructions (`examples/instructions.rs`, case `narrow`).
#[inline]
pub(super) fn decide_one(
    table: &Table,
    charge: PlainCharge<'_>,
    now: Timestamp,
    elsewhere: impl Fn(KeyRef<'_>) -> bool,
) -> Option<Verdict> {
    let hash = table.hash(charge.key);
    retry(|| attempt_one(table, hash, &charge, now, &elsewhere))
}

/// Decides charges that are admitted all together or not at all.
#[inline]
pub(super) fn decide_together(
    table: &Table,
    charges: &[PlainCharge<'_>],
    now: Timestamp,
    elsewhere: impl Fn(KeyRef<'_>) -> bool,
) -> Option<Verdicts> {
    if charges.len() > MAX_CHARGES || charges.iter().any(|charge| charge.cost == 0) {
        return None;
    }
    let mut verdicts = Verdicts::new();
    retry(|| attempt(table, charges, &mut verdicts, now, &elsewhere))?;
    Some(verdicts)
}

#[inline]
fn retry<T>(mut attempt: impl FnMut() -> Result<T, Abort>) -> Option<T> {
    let mut attempts = 0;
    while attempts < MAX_ATTEMPTS {
        match attempt() {
            Ok(decided) => return Some(decided),
            Err(Abort::Conflict) => pause(&mut attempts),
            Err(Abort::Unsupported) => break,
        }
    }
    None
}

#[inline]
fn attempt_one(
    table: &Table,
    hash: Hash,
    charge: &PlainCharge<'_>,
    now: Timestamp,
    elsewhere: impl Fn(KeyRef<'_>) -> bool,
) -> Result<Verdict, Abort> {
    let mut lookup = table.lookup(hash, Table::likely_width(charge.limit), now);
    if let Some((change, verdict)) = read_packed(table, &mut lookup, charge, now) {
        return store_one(&lookup, change, verdict);
    }
    attempt_one_slowly(table, lookup, charge, now, elsewhere)
}

#[inline(never)]
fn attempt_one_slowly<'a>(
    table: &'a Table,
    mut lookup: SlotLookup<'a>,
    charge: &PlainCharge<'_>,
    now: Timestamp,
    elsewhere: impl Fn(KeyRef<'_>) -> bool,
) -> Result<Verdict, Abort> {
    let (change, verdict) = read_slowly(table, &mut lookup, charge, now)?;
    if change.seen.is_some() {
        return store_one(&lookup, change, verdict);
    }
    if elsewhere(charge.key) {
        return Err(Abort::Unsupported);
    }
    if verdict.allowed() {
        insert(table, &mut lookup, change.left, now)?;
    }
    Ok(verdict)
}

/// Invariant: what is stored was computed from what the slot holds while its lock bit is held. A refusal stores nothing, and
/// is true of the instant at which the slot was read.
#[inline]
fn store_one(lookup: &SlotLookup<'_>, change: Change, verdict: Verdict) -> Result<Verdict, Abort> {
    if verdict.allowed() {
        if !change.seen.is_some_and(|seen| lookup.lock_as(seen)) {
            return Err(Abort::Conflict);
        }
        lookup.unlock_with(change.left);
    }
    Ok(verdict)
}

/// Gives a new counter its slot, with what the charge leaves in it. To make an empty slot first and to start over, as plans of
/// several charges do, takes 14 % more instructions (`examples/instructions.rs`, case `new`).
fn insert<'a>(
    table: &'a Table,
    lookup: &mut SlotLookup<'a>,
    left: Content,
    now: Timestamp,
) -> Result<(), Abort> {
    let entry = table.registry.get(left.number()).ok_or(Abort::Unsupported)?;
    let need = Need { share: entry.limit.share(), now, pinned: &[left.hash()] };
    match table.claim_with(lookup, (left, entry), need) {
        Claim::Made => Ok(()),
        Claim::There => Err(Abort::Conflict),
        Claim::NoRoom | Claim::OnlyOffenders => Err(Abort::Unsupported),
    }
}

/// Reads all counters, and stores what the charges leave if all are admitted. `verdicts` are those of this attempt.
#[inline(never)]
fn attempt(
    table: &Table,
    charges: &[PlainCharge<'_>],
    verdicts: &mut Verdicts,
    now: Timestamp,
    elsewhere: impl Fn(KeyRef<'_>) -> bool,
) -> Result<(), Abort> {
    verdicts.clear();
    let mut targets: SmallVec<[Target<'_>; 4]> = SmallVec::new();
    // All cache lines are on their way from memory before the first is read.
    for charge in charges {
        let lookup = table.lookup(table.hash(charge.key), Table::likely_width(charge.limit), now);
        lookup.prefetch();
        let left = Content::new(lookup.hash, 0, Packed::default());
        targets.push(Target { lookup, change: Change { seen: None, left } });
    }
    for (index, charge) in charges.iter().enumerate() {
        let (before, rest) = targets.split_at_mut(index);
        let Target { lookup, change } = &mut rest[0];
        // Charges on one counter are judged at their sum, which is the general way's business.
        if before.iter().any(|other| other.lookup.hash == lookup.hash) {
            return Err(Abort::Unsupported);
        }
        if let Some((read, verdict)) = read_packed(table, lookup, charge, now) {
            *change = read;
            verdicts.push(verdict);
            continue;
        }
        let (read, verdict) = read_slowly(table, lookup, charge, now)?;
        *change = read;
        verdicts.push(verdict);
        if change.seen.is_none() && elsewhere(charge.key) {
            return Err(Abort::Unsupported);
        }
    }
    if !verdicts.iter().all(Verdict::allowed) {
        refuse(table, charges, (&mut targets, verdicts), now)
    } else if targets.iter().all(|target| target.change.seen.is_some()) {
        store(&targets)
    } else {
        Err(make_slots(table, &mut targets, now))
    }
}

/// Locks all counters, compares them with what was read, and stores what the charges leave.
#[inline]
fn store(targets: &[Target<'_>]) -> Result<(), Abort> {
    let mut order: [usize; MAX_CHARGES] = std::array::from_fn(|index| index);
    let order = &mut order[..targets.len()];
    // Invariant: lock bits are taken in the order of their addresses, so that of two plans that meet one gets all of its own.
    order.sort_unstable_by_key(|index| targets[*index].lookup.order());
    for (locked, index) in order.iter().enumerate() {
        let Target { lookup, change } = &targets[*index];
        // Invariant: nothing is stored before all lock bits are held and all counters are as they were read.
        if !change.seen.is_some_and(|seen| lookup.lock_as(seen)) {
            order[..locked].iter().for_each(|index| targets[*index].lookup.unlock());
            return Err(Abort::Conflict);
        }
    }
    for Target { lookup, change } in targets {
        lookup.unlock_with(change.left);
    }
    Ok(())
}

/// One of the charges is refused: the verdicts on the others tell their counters as they are.
fn refuse(
    table: &Table,
    charges: &[PlainCharge<'_>],
    (targets, verdicts): (&mut [Target<'_>], &mut [Verdict]),
    now: Timestamp,
) -> Result<(), Abort> {
    for ((Target { change, .. }, verdict), charge) in targets.iter().zip(verdicts).zip(charges) {
        if verdict.allowed() {
            let state = change.seen.map_or(State::EMPTY, |seen| table.state(seen, now));
            *verdict = charge.limit.verdict(&state, now, verdict.outcome);
        }
    }
    // Invariant: at the instant between the last read and the first comparison all counters were as they were read.
    let is_unchanged = |Target { lookup, change }: &mut Target<'_>| match change.seen {
        Some(_) => lookup.read() == change.seen,
        None => !lookup.find() && lookup.is_current(),
    };
    if targets.iter_mut().all(is_unchanged) { Ok(()) } else { Err(Abort::Conflict) }
}

/// Gives slots to counters that have none, with nothing in them yet; then the attempt starts over.
#[cold]
fn make_slots<'a>(table: &'a Table, targets: &mut [Target<'a>], now: Timestamp) -> Abort {
    // Invariant: a plan never makes room for one of its counters by dropping another of them.
    let hashes: SmallVec<[_; 4]> = targets.iter().map(|target| target.lookup.hash).collect();
    for Target { lookup, change } in targets.iter_mut().filter(|target| target.change.seen.is_none()) {
        let Some(entry) = table.registry.get(change.left.number()) else { return Abort::Unsupported };
        let need = Need { share: entry.limit.share(), now, pinned: &hashes };
        if table.claim(lookup, entry, need) != Claim::Made {
            return Abort::Unsupported;
        }
    }
    Abort::Conflict
}

/// Finds and reads a counter where it most likely stands, and computes what the charge leaves of its packed state.
#[expect(clippy::inline_always, reason = "a decision is mostly this")]
#[inline(always)]
fn read_packed<'a>(
    table: &'a Table,
    lookup: &mut SlotLookup<'a>,
    charge: &PlainCharge<'_>,
    now: Timestamp,
) -> Option<(Change, Verdict)> {
    if !lookup.find() {
        return None;
    }
    let seen = lookup.read()?;
    let entry = table.registry.get(seen.number())?;
    let limits = (charge.limit, &entry.limit);
    let (left, verdict) = entry.packing.step_packed(limits, seen.packed(), now, charge.cost)?;
    let left = seen.with(left.unwrap_or_default());
    Some((Change { seen: Some(seen), left }, verdict))
}

/// The same for counters that stand elsewhere in the table or are new, and for states that have to be unpacked.
#[inline(never)]
fn read_slowly<'a>(
    table: &'a Table,
    lookup: &mut SlotLookup<'a>,
    &PlainCharge { limit, cost, .. }: &PlainCharge<'_>,
    now: Timestamp,
) -> Result<(Change, Verdict), Abort> {
    let mut entry = None;
    if !lookup.is_found() {
        let new = table.registry.enter(limit).ok_or(Abort::Unsupported)?;
        table.find_in_other_width(lookup, new, now);
        entry = Some(new);
    }
    let seen = if lookup.is_found() { Some(lookup.read().ok_or(Abort::Conflict)?) } else { None };
    let left_by = seen.map_or(entry, |seen| table.registry.get(seen.number())).ok_or(Abort::Unsupported)?;
    let empty = Content::new(lookup.hash, left_by.number, Packed::default());
    let before = seen.unwrap_or(empty);
    let limits = (limit, &left_by.limit);
    if let Some((left, verdict)) = left_by.packing.step_packed(limits, before.packed(), now, cost) {
        let left = before.with(left.unwrap_or_default());
        return Ok((Change { seen, left }, verdict));
    }
    let mut state = left_by.state(before, now);
    let verdict = limit.step(&mut state, now, cost).map_err(|_| Abort::Unsupported)?;
    let entry = if left_by.limit == *limit { Some(left_by) } else { table.registry.enter(limit) };
    let entry = entry.ok_or(Abort::Unsupported)?;
    // Only the general way moves a counter to a slot of the other width.
    if seen.is_some() && entry.width() != lookup.width() {
        return Err(Abort::Unsupported);
    }
    let packed =
        if verdict.allowed() { entry.packing.pack_admitted(&state) } else { Some(Packed::default()) };
    let left = Content::new(lookup.hash, entry.number, packed.ok_or(Abort::Unsupported)?);
    Ok((Change { seen, left }, verdict))
}

//! What one check asks of the store: a plan of charges, as data, so that it can travel.

mod keys;
mod pay;
mod prepared;
mod short;

use std::time::Duration;

use smallvec::SmallVec;

use crate::algorithm::concurrency::Ticket;
use crate::class::Class;
use crate::key::{Key, KeyRef, KeyTooLong, PreparedKey};
use crate::limit::Limit;

use keys::Keys;

pub use pay::Pay;
pub use prepared::{PreparedCharge, Values};
pub use short::{ShortKey, ShortRoom};

/// The most charges in one plan.
pub const MAX_CHARGES: usize = 64;

/// All charges of one check, in groups; a group is paid whole or not at all, unless a charge says [otherwise](Pay).
///
/// The first group is the one that decides. Every later group (a shadow rule) is judged in the same step, after
/// it, and charged only if the first was paid. Charges of one group on one key count together: each is judged at their
/// sum, and the first of them pays it; so they must pay in the same way.
///
/// ```
/// use std::time::Duration;
/// use tidegate_core::{Key, Limit, Plan};
/// let limit = Limit::sliding_window(100, Duration::from_secs(60))?;
/// let mut plan = Plan::new();
/// plan.charge(Key { home: &[b"alice"], own: &[b"per-user"] }, limit, 1)?;
/// plan.charge(Key { home: &[], own: &[b"everyone"] }, limit, 1)?;
/// assert_eq!(plan.len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct Plan {
    ticket: Ticket,
    keys: Keys,
    entries: SmallVec<[Entry; 4]>,
    /// A bit for each length that a key has, modulo 64: keys of other lengths are new. To compare all keys takes 5 to 8 % more
    /// instructions (`examples/instructions.rs` of the store, cases `made` and `made-four`).
    lengths: u64,
    groups: u16,
    class: Class,
    /// How long the store may take; 0 if nobody said.
    patience_us: u32,
    /// Boxed, because most plans have none and every plan is moved about.
    idempotency: Option<Box<Idempotency>>,
}

/// One limit applied to one key at one cost.
#[derive(Clone, Copy, Debug)]
pub struct Charge<'a> {
    /// The counter.
    pub key: KeyRef<'a>,
    /// What it is held to.
    pub limit: &'a Limit,
    /// Units asked for; 0 is a peek.
    pub cost: u64,
    /// The group it is paid with, counted from 0.
    pub group: u16,
    /// When it is paid.
    pub pay: Pay,
}

/// A name that a caller gives to a check, so that the same check delivered twice is charged once.
///
/// Only admissions are remembered: a refused check may be repeated.
#[derive(Clone, Debug)]
pub struct Idempotency {
    /// The name, with the scope (domain and tenant) as its home.
    pub key: crate::key::KeyBuf,
    /// How long the admission is remembered.
    pub keep_us: u64,
    /// A hash of what was asked. A second delivery is the same check if this or its charges are: limits may have been
    /// reloaded in between, and what no limit asks about may differ. `None` if only the charges are compared.
    pub asked: Option<u64>,
}

/// The key of a charge: in parts, or encoded already.
pub enum ChargeKey<'a> {
    /// In parts, some of which may be prepared.
    Prepared(PreparedKey<'a>),
    /// Encoded.
    Encoded(KeyRef<'a>),
}

/// Keys may be secret.
impl std::fmt::Debug for ChargeKey<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ChargeKey")
    }
}

impl<'a> From<Key<'a>> for ChargeKey<'a> {
    fn from(key: Key<'a>) -> Self {
        Self::Prepared(key.into())
    }
}

impl<'a> From<PreparedKey<'a>> for ChargeKey<'a> {
    fn from(key: PreparedKey<'a>) -> Self {
        Self::Prepared(key)
    }
}

impl<'a> From<KeyRef<'a>> for ChargeKey<'a> {
    fn from(key: KeyRef<'a>) -> Self {
        Self::Encoded(key)
    }
}

/// A plan that cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// More than [`MAX_CHARGES`].
    #[error("a check may charge at most {MAX_CHARGES} limits; let fewer rules match, or put them in a group")]
    TooManyCharges,
    /// Two limits on one counter.
    #[error("two different limits of one check have the same key; give them names of their own")]
    TwoLimits,
    /// Two charges of one group on one counter that pay in different ways, or one of them a gate.
    #[error(
        "two charges of one group have the same key and pay in different ways; give them names of their own"
    )]
    TwoWays,
    /// A gate without the limits that close it.
    #[error(
        "a gate is closed by the charges right before it in its group, and {of} are not there; add them first"
    )]
    GateAlone {
        /// How many there should be.
        of: u8,
    },
    /// Slots that would be taken by a check that is refused.
    #[error("a refused check holds no slots; let a concurrency limit pay if admitted, or never")]
    SlotsOnRefusal,
    /// A key beyond [`crate::MAX_KEY_BYTES`].
    #[error(transparent)]
    Key(#[from] KeyTooLong),
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    key_end: u32,
    group: u16,
    pay: Pay,
    cost: u64,
    limit: Limit,
}

impl Entry {
    fn charge<'a>(&'a self, key: KeyRef<'a>) -> Charge<'a> {
        Charge { key, limit: &self.limit, cost: self.cost, group: self.group, pay: self.pay }
    }
}

/// Keys may be secret: a plan shows its limits and costs, and of keys only their lengths.
impl std::fmt::Debug for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.charges()).finish()
    }
}

impl Plan {
    /// A plan without charges: everything passes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Empties the plan and keeps its memory.
    pub fn clear(&mut self) {
        self.ticket = Ticket::default();
        self.keys.clear();
        self.entries.clear();
        self.lengths = 0;
        self.groups = 0;
        self.class = Class::default();
        self.patience_us = 0;
        self.idempotency = None;
    }

    /// Says what hangs on the plan: the strictest class of the limits that decide.
    pub fn set_class(&mut self, class: Class) {
        self.class = class;
    }

    /// What hangs on the plan.
    pub const fn class(&self) -> Class {
        self.class
    }

    /// Says how long the store may take, because somebody waits no longer for the answer.
    pub fn set_patience(&mut self, patience: Duration) {
        self.patience_us = u32::try_from(patience.as_micros()).unwrap_or(u32::MAX);
    }

    /// How long the store may take, if somebody said.
    pub fn patience(&self) -> Option<Duration> {
        (self.patience_us > 0).then(|| Duration::from_micros(self.patience_us.into()))
    }

    /// Names what the plan will hold: the slots of its concurrency limits, and its reservation. A plan that holds
    /// something needs a ticket that no other plan in flight has.
    pub fn set_ticket(&mut self, ticket: Ticket) {
        self.ticket = ticket;
    }

    /// The name under which the plan holds slots and its reservation.
    pub fn ticket(&self) -> Ticket {
        self.ticket
    }

    /// Makes the plan idempotent under that name.
    pub fn set_idempotency(&mut self, idempotency: Idempotency) {
        self.idempotency = Some(Box::new(idempotency));
    }

    /// The name under which the plan is idempotent, if it has one.
    pub fn idempotency(&self) -> Option<&Idempotency> {
        self.idempotency.as_deref()
    }

    /// Starts a new group: the charges that follow are paid together, apart from those before. In a plan without charges
    /// the first group stays empty, so that nothing decides and everything passes.
    pub fn next_group(&mut self) {
        if self.groups == 0 || self.entries.last().is_some_and(|last| last.group == self.groups) {
            self.groups += 1;
        }
    }

    /// The group that the next charge belongs to.
    pub const fn group(&self) -> u16 {
        self.groups
    }

    /// Adds a charge to the current group, which pays if it is admitted.
    pub fn charge<'k>(
        &mut self,
        key: impl Into<ChargeKey<'k>>,
        limit: Limit,
        cost: u64,
    ) -> Result<(), PlanError> {
        self.charge_when(key, limit, cost, Pay::IfAdmitted)
    }

    /// Adds a charge to the current group, and says when it pays.
    #[inline]
    pub fn charge_when<'k>(
        &mut self,
        key: impl Into<ChargeKey<'k>>,
        limit: Limit,
        cost: u64,
        pay: Pay,
    ) -> Result<(), PlanError> {
        let start = self.keys.len();
        match key.into() {
            ChargeKey::Prepared(key) => {
                let sizes = key.sizes()?;
                key.write(sizes, self.keys.grow(sizes.bytes));
            }
            ChargeKey::Encoded(key) => self.keys.grow(key.bytes().len()).copy_from_slice(key.bytes()),
        }
        self.push(start, &limit, cost, pay)
    }

    /// Adds a charge on the key that begins at `start`, or takes the key back.
    #[inline]
    fn push(&mut self, start: usize, limit: &Limit, cost: u64, pay: Pay) -> Result<(), PlanError> {
        let end = self.keys.len();
        let length = length_bit(end - start);
        if self.lengths & length != 0 || self.entries.len() >= MAX_CHARGES {
            self.takes(start, limit, pay).inspect_err(|_| self.keys.truncate(start))?;
        }
        if pay != Pay::IfAdmitted {
            self.takes_unusual(limit, pay).inspect_err(|_| self.keys.truncate(start))?;
        }
        self.lengths |= length;
        self.entries.push(Entry { key_end: key_end(end), group: self.groups, pay, cost, limit: *limit });
        Ok(())
    }

    /// Whether such a charge on the key that begins at `start` can stand beside all others.
    #[inline(never)]
    fn takes(&self, start: usize, limit: &Limit, pay: Pay) -> Result<(), PlanError> {
        if self.entries.len() == MAX_CHARGES {
            return Err(PlanError::TooManyCharges);
        }
        let (before, key) = self.keys.bytes().split_at(start);
        let mut other_start = 0;
        for other in &self.entries {
            let other_end = other.key_end as usize;
            if before[other_start..other_end] == *key {
                self.takes_beside(other, limit, pay)?;
            }
            other_start = other_end;
        }
        Ok(())
    }

    /// Whether a charge that pays otherwise than most can be added to the current group.
    #[inline(never)]
    fn takes_unusual(&self, limit: &Limit, pay: Pay) -> Result<(), PlanError> {
        match pay {
            _ if pay.on_refusal() && limit.term_us().is_some() => Err(PlanError::SlotsOnRefusal),
            Pay::IfRefused { of } if of == 0 || usize::from(of) > self.group_len() => {
                Err(PlanError::GateAlone { of })
            }
            _ => Ok(()),
        }
    }

    /// Whether such a charge can stand beside one on the same key.
    #[cold]
    fn takes_beside(&self, other: &Entry, limit: &Limit, pay: Pay) -> Result<(), PlanError> {
        let differs = other.pay != pay || matches!(pay, Pay::IfRefused { .. });
        if other.limit != *limit {
            Err(PlanError::TwoLimits)
        } else if other.group == self.groups && differs {
            Err(PlanError::TwoWays)
        } else {
            Ok(())
        }
    }

    /// How many charges the current group has.
    fn group_len(&self) -> usize {
        self.entries.iter().rev().take_while(|entry| entry.group == self.groups).count()
    }

    /// The same charges at no cost: what is asked then is how things stand.
    #[must_use]
    pub fn at_no_cost(&self) -> Self {
        let mut free = self.clone();
        free.set_costs(|_, _| 0);
        free
    }

    /// Replaces the cost of each charge; `cost` takes the place of the charge and its present cost.
    pub fn set_costs(&mut self, cost: impl Fn(usize, u64) -> u64) {
        for (place, entry) in self.entries.iter_mut().enumerate() {
            entry.cost = cost(place, entry.cost);
        }
    }

    /// The last charge on that key, if there is one.
    pub fn find(&self, key: KeyRef<'_>) -> Option<Charge<'_>> {
        self.charges().filter(|charge| charge.key == key).last()
    }

    /// Replaces the limit of every charge on that key, and when those of the current group pay. The limits of one key may differ
    /// in their amounts only.
    pub fn replace(&mut self, key: KeyRef<'_>, limit: Limit, pay: Pay) {
        let is_same = |charge: Charge<'_>| charge.key == key;
        let places: SmallVec<[bool; 16]> = self.charges().map(is_same).collect();
        for (entry, _) in self.entries.iter_mut().zip(places).filter(|(_, is_same)| *is_same) {
            entry.limit = limit;
            if entry.group == self.groups {
                entry.pay = pay;
            }
        }
    }

    /// How many charges it has.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it has no charge at all.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The charge at that place. Panics if there is none, as a slice does.
    pub fn get(&self, index: usize) -> Charge<'_> {
        let start = if index == 0 { 0 } else { self.entries[index - 1].key_end as usize };
        let entry = &self.entries[index];
        entry.charge(KeyRef::new(&self.keys.bytes()[start..entry.key_end as usize]))
    }

    /// The charges in the order in which they were added.
    pub fn charges(&self) -> impl ExactSizeIterator<Item = Charge<'_>> {
        let (keys, entries) = (self.keys.bytes(), self.entries.as_slice());
        let mut start = 0;
        entries.iter().map(move |entry| {
            let end = entry.key_end as usize;
            let key = KeyRef::new(&keys[start..end]);
            start = end;
            entry.charge(key)
        })
    }
}

#[inline]
fn key_end(end: usize) -> u32 {
    u32::try_from(end).expect("64 keys of at most 4 KiB end below 2^32")
}

/// The bit of a key's length, of which the lowest byte is enough.
#[inline]
const fn length_bit(length: usize) -> u64 {
    1_u64.rotate_left(length.to_le_bytes()[0] as u32)
}

#[cfg(test)]
mod tests;

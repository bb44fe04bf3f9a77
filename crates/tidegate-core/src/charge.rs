//! What one check asks of the store: a plan of charges, as data, so that it can travel.

use smallvec::SmallVec;

use crate::algorithm::concurrency::Ticket;
use crate::key::{Key, KeyRef, KeyTooLong};
use crate::limit::Limit;

/// The most charges in one plan.
pub const MAX_CHARGES: usize = 64;

/// All charges of one check, in groups; a group is paid whole or not at all.
///
/// The first group is the one that decides. Every later group (a shadow rule) is judged in the same step, after
/// it, and charged only if the first was paid. Charges of one group on one key count together: each is judged at their
/// sum, and the first of them pays it.
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
    keys: SmallVec<[u8; 256]>,
    entries: SmallVec<[Entry; 4]>,
    groups: u16,
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
    /// A key beyond [`crate::MAX_KEY_BYTES`].
    #[error(transparent)]
    Key(#[from] KeyTooLong),
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    key_end: u32,
    group: u16,
    cost: u64,
    limit: Limit,
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
        self.groups = 0;
        self.idempotency = None;
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

    /// Adds a charge to the current group.
    pub fn charge(&mut self, key: Key<'_>, limit: Limit, cost: u64) -> Result<(), PlanError> {
        let start = self.keys.len();
        key.encode_into(&mut self.keys)?;
        self.push(start, limit, cost)
    }

    /// Adds a charge on a key that is encoded already.
    pub fn charge_encoded(&mut self, key: KeyRef<'_>, limit: Limit, cost: u64) -> Result<(), PlanError> {
        let start = self.keys.len();
        self.keys.extend_from_slice(key.bytes());
        self.push(start, limit, cost)
    }

    /// Adds a charge on the key that begins at `start`, or takes the key back.
    fn push(&mut self, start: usize, limit: Limit, cost: u64) -> Result<(), PlanError> {
        let key = &self.keys[start..];
        let error = if self.entries.len() == MAX_CHARGES {
            PlanError::TooManyCharges
        } else if self.charges().any(|other| other.key.bytes() == key && *other.limit != limit) {
            PlanError::TwoLimits
        } else {
            let key_end = u32::try_from(self.keys.len()).expect("64 keys of at most 4 KiB end below 2^32");
            self.entries.push(Entry { key_end, group: self.groups, cost, limit });
            return Ok(());
        };
        self.keys.truncate(start);
        Err(error)
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
        let key = KeyRef::new(&self.keys[start..entry.key_end as usize]);
        Charge { key, limit: &entry.limit, cost: entry.cost, group: entry.group }
    }

    /// The charges in the order in which they were added.
    pub fn charges(&self) -> impl ExactSizeIterator<Item = Charge<'_>> {
        (0..self.len()).map(|index| self.get(index))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn limit() -> Limit {
        Limit::sliding_window(10, Duration::from_secs(1)).unwrap()
    }

    #[test]
    fn charges_keep_their_keys_costs_and_groups() {
        let mut plan = Plan::new();
        for (name, cost) in [("a", 1), ("b", 2)] {
            plan.charge(Key { home: &[name.as_bytes()], own: &[] }, limit(), cost).unwrap();
        }
        plan.next_group();
        plan.next_group();
        plan.charge(Key { home: &[b"c"], own: &[] }, limit(), 3).unwrap();
        let seen: Vec<_> =
            plan.charges().map(|charge| (charge.key.home()[1], charge.cost, charge.group)).collect();
        assert_eq!(seen, [(b'a', 1, 0), (b'b', 2, 0), (b'c', 3, 1)]);
    }

    #[test]
    fn one_charge_too_many_is_refused_and_changes_nothing() {
        let mut plan = Plan::new();
        let key = Key { home: &[b"k"], own: &[] };
        for _ in 0..MAX_CHARGES {
            plan.charge(key, limit(), 1).unwrap();
        }
        assert_eq!(plan.charge(key, limit(), 1), Err(PlanError::TooManyCharges));
        assert_eq!(plan.len(), MAX_CHARGES);
    }

    #[test]
    fn two_limits_on_one_key_are_refused_and_say_what_to_do() {
        let mut plan = Plan::new();
        let key = Key { home: &[b"k"], own: &[] };
        plan.charge(key, limit(), 1).unwrap();
        plan.charge(key, limit(), 2).unwrap();
        let other = Limit::sliding_window(11, Duration::from_secs(1)).unwrap();
        let error = plan.charge(key, other, 1).unwrap_err();
        assert!(error.to_string().contains("names of their own"), "{error}");
        plan.charge(Key { home: &[b"l"], own: &[] }, other, 1).unwrap();
        assert_eq!((plan.len(), plan.get(2).key.home()), (3, &b"\x01l"[..]));
    }

    #[test]
    fn a_plan_of_shadows_alone_has_an_empty_first_group() {
        let mut plan = Plan::new();
        plan.next_group();
        plan.next_group();
        plan.charge(Key { home: &[b"k"], own: &[] }, limit(), 1).unwrap();
        assert_eq!(plan.get(0).group, 1);
    }

    #[test]
    fn debug_output_does_not_show_keys() {
        let mut plan = Plan::new();
        let key = Key { home: &[b"sk_live_secret"], own: &[] };
        plan.charge(key, limit(), 1).unwrap();
        let secret = format!("{:?}", b"sk_live_secret");
        for shown in [format!("{plan:?}"), format!("{key:?}")] {
            assert!(!shown.contains("secret") && !shown.contains(&secret[1..20]), "{shown}");
        }
    }

    #[test]
    fn a_cleared_plan_is_as_good_as_new() {
        let mut plan = Plan::new();
        plan.charge(Key { home: &[b"k"], own: &[] }, limit(), 1).unwrap();
        plan.next_group();
        plan.clear();
        plan.charge(Key { home: &[b"x"], own: &[] }, limit(), 1).unwrap();
        assert_eq!((plan.get(0).group, plan.get(0).key.home()), (0, &b"\x01x"[..]));
    }
}

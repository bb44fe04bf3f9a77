//! A limit with a name: what counters, headers and refusals call it.

use smallvec::SmallVec;
use tidegate_core::{Key, Limit, Plan, PlanError};

use crate::Error;

/// A named limit.
///
/// Counters belong to the name, the algorithm and its window: giving a rule other numbers keeps what was counted, and a
/// raised limit unblocks at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    name: Box<str>,
    limit: Limit,
    identity: [u8; 10],
}

/// A rule, asked about one key at one cost.
#[derive(Clone, Copy)]
pub struct Ask<'r, 'k> {
    pub(crate) rule: &'r Rule,
    key: &'k [u8],
    cost: u64,
}

impl Rule {
    /// A limit under that name: 1 to 64 of `A-Z a-z 0-9 _ . : / -`.
    pub fn new(name: &str, limit: Limit) -> Result<Self, Error> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:/-".contains(&byte);
        if name.is_empty() || name.len() > 64 || !name.bytes().all(fits) {
            return Err(Error::Name { name: name.chars().take(80).collect() });
        }
        if limit.is_calendar() {
            return Err(Error::Calendar);
        }
        Ok(Self { name: name.into(), limit, identity: limit.identity() })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its numbers.
    pub fn limit(&self) -> &Limit {
        &self.limit
    }

    /// The rule asked about that key, at a cost of 1. An empty key is one counter for all.
    pub fn on<'k>(&self, key: &'k (impl AsRef<[u8]> + ?Sized)) -> Ask<'_, 'k> {
        Ask { rule: self, key: key.as_ref(), cost: 1 }
    }
}

/// Keys may be secret: they are not shown.
impl std::fmt::Debug for Ask<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { rule, key, cost } = self;
        write!(f, "Ask({} on {} bytes at {cost})", rule.name, key.len())
    }
}

impl Ask<'_, '_> {
    /// The same at another cost; 0 is a peek.
    #[must_use]
    pub fn cost(mut self, cost: u64) -> Self {
        self.cost = cost;
        self
    }

    fn charge(&self, plan: &mut Plan) -> Result<(), PlanError> {
        let own: [&[u8]; 2] = [self.rule.name.as_bytes(), &self.rule.identity];
        plan.charge(Key { home: &[self.key], own: &own }, self.rule.limit, self.cost)
    }
}

/// The asks as a plan, filled in place.
pub(crate) fn fill(plan: &mut Plan, asks: &[Ask<'_, '_>]) -> Result<(), PlanError> {
    asks.iter().try_for_each(|ask| ask.charge(plan))
}

/// The rules of the asks, in their order.
pub(crate) fn rules_of<'a>(asks: &[Ask<'a, '_>]) -> Rules<'a> {
    asks.iter().map(|ask| ask.rule).collect()
}

pub(crate) type Rules<'a> = SmallVec<[&'a Rule; 4]>;

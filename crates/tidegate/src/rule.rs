//! A limit with a name: what counters, headers and refusals call it.

use smallvec::SmallVec;
use tidegate_core::{
    EncodedParts, Limit, Plan, PlanError, PreparedKey, ShortKey, ShortRoom, Timestamp, Verdict,
};
use tidegate_store::{Memory, PlainCharge, Verdicts};

use crate::Error;

/// A named limit.
///
/// Counters belong to the name, the algorithm and its window: giving a rule other numbers keeps what was counted, and a
/// raised limit unblocks at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    name: Box<str>,
    limit: Limit,
    /// The limit in the rule's share of the memory.
    counted: Limit,
    /// What the keys of its counters end with.
    back: EncodedParts,
    /// The same for keys that are short, which it always is.
    short: Option<ShortKey>,
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
        let [.., a, b, c, d] = EncodedParts::digest(&[name.as_bytes()]).to_be_bytes();
        let counted = limit.in_share(u32::from_be_bytes([a, b, c, d]));
        let digest = EncodedParts::digest(&[name.as_bytes(), &limit.identity()]);
        let back = EncodedParts::new(&[&digest.to_be_bytes()]);
        let short = ShortKey::new(EncodedParts::NONE, &back);
        Ok(Self { name: name.into(), limit, counted, back, short })
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
        plan.charge(self.prepared(), self.rule.counted, self.cost)
    }

    /// Decides about this alone, if the store has a short way for it.
    #[inline]
    pub(crate) fn decide(&self, store: &Memory, now: Timestamp) -> Option<Verdict> {
        let mut room = ShortRoom::default();
        let key = self.rule.short.as_ref()?.encode(self.key, &mut room)?;
        store.decide_one_now(key, &self.rule.counted, self.cost, now)
    }

    #[inline]
    fn prepared(&self) -> PreparedKey<'_> {
        PreparedKey {
            front: EncodedParts::NONE,
            home: std::slice::from_ref(&self.key),
            back: &self.rule.back,
            own: &[],
        }
    }
}

/// Decides about a few asks together, if the store has a short way for them.
pub(crate) fn decide_few(store: &Memory, asks: &[Ask<'_, '_>], now: Timestamp) -> Option<Verdicts> {
    let mut rooms = [ShortRoom::default(); 4];
    if asks.len() > rooms.len() {
        return None;
    }
    let mut charges: SmallVec<[PlainCharge<'_>; 4]> = SmallVec::new();
    for (ask, room) in asks.iter().zip(&mut rooms) {
        let key = ask.rule.short.as_ref()?.encode(ask.key, room)?;
        charges.push(PlainCharge { key, limit: &ask.rule.counted, cost: ask.cost });
    }
    store.decide_few_now(&charges, now)
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

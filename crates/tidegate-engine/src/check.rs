//! One question: may this request pass?

use std::hash::{Hash as _, Hasher as _};
use std::time::Duration;

use siphasher::sip::SipHasher24;

/// The most attributes of a check.
pub const MAX_ATTRIBUTES: usize = 128;
/// The most descriptors of a check: a plan has room for a limit of each.
pub const MAX_DESCRIPTORS: usize = 64;
/// The most entries of a descriptor.
pub const MAX_ENTRIES: usize = 64;
/// The longest name of a domain, an attribute or an entry, and the longest idempotency key, in bytes.
pub const MAX_NAME_BYTES: usize = 256;
/// The longest value of an attribute or an entry, in bytes.
pub const MAX_VALUE_BYTES: usize = 16_384;
/// The most units that one check may ask for.
pub const MAX_COST: u64 = 1_000_000_000_000;

/// A question as a door understood it.
#[derive(Clone, Copy)]
pub struct Check<'a> {
    /// The domain whose rules apply.
    pub domain: &'a str,
    /// Facts of the request: names and values.
    pub attributes: &'a [(&'a str, &'a str)],
    /// Envoy's descriptors; their entries are facts of the request as well.
    pub descriptors: &'a [Descriptor<'a>],
    /// How many times the cost of one request it takes: 1 for most, 0 to charge nothing.
    pub cost: u64,
    /// A name under which the same check is charged once, however often it is delivered.
    pub idempotency_key: Option<&'a str>,
    /// How long whoever asks will wait for the answer, if that is known. It is nobody's fault if it is no use: a check is
    /// never malformed for it.
    pub patience: Option<Duration>,
}

/// Envoy's ordered list of keys and values.
#[derive(Clone, Copy)]
pub struct Descriptor<'a> {
    /// The keys and values, in order.
    pub entries: &'a [(&'a str, &'a str)],
    /// A limit in place of the one that the rules have for it.
    pub limit: Option<Override>,
    /// Its own cost, in place of the check's.
    pub cost: Option<u64>,
    /// When that cost is charged.
    pub charging: Charging,
}

/// When the cost of a descriptor is charged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Charging {
    /// If the request passes.
    #[default]
    IfAdmitted,
    /// Never. Limits of a descriptor tree refuse only if they are exceeded already, as in
    /// envoyproxy/ratelimit; rules are judged at the descriptor's cost.
    Peek,
    /// In any case: a limit of a descriptor tree is charged although it refuses, because the cost has
    /// arisen already. Rules say by `count_refused` whether they count what they refuse.
    Late,
}

impl<'a> Descriptor<'a> {
    /// A descriptor at the cost of its check.
    pub const fn new(entries: &'a [(&'a str, &'a str)]) -> Self {
        Self { entries, limit: None, cost: None, charging: Charging::IfAdmitted }
    }
}

/// A limit that came with a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Override {
    /// How many per window.
    pub amount: u64,
    /// The window.
    pub per: Duration,
}

/// A check that cannot be asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Malformed {
    /// No domain.
    #[error("the domain is empty; name the domain whose rules apply")]
    NoDomain,
    /// Too many of something.
    #[error("the check has {count} {what} and the most is {most}")]
    TooMany {
        /// What there are too many of.
        what: &'static str,
        /// How many there are.
        count: usize,
        /// The most.
        most: usize,
    },
    /// A name or value that is too long.
    #[error("{what} has {bytes} bytes and the most is {most}")]
    TooLong {
        /// What is too long.
        what: &'static str,
        /// How long it is.
        bytes: usize,
        /// The most.
        most: usize,
    },
    /// A cost beyond all bounds.
    #[error("a cost of {cost} is more than {MAX_COST}")]
    Cost {
        /// The cost.
        cost: u64,
    },
    /// A derived attribute that the caller claims to be another.
    #[error("the attribute `{attribute}` contradicts what follows from `{from}`; leave it out")]
    Contradiction {
        /// The attribute.
        attribute: String,
        /// What it is derived from.
        from: String,
    },
    /// So many limits, or limits so odd, that no plan can be made.
    #[error("{0}")]
    Plan(#[from] tidegate_core::PlanError),
    /// The idempotency key is empty: whoever writes that for none would be charged once for all of its checks.
    #[error("the idempotency key is empty; leave it out, or use a new key for each request")]
    EmptyIdempotencyKey,
    /// The same idempotency key came with other charges.
    #[error("the idempotency key was used for a check with other charges; use a new key for each request")]
    IdempotencyConflict,
    /// An attribute that holds the cost of a request is no whole number.
    #[error("the attribute `{attribute}` is the cost of a rule and is no whole number; send 0 or more units")]
    UnreadableCost {
        /// The attribute.
        attribute: String,
    },
    /// A commit by attributes that no rule of its reservation takes its cost from.
    #[error("no rule of this reservation takes its cost from these attributes; {0}")]
    NothingMeasured(String),
    /// An override that is no limit.
    #[error("the limit of a descriptor cannot be used: {0}")]
    Override(String),
}

impl<'a> Check<'a> {
    /// A check of a domain at the cost of one request, without any facts.
    pub const fn new(domain: &'a str) -> Self {
        Self { domain, attributes: &[], descriptors: &[], cost: 1, idempotency_key: None, patience: None }
    }

    /// Whether it keeps to all bounds.
    pub fn validate(&self) -> Result<(), Malformed> {
        if self.is_plainly_valid() { Ok(()) } else { self.validate_all() }
    }

    /// Whether it is seen in a few steps that it keeps to all bounds, as nearly all do.
    #[inline]
    fn is_plainly_valid(&self) -> bool {
        let Self { domain, attributes, descriptors, cost, idempotency_key, patience: _ } = self;
        let is_usual = descriptors.is_empty() && idempotency_key.is_none() && !domain.is_empty();
        let (mut names, mut values) = (domain.len(), 0);
        for (name, value) in *attributes {
            names |= name.len();
            values |= value.len();
        }
        // No number is larger than all of their bits together: the shares of three bounds are seen at once.
        let attributes = attributes.len() * (MAX_NAME_BYTES / MAX_ATTRIBUTES);
        let values = values / (MAX_VALUE_BYTES / MAX_NAME_BYTES);
        is_usual && (names | values | attributes) < MAX_NAME_BYTES && *cost <= MAX_COST
    }

    #[inline(never)]
    fn validate_all(&self) -> Result<(), Malformed> {
        if self.domain.is_empty() {
            return Err(Malformed::NoDomain);
        }
        short("the domain", self.domain, MAX_NAME_BYTES)?;
        if self.idempotency_key == Some("") {
            return Err(Malformed::EmptyIdempotencyKey);
        }
        short("the idempotency key", self.idempotency_key.unwrap_or_default(), MAX_NAME_BYTES)?;
        few("descriptors", self.descriptors.len(), MAX_DESCRIPTORS)?;
        affordable(self.cost)?;
        validate_attributes(self.attributes)?;
        for descriptor in self.descriptors {
            few("entries", descriptor.entries.len(), MAX_ENTRIES)?;
            affordable(descriptor.cost.unwrap_or(0))?;
            pairs(descriptor.entries)?;
        }
        Ok(())
    }
}

impl<'a> Check<'a> {
    /// The descriptor at a place. Each attribute of a check without descriptors stands for a descriptor of one entry.
    pub(crate) fn descriptor(&self, place: u16) -> Option<Descriptor<'a>> {
        let place = usize::from(place);
        if !self.descriptors.is_empty() {
            return self.descriptors.get(place).copied();
        }
        let entries = self.attributes.get(place..=place)?;
        Some(Descriptor::new(entries))
    }
}

impl Check<'_> {
    /// A hash of everything that is asked.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut hasher = SipHasher24::new();
        self.domain.hash(&mut hasher);
        self.attributes.hash(&mut hasher);
        for Descriptor { entries, limit, cost, charging } in self.descriptors {
            entries.hash(&mut hasher);
            limit.map(|limit| (limit.amount, limit.per)).hash(&mut hasher);
            (cost, charging).hash(&mut hasher);
        }
        self.cost.hash(&mut hasher);
        hasher.finish()
    }
}

/// Values may be secret: a check shows its names only.
impl std::fmt::Debug for Check<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.attributes.iter().map(|(name, _)| *name).collect();
        f.debug_struct("Check")
            .field("domain", &self.domain)
            .field("attributes", &names)
            .field("descriptors", &self.descriptors)
            .field("cost", &self.cost)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Descriptor<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.entries.iter().map(|(key, _)| key)).finish()
    }
}

/// Whether attributes keep to the bounds of a check.
pub fn validate_attributes(attributes: &[(&str, &str)]) -> Result<(), Malformed> {
    few("attributes", attributes.len(), MAX_ATTRIBUTES)?;
    pairs(attributes)
}

fn pairs(pairs: &[(&str, &str)]) -> Result<(), Malformed> {
    let is_long =
        |(name, value): &&(&str, &str)| name.len() > MAX_NAME_BYTES || value.len() > MAX_VALUE_BYTES;
    let Some((name, value)) = pairs.iter().find(is_long) else { return Ok(()) };
    short("a name", name, MAX_NAME_BYTES)?;
    short("a value", value, MAX_VALUE_BYTES)
}

fn short(what: &'static str, text: &str, most: usize) -> Result<(), Malformed> {
    if text.len() > most { Err(Malformed::TooLong { what, bytes: text.len(), most }) } else { Ok(()) }
}

fn few(what: &'static str, count: usize, most: usize) -> Result<(), Malformed> {
    if count > most { Err(Malformed::TooMany { what, count, most }) } else { Ok(()) }
}

fn affordable(cost: u64) -> Result<(), Malformed> {
    if cost > MAX_COST { Err(Malformed::Cost { cost }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Around bounds, and well within them.
    fn lengths(most: usize) -> impl Strategy<Value = usize> {
        prop_oneof![4 => 0..20_usize, 1 => (most - 2)..=(most + 1)]
    }

    proptest! {
        #[test]
        fn what_is_plainly_valid_is_valid(
            domain in lengths(MAX_NAME_BYTES),
            pairs in prop::collection::vec((lengths(MAX_NAME_BYTES), lengths(MAX_VALUE_BYTES)), 0..4),
            count in lengths(MAX_ATTRIBUTES),
            cost in prop_oneof![0..9_u64, MAX_COST - 1..=MAX_COST + 1],
            key in prop::option::of(lengths(MAX_NAME_BYTES)),
        ) {
            let text = "x".repeat(MAX_VALUE_BYTES + 1);
            let few = pairs.iter().map(|(name, value)| (&text[..*name], &text[..*value]));
            let attributes: Vec<(&str, &str)> = few.chain((0..count).map(|_| ("a", "b"))).collect();
            let check = Check {
                attributes: &attributes,
                cost,
                idempotency_key: key.map(|length| &text[..length]),
                ..Check::new(&text[..domain])
            };
            prop_assert!(!check.is_plainly_valid() || check.validate_all().is_ok());
            prop_assert_eq!(check.validate(), check.validate_all());
        }
    }

    #[test]
    fn an_ordinary_check_is_plainly_valid() {
        let attributes = [("api_key", "k1"), ("path", "/api/v1/orders")];
        assert!(Check { attributes: &attributes, ..Check::new("api") }.is_plainly_valid());
    }
}

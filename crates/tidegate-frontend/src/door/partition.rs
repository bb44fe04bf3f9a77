//! Partition keys: which of a policy's counters was charged, as a keyed hash of what it counts by.

use std::fmt;
use std::hash::Hasher as _;

use siphasher::sip::SipHasher24;
use tidegate_engine::matching::{self, Matches};
use tidegate_engine::{Check, Decision, LimitView};
use tidegate_rules::Domain;
use tidegate_rules::address;
use tidegate_rules::condition::Facts;
use tidegate_rules::rule::{By, Rule, Scope};

use super::DoorSettings;

/// What partition keys are hashed with: whoever knows it can try values out, so it is shown nowhere.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PartitionSecret([u8; 16]);

/// A hash as it is told.
pub(super) type Partition = [u8; 8];

/// All that partition keys of one check are made from.
pub(super) struct Partitions<'v> {
    secret: PartitionSecret,
    check: Check<'v>,
    domain: &'v Domain,
    matches: Matches<'v>,
}

impl PartitionSecret {
    /// A secret of that many random bytes.
    pub const fn new(secret: [u8; 16]) -> Self {
        Self(secret)
    }
}

impl fmt::Debug for PartitionSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PartitionSecret(..)")
    }
}

impl<'v> Partitions<'v> {
    /// `None` unless the settings ask for them. The check is matched once more: what it counts by is not kept with a
    /// decision, which would cost all those who do not ask for it.
    pub(super) fn of(settings: &DoorSettings, check: &Check<'v>, decision: &'v Decision) -> Option<Self> {
        let secret = settings.pk_secret.filter(|_| settings.headers.partition_keys)?;
        let domain = decision.domain()?;
        let matches = matching::find(check, domain).ok()?;
        Some(Self { secret, check: *check, domain, matches })
    }

    /// The partition of a limit: of the same rule the same one whatever its limits, of another rule another one.
    pub(super) fn partition(&self, view: &LimitView<'_>) -> Option<Partition> {
        let mut hash = Values(SipHasher24::new_with_key(&self.secret.0));
        hash.add(self.domain.name.as_bytes());
        match view.rule {
            Some(rule) if rule.tree.is_none() => self.add_rule(&mut hash, rule, self.facts(view)?)?,
            rule => self.add_entries(&mut hash, rule, view.descriptor?)?,
        }
        Some(hash.0.finish().to_be_bytes())
    }

    fn facts(&self, view: &LimitView<'_>) -> Option<&Facts<'v>> {
        let own = self
            .matches
            .views
            .iter()
            .find(|one| one.descriptor.is_some() && one.descriptor.map(usize::from) == view.descriptor);
        own.or_else(|| self.matches.views.first()).map(|view| &view.facts)
    }

    fn add_rule(&self, hash: &mut Values, rule: &Rule, facts: &Facts<'_>) -> Option<()> {
        hash.add(rule.identity.as_bytes());
        let tenant = self.domain.tenant.filter(|_| rule.scope == Scope::Tenant);
        if let Some(tenant) = tenant {
            hash.add(facts.get(tenant).unwrap_or_default().as_bytes());
        }
        for by in &rule.by {
            match by {
                By::Address(attribute) => {
                    hash.add(&address::key(facts.get(*attribute)?, self.domain.prefixes));
                }
                by => hash.add(by.value(facts)?.as_bytes()),
            }
        }
        Some(())
    }

    fn add_entries(&self, hash: &mut Values, rule: Option<&Rule>, descriptor: usize) -> Option<()> {
        let shared = rule.and_then(|rule| rule.tree.as_deref()).map_or(&[][..], |tree| &tree.shared);
        for (place, (key, value)) in self.check.descriptors.get(descriptor)?.entries.iter().enumerate() {
            let pattern = shared.get(place).and_then(Option::as_deref);
            hash.add(key.as_bytes());
            hash.add(pattern.unwrap_or(value).as_bytes());
        }
        Some(())
    }
}

/// Values one behind the other, each behind its length.
struct Values(SipHasher24);

impl Values {
    fn add(&mut self, value: &[u8]) {
        self.0.write_usize(value.len());
        self.0.write(value);
    }
}

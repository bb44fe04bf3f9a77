//! Where counters live: the parts of their keys.

use smallvec::SmallVec;
use tidegate_core::Key;
use tidegate_rules::Domain;
use tidegate_rules::address::AddressKey;
use tidegate_rules::condition::Facts;
use tidegate_rules::rule::{By, Rule, Scope};

use super::chosen::{Chosen, Source};
use crate::check::Check;

/// What all counters of a rule for one request have in common.
pub(super) struct Counter<'a> {
    domain: &'a [u8],
    lives: Lives<'a>,
    /// The rule, and the values that it counts by.
    owner: SmallVec<[Value<'a>; 6]>,
}

/// Where counters live.
enum Lives<'a> {
    /// With a tenant: its value, if the request has one.
    WithTenant(Option<&'a str>),
    /// At their own values.
    Alone,
}

enum Value<'a> {
    Text(&'a str),
    Address(AddressKey),
}

impl Value<'_> {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Address(key) => key,
        }
    }
}

impl Counter<'_> {
    /// Gives the key of one of its limits to `take`.
    pub(super) fn with<T>(&self, limit: &str, take: impl FnOnce(Key<'_>) -> T) -> T {
        let values = self.owner.iter().map(Value::bytes);
        match self.lives {
            // The rule and what it counts by tell it from its neighbours there.
            Lives::WithTenant(tenant) => {
                let home: SmallVec<[&[u8]; 2]> =
                    [Some(self.domain), tenant.map(str::as_bytes)].into_iter().flatten().collect();
                let own: SmallVec<[&[u8]; 8]> = std::iter::once(limit.as_bytes()).chain(values).collect();
                take(Key { home: &home, own: &own })
            }
            // Limits on the same values live together.
            Lives::Alone => {
                let home: SmallVec<[&[u8]; 8]> = std::iter::once(self.domain).chain(values).collect();
                take(Key { home: &home, own: &[limit.as_bytes()] })
            }
        }
    }
}

/// The counters of a rule; `None` if the request lacks something that it counts by.
pub(super) fn counter<'a>(
    check: &Check<'a>,
    domain: &'a Domain,
    rule: &'a Rule,
    (chosen, facts): (&Chosen, &Facts<'a>),
) -> Option<Counter<'a>> {
    if let (Source::Tree { descriptor }, Some(tree)) = (chosen.source, rule.tree.as_deref()) {
        let asked = check.descriptors.get(usize::from(descriptor))?;
        return Some(of_entries(domain, asked.entries, &tree.shared));
    }
    let mut owner = SmallVec::new();
    owner.push(Value::Text(&rule.identity));
    for by in &rule.by {
        owner.push(match by {
            By::Attribute(attribute) => Value::Text(facts.get(*attribute)?),
            By::Address(attribute) => Value::Address(domain.prefixes.key(facts.get(*attribute)?)),
            By::Capture { attribute, glob, index, .. } => {
                Value::Text(glob.capture(facts.get(*attribute)?, *index)?)
            }
        });
    }
    let lives = match (rule.scope, domain.tenant) {
        (Scope::Tenant, Some(tenant)) => Lives::WithTenant(facts.get(tenant)),
        _ => Lives::Alone,
    };
    Some(Counter { domain: domain.name.as_bytes(), lives, owner })
}

/// The counters of a descriptor: its entries, with patterns in place of values that share one. They live with the tenant
/// if an entry names it. The first value is empty, which no rule's name is.
pub(super) fn of_entries<'a>(
    domain: &'a Domain,
    entries: &[(&'a str, &'a str)],
    shared: &'a [Option<Box<str>>],
) -> Counter<'a> {
    let mut owner = SmallVec::new();
    owner.push(Value::Text(""));
    for (place, (key, value)) in entries.iter().enumerate() {
        owner.push(Value::Text(key));
        let pattern = shared.get(place).and_then(Option::as_deref);
        owner.push(Value::Text(pattern.unwrap_or(value)));
    }
    let tenant = domain.tenant.map(|tenant| domain.names.name(tenant));
    let tenant = tenant.and_then(|tenant| entries.iter().find(|(key, _)| *key == tenant));
    let lives = tenant.map_or(Lives::Alone, |(_, value)| Lives::WithTenant(Some(value)));
    Counter { domain: domain.name.as_bytes(), lives, owner }
}

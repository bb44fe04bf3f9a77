//! Where counters live: the parts of their keys.

use smallvec::SmallVec;
use tidegate_core::Key;
use tidegate_rules::Domain;
use tidegate_rules::address::AddressKey;
use tidegate_rules::condition::Facts;
use tidegate_rules::rule::{By, Rule, Scope};

use super::chosen::{Chosen, Source};
use crate::check::Check;

/// What all counters of a rule for one request have in common: the parts of their keys.
///
/// Where counters live with a tenant, the home is the domain and the tenant, and the limit, the rule and the values that it
/// counts by tell a counter from its neighbours there. All others live at their own values: the home is the domain, the
/// rule and the values, so that limits on the same values live together. In both, the limit comes right behind the home.
pub(super) struct Counter<'a> {
    parts: SmallVec<[&'a [u8]; 8]>,
    /// How many of the parts are the home.
    home: usize,
}

/// The addresses that a rule counts by, as keys have them.
pub(super) type Addresses = SmallVec<[AddressKey; 1]>;

/// Stands where the limit will.
const LIMIT: &[u8] = &[];

impl<'a> Counter<'a> {
    /// The key of one of its limits.
    pub(super) fn of(&mut self, limit: &'a str) -> Key<'_> {
        self.parts[self.home] = limit.as_bytes();
        let (home, own) = self.parts.split_at(self.home);
        Key { home, own }
    }

    /// A counter whose owner, a rule and values or a descriptor, is yet to be added.
    fn begun(domain: &'a Domain, tenant: Tenant<'a>) -> Self {
        let mut parts = SmallVec::new();
        parts.push(domain.name.as_bytes());
        if let Tenant::Owns(tenant) = tenant {
            parts.extend(tenant.map(str::as_bytes));
            let home = parts.len();
            parts.push(LIMIT);
            return Self { parts, home };
        }
        Self { parts, home: 0 }
    }

    /// What was added last is all: without a tenant it was all home.
    fn ended(mut self) -> Self {
        if self.home == 0 {
            self.home = self.parts.len();
            self.parts.push(LIMIT);
        }
        self
    }
}

/// Whose a counter is.
#[derive(Clone, Copy)]
enum Tenant<'a> {
    /// A tenant's: its value, if the request has one.
    Owns(Option<&'a str>),
    /// Nobody's: it lives at its own values.
    Nobody,
}

/// The counters of a rule; `None` if the request lacks something that it counts by.
pub(super) fn counter<'a, 'v: 'a>(
    check: &Check<'v>,
    domain: &'a Domain,
    rule: &'a Rule,
    (chosen, facts, addresses): (&Chosen, &Facts<'v>, &'a mut Addresses),
) -> Option<Counter<'a>> {
    if let (Source::Tree { descriptor }, Some(tree)) = (chosen.source, rule.tree.as_deref()) {
        let asked = check.descriptors.get(usize::from(descriptor))?;
        return Some(of_entries(domain, asked.entries, &tree.shared));
    }
    for by in &rule.by {
        if let By::Address(attribute) = by {
            addresses.push(domain.prefixes.key(facts.get(*attribute)?));
        }
    }
    let mut addresses = addresses.iter();
    let tenant = match (rule.scope, domain.tenant) {
        (Scope::Tenant, Some(tenant)) => Tenant::Owns(facts.get(tenant)),
        _ => Tenant::Nobody,
    };
    let mut counter = Counter::begun(domain, tenant);
    counter.parts.push(rule.identity.as_bytes());
    for by in &rule.by {
        counter.parts.push(match by {
            By::Attribute(attribute) => facts.get(*attribute)?.as_bytes(),
            By::Address(_) => addresses.next()?,
            By::Capture { attribute, glob, index, .. } => {
                glob.capture(facts.get(*attribute)?, *index)?.as_bytes()
            }
        });
    }
    Some(counter.ended())
}

/// The counters of a descriptor: its entries, with patterns in place of values that share one. They live with the tenant
/// if an entry names it. The first value is empty, which no rule's name is.
pub(super) fn of_entries<'a>(
    domain: &'a Domain,
    entries: &[(&'a str, &'a str)],
    shared: &'a [Option<Box<str>>],
) -> Counter<'a> {
    let tenant = domain.tenant.map(|tenant| domain.names.name(tenant));
    let tenant = tenant.and_then(|tenant| entries.iter().find(|(key, _)| *key == tenant));
    let tenant = tenant.map_or(Tenant::Nobody, |(_, value)| Tenant::Owns(Some(value)));
    let mut counter = Counter::begun(domain, tenant);
    counter.parts.push(b"");
    for (place, (key, value)) in entries.iter().enumerate() {
        let pattern = shared.get(place).and_then(Option::as_deref);
        counter.parts.extend([key.as_bytes(), pattern.unwrap_or(value).as_bytes()]);
    }
    counter.ended()
}

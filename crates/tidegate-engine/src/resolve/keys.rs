//! Where counters live: the parts of their keys.

use smallvec::SmallVec;
use tidegate_core::Key;
use tidegate_rules::Domain;
use tidegate_rules::address::{self, AddressKey};
use tidegate_rules::condition::Facts;
use tidegate_rules::rule::{By, Rule, Scope};

/// What all counters of a rule for one request have in common: the parts of their keys.
///
/// Where counters live with a tenant, the home is the domain and the tenant, and the limit, the rule and the values that it
/// counts by tell a counter from its neighbours there. All others live at their own values: the home is the domain, the
/// rule and the values, so that limits on the same values live together. In both, the limit comes right behind the home.
#[derive(Default)]
pub(super) struct Counter<'a> {
    parts: SmallVec<[&'a [u8]; 8]>,
    /// How many of the parts are the home.
    home: usize,
}

/// Where a counter lives.
#[derive(Clone, Copy)]
enum Home<'a> {
    /// With a tenant: its value, if the request has one.
    Tenant(Option<&'a str>),
    /// At its own values.
    Own,
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

    /// Makes it the counter of a rule; `None` if the request lacks something that the rule counts by.
    pub(super) fn count_by<'v: 'a>(
        &mut self,
        domain: &'a Domain,
        rule: &'a Rule,
        (facts, addresses): (&Facts<'v>, &'a mut Addresses),
    ) -> Option<()> {
        for by in &rule.by {
            if let By::Address(attribute) = by {
                addresses.push(address::key(facts.get(*attribute)?, domain.prefixes));
            }
        }
        let mut addresses = addresses.iter();
        let tenant = domain.tenant.filter(|_| rule.scope == Scope::Tenant);
        self.begin(domain, tenant.map_or(Home::Own, |tenant| Home::Tenant(facts.get(tenant))));
        self.parts.push(rule.identity.as_bytes());
        for by in &rule.by {
            self.parts.push(match by {
                By::Attribute(attribute) => facts.get(*attribute)?.as_bytes(),
                By::Address(_) => addresses.next()?,
                By::Capture { attribute, glob, index, .. } => {
                    glob.capture(facts.get(*attribute)?, *index)?.as_bytes()
                }
            });
        }
        self.end();
        Some(())
    }

    /// Makes it the counter of a descriptor: its entries, with patterns in place of values that share one. It lives with
    /// the tenant if an entry names it. The first value is empty, which no rule's name is.
    pub(super) fn count_entries(
        &mut self,
        domain: &'a Domain,
        entries: &[(&'a str, &'a str)],
        shared: &'a [Option<Box<str>>],
    ) {
        let tenant = domain.tenant.map(|tenant| domain.names.name(tenant));
        let tenant = tenant.and_then(|tenant| entries.iter().find(|(key, _)| *key == tenant));
        self.begin(domain, tenant.map_or(Home::Own, |(_, value)| Home::Tenant(Some(value))));
        self.parts.push(b"");
        for (place, (key, value)) in entries.iter().enumerate() {
            let pattern = shared.get(place).and_then(Option::as_deref);
            self.parts.push(key.as_bytes());
            self.parts.push(pattern.unwrap_or(value).as_bytes());
        }
        self.end();
    }

    /// A tenant's home is known at once.
    fn begin(&mut self, domain: &'a Domain, home: Home<'a>) {
        self.parts.push(domain.name.as_bytes());
        if let Home::Tenant(tenant) = home {
            self.parts.extend(tenant.map(str::as_bytes));
            self.home = self.parts.len();
            self.parts.push(LIMIT);
        }
    }

    /// Without a tenant, all that was added is its home.
    fn end(&mut self) {
        if self.home == 0 {
            self.home = self.parts.len();
            self.parts.push(LIMIT);
        }
    }
}

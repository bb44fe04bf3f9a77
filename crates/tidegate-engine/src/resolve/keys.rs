//! The keys of counters: what rules prepared, with the values of a request.

use smallvec::SmallVec;
use tidegate_core::{EncodedParts, Key, PreparedKey};
use tidegate_rules::Domain;
use tidegate_rules::address::{self, AddressKey};
use tidegate_rules::condition::Facts;
use tidegate_rules::home::Owner;
use tidegate_rules::rule::{By, Rule};

use crate::check::Descriptor;

/// What all counters of a rule for one request have in common: see [`tidegate_rules::home`].
pub(super) struct Counter<'a> {
    front: &'a EncodedParts,
    /// The tenant, if they live with one and the request names it.
    tenant: Option<&'a [u8]>,
    lives_with_tenant: bool,
    values: SmallVec<[&'a [u8]; 4]>,
}

/// The addresses that a rule counts by, as keys have them.
pub(super) type Addresses = SmallVec<[AddressKey; 1]>;

impl<'a> Counter<'a> {
    /// The key of one of the rule's limits, which comes behind the home.
    #[inline]
    pub(super) fn of<'k>(&'k self, back: &'k EncodedParts) -> PreparedKey<'k> {
        let (tenant, values) = (self.tenant.as_slice(), self.values.as_slice());
        let (home, own) = if self.lives_with_tenant { (tenant, values) } else { (values, &[][..]) };
        PreparedKey { front: self.front, home, back, own }
    }

    /// A counter of that rule, without values yet.
    #[inline]
    pub(super) fn new(rule: &'a Rule) -> Self {
        let lives_with_tenant = rule.home.owner != Owner::Themselves;
        Self { front: &rule.home.front, tenant: None, lives_with_tenant, values: SmallVec::new() }
    }

    /// Has it live with the tier of the request, if that lives apart: what is counted for each tenant does.
    #[inline]
    pub(super) fn live_with_tier(&mut self, domain: &'a Domain, facts: &Facts<'_>) {
        if self.lives_with_tenant
            && let Some(tier) = domain.tier_apart(facts)
        {
            self.front = tier.front();
        }
    }

    /// Adds the values that the rule counts by; `None` if the request lacks one.
    #[inline]
    pub(super) fn count_by<'v: 'a>(
        &mut self,
        domain: &Domain,
        rule: &'a Rule,
        (facts, addresses): (&Facts<'v>, &'a mut Addresses),
    ) -> Option<()> {
        if rule.by.iter().any(|by| matches!(by, By::Address(_))) {
            read_addresses(domain, rule, facts, addresses)?;
        }
        let mut addresses = addresses.iter();
        for by in &rule.by {
            self.values.push(match by {
                By::Address(_) => addresses.next()?,
                by => by.value(facts)?.as_bytes(),
            });
        }
        if let Owner::Tenant(tenant) = rule.home.owner {
            self.tenant = facts.get(tenant).map(str::as_bytes);
        }
        Some(())
    }

    /// Adds the descriptor's entries, with patterns in place of values that share one.
    pub(super) fn count_entries(
        &mut self,
        rule: &Rule,
        shared: &'a [Option<Box<str>>],
        asked: &Descriptor<'a>,
    ) {
        for (place, (key, value)) in asked.entries.iter().enumerate() {
            let pattern = shared.get(place).and_then(Option::as_deref);
            self.values.push(key.as_bytes());
            self.values.push(pattern.unwrap_or(value).as_bytes());
        }
        if let Owner::Entry(place) = rule.home.owner {
            self.tenant = asked.entries.get(place).map(|(_, value)| value.as_bytes());
        }
    }
}

fn read_addresses(domain: &Domain, rule: &Rule, facts: &Facts<'_>, addresses: &mut Addresses) -> Option<()> {
    for by in &rule.by {
        if let By::Address(attribute) = by {
            addresses.push(address::key(facts.get(*attribute)?, domain.prefixes));
        }
    }
    Some(())
}

/// Gives the key of a limit that came with its descriptor to `then`: as a rule of the tree would have it.
pub(super) fn brought_along<T>(
    (domain, facts): (&Domain, &Facts<'_>),
    asked: &Descriptor<'_>,
    limit: &str,
    then: impl FnOnce(Key<'_>) -> T,
) -> T {
    let name = domain.tenant.map(|tenant| domain.names.name(tenant));
    let tenant = name.and_then(|name| asked.entries.iter().find(|(key, _)| *key == name));
    let entries = asked.entries.iter().flat_map(|(key, value)| [key.as_bytes(), value.as_bytes()]);
    let (limit, no_rule): (_, &[u8]) = (limit.as_bytes(), b"");
    if let Some((_, tenant)) = tenant {
        let own: SmallVec<[&[u8]; 8]> = [limit, no_rule].into_iter().chain(entries).collect();
        then(Key { home: &tenants_home(domain, facts, Some(tenant)), own: &own })
    } else {
        let home: SmallVec<[&[u8]; 8]> =
            [domain.name.as_bytes(), no_rule].into_iter().chain(entries).collect();
        then(Key { home: &home, own: &[limit] })
    }
}

/// The home of what is a tenant's, or the domain's if there is none.
pub(super) fn tenants_home<'v>(
    domain: &'v Domain,
    facts: &Facts<'_>,
    tenant: Option<&'v str>,
) -> SmallVec<[&'v [u8]; 5]> {
    let mut home: SmallVec<[&[u8]; 5]> = SmallVec::new();
    match domain.tier_apart(facts).filter(|_| tenant.is_some()) {
        Some(tier) => home.extend(tier.home()),
        None => home.push(domain.name.as_bytes()),
    }
    home.extend(tenant.map(str::as_bytes));
    home
}

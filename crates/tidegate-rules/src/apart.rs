//! Tiers with stores of their own: the counters of their tenants have homes that tell the tier, so that whoever has a key knows where
//! it lives.
//!
//! A home with a tenant is the domain and the tenant. With a tier that lives apart it is an empty part, which no domain has as its name,
//! the domain, the attribute, its value, and the tenant.

use std::sync::Arc;

use tidegate_core::EncodedParts;

use crate::condition::Facts;
use crate::name::AttributeId;
use crate::snapshot::{Domain, Snapshot};

/// A tier of a domain: the tenants whose requests have that value of that attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tier {
    /// The domain.
    pub domain: String,
    /// The attribute that names the tier.
    pub attribute: String,
    /// The tier.
    pub value: String,
}

/// A tier that lives apart, as its domain knows it.
#[derive(Debug)]
pub struct Apart {
    attribute: AttributeId,
    tier: Tier,
    front: EncodedParts,
}

impl Tier {
    /// What the homes of its tenants' counters begin with.
    pub fn home(&self) -> [&[u8]; 4] {
        [b"", self.domain.as_bytes(), self.attribute.as_bytes(), self.value.as_bytes()]
    }
}

impl Apart {
    /// What the homes of its tenants' counters begin with.
    pub fn home(&self) -> [&[u8]; 4] {
        self.tier.home()
    }

    /// The same as keys have it.
    pub fn front(&self) -> &EncodedParts {
        &self.front
    }
}

impl Snapshot {
    /// Has these tiers live apart; those that do not, because their domains have no tenants. It is for snapshots that nobody
    /// shares yet, fresh from the compiler.
    ///
    /// # Panics
    /// If somebody holds one of its domains.
    pub fn set_apart<'t>(&mut self, tiers: &'t [Tier]) -> Vec<&'t Tier> {
        let mut left = Vec::new();
        for domain in self.domains_mut() {
            let mut own = tiers.iter().filter(|tier| *tier.domain == *domain.name).collect::<Vec<_>>();
            if !own.is_empty() {
                let domain =
                    Arc::get_mut(domain).expect("a snapshot that is not in force is its maker's alone");
                own.retain(|tier| !domain.set_apart(tier));
                domain.settle_modes();
                left.append(&mut own);
            }
        }
        left
    }
}

impl Domain {
    /// The tier of a request, if that lives apart.
    #[inline]
    pub fn tier_apart(&self, facts: &Facts<'_>) -> Option<&Apart> {
        self.tiers_apart.iter().find(|tier| facts.get(tier.attribute) == Some(&*tier.tier.value))
    }

    fn set_apart(&mut self, tier: &Tier) -> bool {
        let Some(attribute) = self.tenant.and_then(|_| self.names.intern(&tier.attribute)) else {
            return false;
        };
        let front = EncodedParts::new(&tier.home());
        self.tiers_apart.push(Apart { attribute, tier: tier.clone(), front });
        true
    }
}

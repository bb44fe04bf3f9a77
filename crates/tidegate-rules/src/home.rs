//! Where the counters of a rule live: what of their keys is known when the rules are loaded.
//!
//! Where counters live with a tenant, the home is the domain and the tenant, and the limit, the rule and the values that it
//! counts by tell a counter from its neighbours there. All others live at their own values: the home is the domain, the
//! rule and the values, so that limits on the same values live together. In both, the limit comes right behind the home.
//!
//! The rules of a descriptor tree have no name in keys but their entries: an empty one, which no rule of ours has.

use tidegate_core::EncodedParts;

use crate::name::{AttributeId, Names};
use crate::rule::{Rule, Scope};

/// The identity of a rule's gate, which no limit can have as its name.
const GATE: &str = "!block";

/// What the keys of all counters of a rule have in common.
#[derive(Debug, Default)]
pub struct Home {
    /// Whose value the rest of the home is.
    pub owner: Owner,
    /// What the home begins with.
    pub front: EncodedParts,
    /// What comes behind the home of the rule's gate.
    pub gate: EncodedParts,
    /// The rule's share of a store's memory: the same for as long as its domain and its name are.
    pub share: u32,
}

/// With whom counters live.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Owner {
    /// At their own values.
    #[default]
    Themselves,
    /// With the tenant, which is the value of this attribute.
    Tenant(AttributeId),
    /// With the tenant, which is the value of this entry of the descriptor.
    Entry(usize),
}

impl Rule {
    /// Prepares the keys of its counters, once all else is known.
    pub(crate) fn settle_in(&mut self, domain: &str, names: &Names, tenant: Option<AttributeId>) {
        let named = self.tree.as_ref().zip(tenant).and_then(|(tree, tenant)| {
            tree.keys.iter().position(|key| **key == *names.name(tenant)).map(Owner::Entry)
        });
        let owner = match (self.tree.is_some(), self.scope, tenant) {
            (false, Scope::Tenant, Some(tenant)) => Owner::Tenant(tenant),
            _ => named.unwrap_or_default(),
        };
        let identity: &[u8] = if self.tree.is_some() { b"" } else { self.identity.as_bytes() };
        let alone = owner == Owner::Themselves;
        let back = |limit: &str| {
            let all = [limit.as_bytes(), identity];
            EncodedParts::new(if alone { &all[..1] } else { &all })
        };
        let front = [domain.as_bytes(), identity];
        let front = EncodedParts::new(if alone { &front } else { &front[..1] });
        let [.., a, b, c, d] =
            EncodedParts::digest(&[domain.as_bytes(), self.identity.as_bytes()]).to_be_bytes();
        let share = u32::from_be_bytes([a, b, c, d]);
        let tiers = self.limits.tiers.iter_mut().flat_map(|(_, limits)| limits);
        for limit in self.limits.own.iter_mut().chain(tiers) {
            limit.back = back(&limit.identity);
            limit.numbers.put_in_share(share);
        }
        self.block_for = self.block_for.map(|gate| gate.in_share(share));
        self.home = Home { owner, front, gate: back(GATE), share };
    }
}

//! Which homes have servers of their own: those of a tenant, of a tier's tenants, of a whole domain.

use tidegate_rules::apart::Tier;

use crate::config::{OwnStore, Whose};

/// The parts of a home.
type Parts<'s> = Vec<&'s [u8]>;

/// Tiers that have servers of their own.
pub(crate) fn tiers(stores: &[OwnStore]) -> Vec<Tier> {
    all_tiers(stores).cloned().collect()
}

/// What homes begin with that go somewhere as a whole.
pub(super) fn fronts(stores: &[OwnStore]) -> Vec<Vec<Vec<u8>>> {
    let wholes = stores.iter().filter(|store| !matches!(store.whose, Whose::Tenant { .. }));
    let fronts = wholes.flat_map(|store| homes(store, &[]));
    fronts.map(|front| front.into_iter().map(<[u8]>::to_vec).collect()).collect()
}

/// The homes that go to a store. A tenant's are elsewhere for each tier that lives apart, and go with it all the same.
pub(super) fn homes<'s>(store: &'s OwnStore, stores: &'s [OwnStore]) -> Vec<Parts<'s>> {
    match &store.whose {
        Whose::Domain(domain) => vec![vec![domain.as_bytes()]],
        Whose::Tier(tier) => vec![tier.home().to_vec()],
        Whose::Tenant { domain, tenant } => {
            let tiers =
                all_tiers(stores).filter(|tier| tier.domain == *domain).map(|tier| tier.home().to_vec());
            let fronts = std::iter::once(vec![domain.as_bytes()]).chain(tiers);
            fronts
                .map(|mut front| {
                    front.push(tenant.as_bytes());
                    front
                })
                .collect()
        }
    }
}

fn all_tiers(stores: &[OwnStore]) -> impl Iterator<Item = &Tier> {
    stores.iter().filter_map(|store| match &store.whose {
        Whose::Tier(tier) => Some(tier),
        _ => None,
    })
}

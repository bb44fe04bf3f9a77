//! The rules in force, with what is made of them when they are installed.

use std::sync::Arc;

use tidegate_rules::{Domain, Snapshot};

use crate::observe::{Observed, RuleCounts};

/// The rules in force.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    pub(crate) snapshot: Arc<Snapshot>,
    /// In the order of their names.
    domains: Vec<LoadedDomain>,
}

/// The rules of a domain, and where their decisions are counted.
#[derive(Debug)]
pub(crate) struct LoadedDomain {
    pub(crate) domain: Arc<Domain>,
    /// By the rules' numbers.
    pub(crate) counts: Vec<Arc<RuleCounts>>,
}

impl Loaded {
    pub(crate) fn new(snapshot: Snapshot, observed: &Observed) -> Self {
        let load = |domain: &Arc<Domain>| LoadedDomain {
            domain: Arc::clone(domain),
            counts: observed.counts_of(domain),
        };
        let mut domains: Vec<LoadedDomain> = snapshot.domains().map(load).collect();
        domains.sort_by(|one, other| one.domain.name.cmp(&other.domain.name));
        Self { snapshot: Arc::new(snapshot), domains }
    }

    /// The place of the domain of that name.
    pub(crate) fn place(&self, domain: &str) -> Option<usize> {
        self.domains.binary_search_by(|loaded| (*loaded.domain.name).cmp(domain)).ok()
    }

    /// The domain at that place.
    pub(crate) fn at(&self, place: usize) -> Option<&LoadedDomain> {
        self.domains.get(place)
    }
}

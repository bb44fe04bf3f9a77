//! The rules in force, with what is made of them when they are installed.

use std::sync::Arc;

use tidegate_rules::{Domain, Snapshot};

use crate::observe::{Observed, RuleCounts};

/// The rules in force.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) version: u64,
    /// In the order of their names.
    domains: Vec<Arc<LoadedDomain>>,
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
        let load = |domain: &Arc<Domain>| {
            Arc::new(LoadedDomain { domain: Arc::clone(domain), counts: observed.counts_of(domain) })
        };
        let mut domains: Vec<Arc<LoadedDomain>> = snapshot.domains().map(load).collect();
        domains.sort_by(|one, other| one.domain.name.cmp(&other.domain.name));
        Self { version: snapshot.version(), snapshot: Arc::new(snapshot), domains }
    }

    /// The domain of that name.
    #[inline]
    pub(crate) fn domain(&self, name: &str) -> Option<&Arc<LoadedDomain>> {
        match &*self.domains {
            [only] => Some(only).filter(|only| *only.domain.name == *name),
            domains => find(domains, name),
        }
    }
}

#[inline(never)]
fn find<'d>(domains: &'d [Arc<LoadedDomain>], name: &str) -> Option<&'d Arc<LoadedDomain>> {
    let place = domains.binary_search_by(|loaded| (*loaded.domain.name).cmp(name)).ok()?;
    domains.get(place)
}

//! Domains that were asked for and that the rules do not have, counted by name within a bound.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{PoisonError, RwLock};

/// The most unknown domains that are counted by name; all further ones are counted together.
pub const MAX_UNKNOWN_DOMAINS: usize = 20;

/// The name under which further domains are counted together.
pub const OTHER_DOMAINS: &str = "other";

/// Counts by name.
#[derive(Debug, Default)]
pub struct UnknownDomains {
    named: RwLock<BTreeMap<Box<str>, AtomicU64>>,
    others: AtomicU64,
}

impl UnknownDomains {
    #[cold]
    pub(crate) fn note(&self, name: &str) {
        // The sum of all further names is called so in metrics.
        if name == OTHER_DOMAINS || (!self.is_counted(name) && !self.is_added(name)) {
            self.others.fetch_add(1, Relaxed);
        }
    }

    fn is_counted(&self, name: &str) -> bool {
        let named = self.named.read().unwrap_or_else(PoisonError::into_inner);
        named.get(name).map(|count| count.fetch_add(1, Relaxed)).is_some()
    }

    fn is_added(&self, name: &str) -> bool {
        if self.named.read().unwrap_or_else(PoisonError::into_inner).len() >= MAX_UNKNOWN_DOMAINS {
            return false;
        }
        let mut named = self.named.write().unwrap_or_else(PoisonError::into_inner);
        if named.len() >= MAX_UNKNOWN_DOMAINS && !named.contains_key(name) {
            return false;
        }
        named.entry(name.into()).or_default().fetch_add(1, Relaxed);
        true
    }

    /// The names with their counts, in order.
    pub fn named(&self) -> Vec<(Box<str>, u64)> {
        let named = self.named.read().unwrap_or_else(PoisonError::into_inner);
        named.iter().map(|(name, count)| (name.clone(), count.load(Relaxed))).collect()
    }

    /// How often other names were asked for.
    pub fn others(&self) -> u64 {
        self.others.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_unknown_domain_names() {
        let unknown = UnknownDomains::default();
        for number in 0..MAX_UNKNOWN_DOMAINS + 5 {
            unknown.note(&format!("d{number:02}"));
        }
        unknown.note("d00");
        let named = unknown.named();
        assert_eq!(named.len(), MAX_UNKNOWN_DOMAINS);
        assert_eq!((&*named[0].0, named[0].1, unknown.others()), ("d00", 2, 5));
    }
}

//! A map of counters and nothing else: the floor for whatever keeps its counters in a `DashMap`. It never refuses.

use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Result;
use dashmap::DashMap;

use super::{Engine, Setup, per_limit};

pub(crate) struct Dashmap<K: Eq + Hash, const LIMITS: usize>([DashMap<K, AtomicU64>; LIMITS]);

impl<K: Clone + Eq + Hash + Send + Sync, const LIMITS: usize> Engine<K> for Dashmap<K, LIMITS> {
    fn new(_: Setup) -> Result<Self> {
        Ok(Self(per_limit(|_| Ok(DashMap::new()))?))
    }

    #[inline]
    fn decide(&self, key: &K) -> bool {
        self.0.iter().fold(true, |all, map| all & count(map, key))
    }

    fn held(&self) -> Option<usize> {
        Some(self.0.iter().map(DashMap::len).sum())
    }
}

fn count<K: Clone + Eq + Hash>(map: &DashMap<K, AtomicU64>, key: &K) -> bool {
    let before = match map.get(key) {
        Some(counter) => counter.fetch_add(1, Ordering::Relaxed),
        None => map.entry(key.clone()).or_default().fetch_add(1, Ordering::Relaxed),
    };
    before < u64::MAX
}

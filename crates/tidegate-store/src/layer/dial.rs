//! Values that a background task publishes and the way of a check reads.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// How many nodes count together. Clones are the same dial; it stays as it is while nobody can tell.
#[derive(Clone, Debug)]
pub struct Members(Arc<AtomicU32>);

impl Default for Members {
    fn default() -> Self {
        Self(Arc::new(AtomicU32::new(1)))
    }
}

impl Members {
    /// How many there are; at least one.
    pub fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed).max(1)
    }

    /// Publishes how many there are.
    pub fn set(&self, members: u32) {
        self.0.store(members.max(1), Ordering::Relaxed);
    }
}

//! How many bytes of bodies are held at once: a share is a guard, and giving it back is `Drop`.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

#[derive(Debug)]
pub(crate) struct Budget {
    taken: AtomicUsize,
    most: usize,
    refused: AtomicU64,
}

/// What one body takes of the budget.
#[derive(Debug)]
pub(crate) struct Share<'b> {
    budget: &'b Budget,
    bytes: usize,
}

impl Budget {
    pub(crate) const fn new(most: usize) -> Self {
        Self { taken: AtomicUsize::new(0), most, refused: AtomicU64::new(0) }
    }

    /// A share of nothing yet.
    pub(crate) const fn share(&self) -> Share<'_> {
        Share { budget: self, bytes: 0 }
    }

    pub(crate) fn taken(&self) -> usize {
        self.taken.load(Relaxed)
    }

    /// How often there was no room.
    pub(super) fn refused(&self) -> u64 {
        self.refused.load(Relaxed)
    }
}

impl Share<'_> {
    /// Takes so many bytes more; `false`, and nothing is taken, if they are not there.
    pub(crate) fn grow(&mut self, bytes: usize) -> bool {
        let fits = |taken: usize| taken.checked_add(bytes).filter(|taken| *taken <= self.budget.most);
        let grown = self.budget.taken.fetch_update(Relaxed, Relaxed, fits).is_ok();
        if grown {
            self.bytes += bytes;
        } else {
            self.budget.refused.fetch_add(1, Relaxed);
        }
        grown
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        self.budget.taken.fetch_sub(self.bytes, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_fit_in_the_budget_and_are_given_back() {
        let budget = Budget::new(10);
        let (mut one, mut other) = (budget.share(), budget.share());
        assert!(one.grow(4) && one.grow(3) && other.grow(3));
        assert!(!other.grow(1) && !other.grow(usize::MAX));
        assert_eq!((budget.taken(), budget.refused()), (10, 2));
        drop(one);
        assert!(other.grow(7));
        drop(other);
        assert_eq!(budget.taken(), 0);
    }
}

//! A bound on the bytes that a listener holds at once for long bodies, heads and answers.
//!
//! A share is a guard: its bytes return to the budget when it is dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Bytes of each body, head or answer that count against no budget: the number of requests under way
/// bounds them already. Short requests are therefore served even when a budget is exhausted.
pub const FREE_BYTES: usize = 4 << 10;

/// A counter of bytes with an upper bound.
#[derive(Debug)]
pub struct ByteBudget {
    taken: AtomicUsize,
    max: usize,
    refused: AtomicU64,
}

/// Bytes taken from a budget; they return when this is dropped.
#[derive(Debug)]
pub struct BudgetShare<'b> {
    budget: &'b ByteBudget,
    bytes: usize,
}

impl ByteBudget {
    /// A budget of so many bytes.
    pub const fn new(max: usize) -> Self {
        Self { taken: AtomicUsize::new(0), max, refused: AtomicU64::new(0) }
    }

    /// An empty share.
    pub const fn share(&self) -> BudgetShare<'_> {
        BudgetShare { budget: self, bytes: 0 }
    }

    /// Bytes that are taken now.
    pub fn taken(&self) -> usize {
        self.taken.load(Relaxed)
    }

    /// How often bytes were asked for that were not left.
    pub fn refused(&self) -> u64 {
        self.refused.load(Relaxed)
    }

    /// Takes bytes if `allowed` accepts the sum that would be taken then.
    fn take(&self, bytes: usize, allowed: impl Fn(usize) -> bool) -> bool {
        let fits = |taken: usize| taken.checked_add(bytes).filter(|all| allowed(*all));
        let took = self.taken.fetch_update(Relaxed, Relaxed, fits).is_ok();
        if !took {
            self.refused.fetch_add(1, Relaxed);
        }
        took
    }

    fn give_back(&self, bytes: usize) {
        self.taken.fetch_sub(bytes, Relaxed);
    }
}

impl BudgetShare<'_> {
    /// Takes more bytes. `false` if they are not left; the share stays as it was then.
    pub fn grow(&mut self, bytes: usize) -> bool {
        let grown = self.budget.take(bytes, |all| all <= self.budget.max);
        self.bytes += if grown { bytes } else { 0 };
        grown
    }

    /// The bytes in this share.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for BudgetShare<'_> {
    fn drop(&mut self) {
        // All cores contend for the counter, and most shares are empty.
        if self.bytes > 0 {
            self.budget.give_back(self.bytes);
        }
    }
}

/// The budgets of a listener: one for bodies, and half as much for heads and answers. They are apart
/// so that unfinished bodies never block answers, nor unread answers new bodies. Clones share them.
#[derive(Clone, Debug)]
pub struct ListenerBudget(Arc<Budgets>);

#[derive(Debug)]
struct Budgets {
    bodies: ByteBudget,
    heads_and_answers: ByteBudget,
}

/// Bytes of a head or an answer, taken from a listener's budget until this is dropped.
#[derive(Debug)]
pub struct HeldBytes {
    budget: ListenerBudget,
    bytes: usize,
}

impl ListenerBudget {
    /// A budget of so many bytes for bodies, and half of that for heads and answers.
    pub fn new(max: usize) -> Self {
        let (bodies, heads_and_answers) = (ByteBudget::new(max), ByteBudget::new(max / 2));
        Self(Arc::new(Budgets { bodies, heads_and_answers }))
    }

    /// Takes the bytes of a head or an answer, if they are left. A single one is always admitted, so
    /// that no answer is too long for an idle listener.
    ///
    /// ```
    /// let budget = tidegate_net::budget::ListenerBudget::new(10);
    /// let held = budget.hold(20).expect("nothing else is held");
    /// assert!(budget.hold(1).is_none());
    /// drop(held);
    /// assert!(budget.hold(1).is_some());
    /// ```
    pub fn hold(&self, bytes: usize) -> Option<HeldBytes> {
        let others = &self.0.heads_and_answers;
        let took = others.take(bytes, |all| all == bytes || all <= others.max);
        took.then(|| HeldBytes { budget: self.clone(), bytes })
    }

    /// The budget of bodies.
    pub fn bodies(&self) -> &ByteBudget {
        &self.0.bodies
    }

    /// Bytes that are held, in both budgets.
    pub fn taken(&self) -> usize {
        self.0.bodies.taken() + self.0.heads_and_answers.taken()
    }

    /// How often bytes were asked for that were not left, in both budgets.
    pub fn refused(&self) -> u64 {
        self.0.bodies.refused() + self.0.heads_and_answers.refused()
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        self.budget.0.heads_and_answers.give_back(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_fit_in_the_budget() {
        let budget = ByteBudget::new(10);
        let (mut one, mut other) = (budget.share(), budget.share());
        assert!(one.grow(4) && one.grow(3) && other.grow(3));
        assert!(!other.grow(1) && !other.grow(usize::MAX));
        assert_eq!((budget.taken(), budget.refused()), (10, 2));
        drop(one);
        assert!(other.grow(7));
        drop(other);
        assert_eq!(budget.taken(), 0);
    }

    #[test]
    fn bodies_and_answers_have_separate_budgets() {
        let budget = ListenerBudget::new(20);
        let mut share = budget.bodies().share();
        assert!(share.grow(20) && !share.grow(1));
        let held = [budget.hold(6).unwrap(), budget.hold(4).unwrap()];
        assert!(budget.hold(1).is_none(), "answers have half as much");
        assert_eq!((budget.taken(), budget.refused()), (30, 2));
        drop(share);
        assert!(budget.hold(1).is_none());
        drop(held);
        assert_eq!(budget.taken(), 0);
    }
}

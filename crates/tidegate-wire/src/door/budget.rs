//! How many bytes of bodies, and of whatever else is long, are held at once: a share is a guard, and giving it back is `Drop`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Bytes of a body, of a head or of an answer that need no room of the door's: there are as many as requests under way. So whoever
/// needs little is served, whoever has taken the room.
pub const FREE_BYTES: usize = 4 << 10;

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

    /// Takes so many bytes, if that leaves what is `allowed` of all that are taken then.
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

impl Share<'_> {
    /// Takes so many bytes more; `false`, and nothing is taken, if they are not there.
    pub(crate) fn grow(&mut self, bytes: usize) -> bool {
        let grown = self.budget.take(bytes, |all| all <= self.budget.most);
        self.bytes += if grown { bytes } else { 0 };
        grown
    }

    /// How many it has.
    #[cfg(feature = "resp")]
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        // All cores share that number, and most have taken nothing.
        if self.bytes > 0 {
            self.budget.give_back(self.bytes);
        }
    }
}

/// The room that a door has for what is long. Clones are the same.
#[derive(Clone, Debug)]
pub struct Room(Arc<Budget>);

/// A part of a room for as long as it is kept.
#[derive(Debug)]
pub struct Held {
    room: Room,
    bytes: usize,
}

impl Room {
    /// A room for so many bytes.
    pub fn new(most: usize) -> Self {
        Self(Arc::new(Budget::new(most)))
    }

    /// Holds so many bytes, if they are there: half of the room is for bodies alone, so that they can come in however many answers
    /// wait to be taken. Whoever is alone always has room.
    ///
    /// ```
    /// let room = tidegate_wire::door::Room::new(10);
    /// let held = room.hold(20).expect("nobody else is there");
    /// assert!(room.hold(1).is_none());
    /// drop(held);
    /// assert!(room.hold(1).is_some());
    /// ```
    pub fn hold(&self, bytes: usize) -> Option<Held> {
        let took = self.0.take(bytes, |all| all == bytes || all <= self.0.most / 2);
        took.then(|| Held { room: self.clone(), bytes })
    }

    pub(crate) fn budget(&self) -> &Budget {
        &self.0
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.room.0.give_back(self.bytes);
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

    #[test]
    fn what_is_held_counts_among_the_shares() {
        let room = Room::new(20);
        let mut share = room.budget().share();
        assert!(share.grow(4));
        let held = room.hold(6).unwrap();
        assert!(room.hold(1).is_none(), "the other half is for bodies");
        assert!(share.grow(10) && !share.grow(1));
        drop((share, held));
        assert_eq!((room.budget().taken(), room.budget().refused()), (0, 2));
    }
}

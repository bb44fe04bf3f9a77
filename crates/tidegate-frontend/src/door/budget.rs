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

/// The room that a door has for what is long: for bodies, and half as much for heads and answers. Neither can take the other's: what
/// peers send and do not end is no reason to tell nobody anything, and what they do not take none to hear nobody. Clones are the same.
#[derive(Clone, Debug)]
pub struct Room(Arc<Rooms>);

#[derive(Debug)]
struct Rooms {
    bodies: Budget,
    others: Budget,
}

/// A part of a room for as long as it is kept.
#[derive(Debug)]
pub struct Held {
    room: Room,
    bytes: usize,
}

impl Room {
    /// A room for so many bytes of bodies.
    pub fn new(most: usize) -> Self {
        Self(Arc::new(Rooms { bodies: Budget::new(most), others: Budget::new(most / 2) }))
    }

    /// Holds so many bytes of something else, if they are there. Whoever is alone always has room.
    ///
    /// ```
    /// let room = tidegate_frontend::door::Room::new(10);
    /// let held = room.hold(20).expect("nobody else is there");
    /// assert!(room.hold(1).is_none());
    /// drop(held);
    /// assert!(room.hold(1).is_some());
    /// ```
    pub fn hold(&self, bytes: usize) -> Option<Held> {
        let others = &self.0.others;
        let took = others.take(bytes, |all| all == bytes || all <= others.most);
        took.then(|| Held { room: self.clone(), bytes })
    }

    pub(crate) fn bodies(&self) -> &Budget {
        &self.0.bodies
    }

    /// Bytes that are held, of whatever.
    pub(super) fn taken(&self) -> usize {
        self.0.bodies.taken() + self.0.others.taken()
    }

    /// How often there was no room.
    pub(super) fn refused(&self) -> u64 {
        self.0.bodies.refused.load(Relaxed) + self.0.others.refused.load(Relaxed)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.room.0.others.give_back(self.bytes);
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
        assert_eq!((budget.taken(), budget.refused.load(Relaxed)), (10, 2));
        drop(one);
        assert!(other.grow(7));
        drop(other);
        assert_eq!(budget.taken(), 0);
    }

    #[test]
    fn bodies_and_what_else_is_held_do_not_take_each_other_s_room() {
        let room = Room::new(20);
        let mut share = room.bodies().share();
        assert!(share.grow(20) && !share.grow(1));
        let held = [room.hold(6).unwrap(), room.hold(4).unwrap()];
        assert!(room.hold(1).is_none(), "they have half as much");
        assert_eq!((room.taken(), room.refused()), (30, 2));
        drop(share);
        assert!(room.hold(1).is_none());
        drop(held);
        assert_eq!(room.taken(), 0);
    }
}

//! A counter's place, as it was when somebody looked.

use super::page::Width;
use super::segment::Segment;
use super::slot::{Content, Hash, Slot};

/// Where a counter stands, or would stand, when somebody looked.
pub(super) struct Seat<'a> {
    pub(super) hash: Hash,
    pub(super) segment: Segment<'a>,
    slot: Option<Slot<'a>>,
}

impl<'a> Seat<'a> {
    /// That of a counter in that segment, not looked for yet.
    #[inline]
    pub(super) const fn new(hash: Hash, segment: Segment<'a>) -> Self {
        Self { hash, segment, slot: None }
    }

    /// Looks for the counter; whether it is there.
    #[inline]
    pub(super) fn find(&mut self) -> bool {
        self.slot = self.segment.find(self.hash);
        self.slot.is_some()
    }

    pub(super) fn slot(&self) -> Option<Slot<'a>> {
        self.slot
    }

    /// Whether the counter was found.
    #[inline]
    pub(super) fn is_taken(&self) -> bool {
        self.slot.is_some()
    }

    /// How wide its slot is.
    #[inline]
    pub(super) const fn width(&self) -> Width {
        self.segment.width()
    }

    /// The order in which lock bits are taken.
    pub(super) fn order(&self) -> usize {
        self.slot.map_or(0, Slot::order)
    }

    /// What the counter's slot held at some instant while this looked; `None` if it is not its slot any more.
    #[inline]
    pub(super) fn look(&self) -> Option<Content> {
        let content = self.slot?.look(|| !self.is_current())?;
        (content.hash == self.hash && self.is_current()).then_some(content)
    }

    /// Takes the lock bit of the counter's slot; `false` if it is not its slot any more.
    pub(super) fn lock(&self) -> bool {
        let Some(slot) = self.slot else { return false };
        slot.lock_of(self.hash, || !self.is_current()) && self.keeps(slot)
    }

    /// Takes the lock bit of the counter's slot, if it is as it was seen.
    #[inline]
    pub(super) fn lock_as(&self, seen: Content) -> bool {
        let Some(slot) = self.slot else { return false };
        slot.lock_as(seen) && self.keeps(slot)
    }

    /// Whether a slot that was locked is the counter's; it is given back if it is not.
    #[inline]
    fn keeps(&self, slot: Slot<'_>) -> bool {
        let keeps = self.is_current();
        if !keeps {
            slot.unlock();
        }
        keeps
    }

    /// Whether the segment is still the one where the counter would be.
    #[inline]
    pub(super) fn is_current(&self) -> bool {
        self.segment.is_current()
    }

    /// Gives the lock bit back with that content.
    #[inline]
    pub(super) fn unlock_with(&self, content: Content) {
        if let Some(slot) = self.slot {
            slot.unlock_with(content);
        }
    }

    /// Gives the lock bit back and changes nothing.
    pub(super) fn unlock(&self) {
        if let Some(slot) = self.slot {
            slot.unlock();
        }
    }

    /// Gives the place of a counter back whose lock bit is held.
    pub(super) fn unlock_free(&self) {
        if let Some(slot) = self.slot {
            self.segment.remove(slot);
        }
    }
}

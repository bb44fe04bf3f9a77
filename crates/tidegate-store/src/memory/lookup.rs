//! A counter's slot as a lookup found it.

use super::arena::Line;
use super::page::Width;
use super::segment::Segment;
use super::slot::{Content, Hash, Slot};

/// Where a counter stands, or would stand, in the segment as it was when the lookup began.
pub(super) struct SlotLookup<'a> {
    pub(super) hash: Hash,
    pub(super) segment: Segment<'a>,
    /// The cache line where the counter most likely stands; `None` in a segment without pages.
    line: Option<&'a Line>,
    slot: Option<Slot<'a>>,
}

impl<'a> SlotLookup<'a> {
    /// A lookup that has not read its cache line yet.
    #[inline]
    pub(super) fn new(hash: Hash, segment: Segment<'a>) -> Self {
        Self { hash, segment, line: segment.first_line_of(hash), slot: None }
    }

    /// Asks for the cache line, so that it is on its way from memory when it is read.
    #[inline]
    pub(super) fn prefetch(&self) {
        if let Some(line) = self.line {
            line.prefetch();
        }
    }

    /// Looks for the counter in its cache lines; whether it has a slot.
    #[inline]
    pub(super) fn find(&mut self) -> bool {
        self.slot = self.line.and_then(|line| self.segment.find(line, self.hash));
        self.slot.is_some()
    }

    pub(super) fn slot(&self) -> Option<Slot<'a>> {
        self.slot
    }

    /// Whether the counter was found.
    #[inline]
    pub(super) fn is_found(&self) -> bool {
        self.slot.is_some()
    }

    /// How wide the slots of its segment are.
    #[inline]
    pub(super) const fn width(&self) -> Width {
        self.segment.width()
    }

    /// The order in which lock bits are taken.
    #[inline]
    pub(super) fn order(&self) -> usize {
        self.slot.map_or(0, Slot::order)
    }

    /// What the counter's slot held at one instant during the call; `None` if the slot is not the counter's any more.
    #[inline]
    pub(super) fn read(&self) -> Option<Content> {
        let content = self.slot?.look(|| !self.is_current())?;
        (content.hash() == self.hash && self.is_current()).then_some(content)
    }

    /// Takes the lock bit of the counter's slot; `false` if the slot is not the counter's any more.
    pub(super) fn lock(&self) -> bool {
        let Some(slot) = self.slot else { return false };
        slot.lock_of(self.hash, || !self.is_current()) && self.keeps(slot)
    }

    /// Takes the lock bit of the counter's slot, if it holds what was seen. Does not wait for another holder.
    #[inline]
    pub(super) fn lock_as(&self, seen: Content) -> bool {
        let Some(slot) = self.slot else { return false };
        slot.lock_as(seen) && self.keeps(slot)
    }

    /// Invariant: a lock bit is only kept while the segment is the one that the lookup began with. A holder that finds the
    /// segment replaced has locked a slot that may be another counter's, and gives it back unchanged.
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

    /// Frees the slot of a counter whose lock bit is held.
    pub(super) fn unlock_free(&self) {
        if let Some(slot) = self.slot {
            self.segment.remove(slot);
        }
    }
}

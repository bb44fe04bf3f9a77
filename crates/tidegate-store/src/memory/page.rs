//! What a page looks like: lines where counters stand, and a few more for those that found theirs full.

use super::arena::Line;
use super::slot::{Content, Hash, Slot};

/// A page: its first lines are where counters stand, the last ones for those that found theirs full.
pub(super) const LINES_PER_PAGE: usize = MAIN_LINES + STASH_LINES;
#[cfg(not(loom))]
pub(super) const MAIN_LINES: usize = 60;
#[cfg(not(loom))]
pub(super) const STASH_LINES: usize = 4;
#[cfg(loom)]
pub(super) const MAIN_LINES: usize = 1;
#[cfg(loom)]
pub(super) const STASH_LINES: usize = 1;

/// How wide the slots of a segment are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    /// Four in a line.
    Narrow,
    /// Two in a line.
    Wide,
}

impl Width {
    #[inline]
    pub(super) const fn other(self) -> Self {
        match self {
            Self::Narrow => Self::Wide,
            Self::Wide => Self::Narrow,
        }
    }

    #[inline]
    pub(super) const fn slots_per_line(self) -> usize {
        match self {
            Self::Narrow => 4,
            Self::Wide => 2,
        }
    }

    pub(super) const fn slots_per_page(self) -> usize {
        LINES_PER_PAGE * self.slots_per_line()
    }

    #[inline]
    pub(super) fn slot(self, line: &Line, index: usize) -> Slot<'_> {
        let words = &line.0;
        match (self, index) {
            (Self::Narrow, 0) => Slot::new(&words[0], &words[1], None),
            (Self::Narrow, 1) => Slot::new(&words[2], &words[3], None),
            (Self::Narrow, 2) => Slot::new(&words[4], &words[5], None),
            (Self::Narrow, _) => Slot::new(&words[6], &words[7], None),
            (Self::Wide, 0) => Slot::new(&words[0], &words[1], words[2..4].try_into().ok()),
            (Self::Wide, _) => Slot::new(&words[4], &words[5], words[6..8].try_into().ok()),
        }
    }

    pub(super) fn slots(self, line: &Line) -> impl Iterator<Item = Slot<'_>> {
        (0..self.slots_per_line()).map(move |index| self.slot(line, index))
    }

    #[inline]
    pub(super) fn find_in(self, line: &Line, hash: Hash) -> Option<Slot<'_>> {
        // Each number of slots is a loop that the compiler can take apart.
        let is_there = |index: &usize| self.slot(line, *index).is_of(hash);
        let found = match self {
            Self::Narrow => (0..4).find(is_there),
            Self::Wide => (0..2).find(is_there),
        };
        found.map(|index| self.slot(line, index))
    }

    /// All slots of a page.
    pub(super) fn slots_of_page(self, page: u32, lines: &[Line]) -> impl Iterator<Item = Slot<'_>> {
        let first = page as usize * LINES_PER_PAGE;
        lines[first..first + LINES_PER_PAGE].iter().flat_map(move |line| self.slots(line))
    }

    /// Gives a counter a free place in a line, if there is one.
    pub(super) fn put(self, line: &Line, content: Content) -> bool {
        self.take_free(line).inspect(|slot| slot.unlock_with(content)).is_some()
    }

    /// Takes a free place in a line, with its lock bit, if there is one.
    pub(super) fn take_free(self, line: &Line) -> Option<Slot<'_>> {
        self.slots(line).find(|slot| slot.claim())
    }

    /// How many places in a line are free.
    pub(super) fn free(self, line: &Line) -> usize {
        self.slots(line).filter(|slot| slot.is_free()).count()
    }
}

/// Which of so many pages these bits select, which line in it, and which line of its stash.
#[inline]
pub(super) fn within(bits: u32, pages: usize) -> (usize, usize, usize) {
    let (page, rest) = scaled(bits, pages);
    let (line, rest) = scaled(rest, MAIN_LINES);
    (page, line, MAIN_LINES + scaled(rest, STASH_LINES).0)
}

/// Bits as a share of a number, and what is left of them.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "both halves of a word")]
pub(super) fn scaled(bits: u32, number: usize) -> (usize, u32) {
    let scaled = u64::from(bits) * number as u64;
    ((scaled >> 32) as usize, scaled as u32)
}

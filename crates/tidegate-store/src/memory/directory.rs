//! The segments of one width, by the lower bits of hashes.

use std::sync::Mutex;

use super::arena::{Arena, Line};
use super::page::Width;
use super::segment::Segment;
use super::slot::Hash;
use super::sync::{AtomicUsize, Ordering};

/// Pages of a segment, on average. Those whose turn to be split comes last have a third more, and all have room to grow
/// beyond that, wide ones more of it because their lines fill up sooner.
pub(super) const fn pages_per_segment(width: Width) -> usize {
    match width {
        Width::Narrow => 5,
        Width::Wide => 4,
    }
}

/// The segments of one width.
pub(super) struct Directory {
    /// An entry for each segment, and more for those to come.
    pub(super) entries: Arena,
    pub(super) segments: AtomicUsize,
    pub(super) splitting: Mutex<()>,
    /// How many pages its segments have.
    pub(super) pages: AtomicUsize,
    /// The segment that is looked after next.
    pub(super) next: AtomicUsize,
    pub(super) width: Width,
}

impl Directory {
    pub(super) fn new(pages: usize, width: Width) -> Self {
        Self {
            entries: Arena::new((pages / pages_per_segment(width) * 2).max(4)),
            segments: AtomicUsize::new(1),
            splitting: Mutex::default(),
            pages: AtomicUsize::new(0),
            next: AtomicUsize::new(0),
            width,
        }
    }

    /// How many segments there are.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.segments.load(Ordering::Acquire)
    }

    /// Whether there is nothing in it.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.pages.load(Ordering::Acquire) == 0
    }

    pub(super) fn count_pages(&self, taken: usize, given: usize) {
        self.pages.fetch_add(taken.wrapping_sub(given), Ordering::AcqRel);
    }

    #[inline]
    pub(super) fn segment<'a>(&'a self, hash: Hash, lines: &'a [Line]) -> Segment<'a> {
        loop {
            let segments = self.len();
            let level = segments.ilog2();
            let both = low(hash.bits(), level + 1);
            let index = if both < segments { both } else { low(hash.bits(), level) };
            let segment = self.segment_at(index, lines);
            // It may have been split since the number of segments was read.
            if low(hash.bits(), segment.header().depth()) == index {
                return segment;
            }
        }
    }

    #[inline]
    pub(super) fn segment_at<'a>(&'a self, index: usize, lines: &'a [Line]) -> Segment<'a> {
        Segment::look(&self.entries[index], lines, self.width)
    }

    pub(super) fn all<'a>(&'a self, lines: &'a [Line]) -> impl Iterator<Item = Segment<'a>> {
        (0..self.len()).map(|index| self.segment_at(index, lines))
    }
}

/// The lower bits of a hash as a number.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "there are fewer segments than addresses")]
fn low(hash: u64, bits: u32) -> usize {
    (hash & ((1 << bits) - 1)) as usize
}

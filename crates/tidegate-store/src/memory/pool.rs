//! Pages of lines for segments to use, as many as the cap allows and no more.
//!
//! A page serves slots of one width for ever, so that whoever has an old notion of whose it is finds slots where they were.
//! Each width has addresses for the whole cap; memory is only taken by pages that are in use, and a few that are kept.

use std::sync::{Mutex, MutexGuard, PoisonError};

use smallvec::SmallVec;

use super::arena::{Arena, HUGE_BYTES, Line};
use super::page::{LINES_PER_PAGE, Width};
use super::segment::MAX_PAGES;
use super::sync::Ordering;
use super::warmer::Warmer;

pub(super) const PAGE_BYTES: usize = LINES_PER_PAGE * size_of::<Line>();

/// So many pages are kept for whoever needs some next, and in addition one for so many in use.
const KEPT: usize = 32;
const USED_PER_KEPT: usize = 128;

/// The numbers of some pages.
pub(super) type Pages = SmallVec<[u32; 2 * MAX_PAGES]>;

pub(super) struct Pool {
    pub(super) lines: Arena,
    /// How many pages may take memory at once.
    most: usize,
    shelves: Mutex<Shelves>,
    /// See to it that the next pages of either width take no time.
    warmers: [Warmer; 2],
}

struct Shelves {
    narrow: Shelf,
    wide: Shelf,
}

/// The pages of one width.
struct Shelf {
    /// Pages from here to there were never used.
    fresh: std::ops::Range<u32>,
    /// Pages that were given back, with all their lock bits set; they take memory.
    kept: Vec<u32>,
    /// Pages whose memory was given back to the system.
    dry: Vec<u32>,
    used: usize,
}

impl Pool {
    pub(super) fn new(pages: usize) -> Self {
        let lines = Arena::new(2 * pages.max(4) * LINES_PER_PAGE);
        let most = lines.len() / LINES_PER_PAGE / 2;
        let end = |times: usize| u32::try_from(times * most).unwrap_or(u32::MAX);
        let shelves = Shelves { narrow: Shelf::new(0..end(1)), wide: Shelf::new(end(1)..end(2)) };
        let warmers = [0, 1]
            .map(|width| Warmer::new(width * most * LINES_PER_PAGE..(width + 1) * most * LINES_PER_PAGE));
        Self { lines, most, shelves: Mutex::new(shelves), warmers }
    }

    /// So many pages without a counter in them, if there are as many.
    pub(super) fn take(&self, count: usize, width: Width) -> Option<Pages> {
        let (pages, missing, surplus, (fresh, room)): (Pages, _, _, _) = {
            let mut shelves = self.shelves();
            let (shelf, other) = shelves.of(width);
            let missing = count.saturating_sub(shelf.kept.len());
            let room = self.most.saturating_sub(shelf.held() + other.held());
            // What the other keeps makes room, if that is enough.
            let surplus = other.shed(missing.saturating_sub(room));
            if missing > room + surplus.len() || shelf.dry.len() + shelf.fresh.len() < missing {
                other.kept.extend(&surplus);
                return None;
            }
            shelf.used += count;
            let kept = shelf.shed(count - missing);
            let others = (0..missing).map_while(|_| shelf.dry.pop().or_else(|| shelf.fresh.next()));
            (
                kept.into_iter().chain(others).collect(),
                missing,
                surplus,
                (shelf.fresh.start, room - missing.min(room)),
            )
        };
        self.dry(&surplus, width.other());
        let (kept, dry) = pages.split_at(count - missing);
        for page in kept {
            self.clear(*page);
        }
        for page in dry {
            // Written now, so that the system gives the memory before anybody waits for what comes into it. Not a name:
            // whoever comes too late may have locked a slot, and is to give it back.
            self.lines[*page as usize * LINES_PER_PAGE].0[1].store(0, Ordering::Relaxed);
        }
        // What is warm takes memory: only if all of it may be used.
        if !dry.is_empty() && room * PAGE_BYTES >= 2 * HUGE_BYTES {
            self.warmers[width as usize].taken(fresh as usize * LINES_PER_PAGE, &self.lines);
        }
        Some(pages)
    }

    /// Takes everything out of a page whose lock bits are all set, and the lock bits off.
    fn clear(&self, page: u32) {
        let first = page as usize * LINES_PER_PAGE;
        for word in self.lines[first..first + LINES_PER_PAGE].iter().flat_map(|line| &line.0) {
            word.store(0, Ordering::Release);
        }
    }

    /// Takes pages back that nobody needs any more. The lock bits of all their slots are the caller's: they stay, so that
    /// nobody who comes too late takes one, until the page is taken again.
    pub(super) fn give(&self, pages: &[u32], width: Width) {
        let surplus = {
            let mut shelves = self.shelves();
            let (shelf, _) = shelves.of(width);
            shelf.used -= pages.len();
            shelf.kept.extend_from_slice(pages);
            let most = KEPT + shelf.used / USED_PER_KEPT;
            let too_many = shelf.kept.len().saturating_sub(most);
            shelf.shed(if too_many > most / 4 { too_many } else { 0 })
        };
        self.dry(&surplus, width);
    }

    /// Bytes of memory that are taken, those of the pages that are kept included.
    pub(super) fn bytes(&self) -> usize {
        let shelves = self.shelves();
        (shelves.narrow.held() + shelves.wide.held()) * PAGE_BYTES
    }

    /// Gives the memory of pages back to the system, or keeps them, lock bits and all, if it does not take it.
    fn dry(&self, pages: &[u32], width: Width) {
        if pages.is_empty() {
            return;
        }
        let gives = |page: &u32| {
            let first = *page as usize * LINES_PER_PAGE;
            self.lines.give_back(first..first + LINES_PER_PAGE)
        };
        let (dry, kept): (Vec<u32>, Vec<u32>) = pages.iter().copied().partition(gives);
        let mut shelves = self.shelves();
        let (shelf, _) = shelves.of(width);
        shelf.dry.extend(dry);
        shelf.kept.extend(kept);
    }

    fn shelves(&self) -> MutexGuard<'_, Shelves> {
        self.shelves.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shelves {
    /// That of a width, and the other.
    fn of(&mut self, width: Width) -> (&mut Shelf, &mut Shelf) {
        match width {
            Width::Narrow => (&mut self.narrow, &mut self.wide),
            Width::Wide => (&mut self.wide, &mut self.narrow),
        }
    }
}

impl Shelf {
    const fn new(fresh: std::ops::Range<u32>) -> Self {
        Self { fresh, kept: Vec::new(), dry: Vec::new(), used: 0 }
    }

    /// How many pages take memory.
    fn held(&self) -> usize {
        self.used + self.kept.len()
    }

    /// Takes pages off that are kept, at most so many.
    fn shed(&mut self, count: usize) -> Vec<u32> {
        self.kept.split_off(self.kept.len().saturating_sub(count))
    }
}

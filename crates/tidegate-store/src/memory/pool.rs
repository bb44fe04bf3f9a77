//! Pages of lines for segments to use, as many as the cap allows and no more.

use std::sync::{Mutex, MutexGuard, PoisonError};

use smallvec::SmallVec;

use super::arena::{Arena, Line};
use super::segment::{LINES_PER_PAGE, MAX_PAGES, slots_of_page};
use super::slot::Slot;
use super::sync::Ordering;

pub(super) const PAGE_BYTES: usize = LINES_PER_PAGE * size_of::<Line>();

/// So many pages are kept for whoever needs some next, and in addition one for so many in use.
const KEPT: usize = 32;
const USED_PER_KEPT: usize = 16;

/// The numbers of some pages.
pub(super) type Pages = SmallVec<[u32; 2 * MAX_PAGES]>;

pub(super) struct Pool {
    pub(super) lines: Arena,
    shelf: Mutex<Shelf>,
}

#[derive(Default)]
struct Shelf {
    /// Pages from here on were never used.
    fresh: u32,
    /// Pages that were given back, with all their lock bits set; they take memory.
    kept: Vec<u32>,
    /// Pages whose memory was given back to the system.
    dry: Vec<u32>,
    used: u32,
}

impl Pool {
    pub(super) fn new(pages: usize) -> Self {
        let pages = u32::try_from(pages).unwrap_or(u32::MAX) as usize;
        Self { lines: Arena::new(pages.max(1) * LINES_PER_PAGE), shelf: Mutex::default() }
    }

    /// So many pages without a counter in them, if there are as many.
    pub(super) fn take(&self, count: usize) -> Option<Pages> {
        let pages: SmallVec<[(u32, bool); 2 * MAX_PAGES]> = {
            let mut shelf = self.shelf();
            let never_used = self.lines.len() / LINES_PER_PAGE - shelf.fresh as usize;
            if shelf.kept.len() + shelf.dry.len() + never_used < count {
                return None;
            }
            shelf.used += u32::try_from(count).unwrap_or(0);
            (0..count).map(|_| shelf.next()).collect()
        };
        for (page, is_locked) in &pages {
            if *is_locked {
                slots_of_page(*page, &self.lines).for_each(Slot::unlock_free);
            } else {
                // Written now, so that the system gives the memory before anybody waits for what comes into it.
                self.lines[*page as usize * LINES_PER_PAGE].0[1].store(0, Ordering::Relaxed);
            }
        }
        Some(pages.into_iter().map(|(page, _)| page).collect())
    }

    /// Takes pages back that nobody needs any more. The lock bits of all their slots are the caller's: they stay, so that
    /// nobody who comes too late takes one, until the page is taken again.
    pub(super) fn give(&self, pages: &[u32]) {
        let surplus = {
            let mut shelf = self.shelf();
            shelf.used -= u32::try_from(pages.len()).unwrap_or(0);
            shelf.kept.extend_from_slice(pages);
            let most = KEPT + shelf.used as usize / USED_PER_KEPT;
            let rest = if shelf.kept.len() > 2 * most { most } else { shelf.kept.len() };
            shelf.kept.split_off(rest)
        };
        for page in &surplus {
            let first = *page as usize * LINES_PER_PAGE;
            self.lines.give_back(first..first + LINES_PER_PAGE);
        }
        self.shelf().dry.extend(surplus);
    }

    /// How many pages are in use.
    pub(super) fn used(&self) -> usize {
        self.shelf().used as usize
    }

    /// Bytes of memory that are taken, those of the pages that are kept included.
    pub(super) fn bytes(&self) -> usize {
        let shelf = self.shelf();
        (shelf.used as usize + shelf.kept.len()) * PAGE_BYTES
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shelf {
    /// A page, and whether its lock bits are set.
    fn next(&mut self) -> (u32, bool) {
        if let Some(page) = self.kept.pop() {
            return (page, true);
        }
        let page = self.dry.pop().unwrap_or_else(|| {
            self.fresh += 1;
            self.fresh - 1
        });
        (page, false)
    }
}

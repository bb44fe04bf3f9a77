//! All counters: segments by the lower bits of their hashes, each as large as it needs to be.
//!
//! The number of segments follows the number of pages: they are split in two, one after the other, as in linear hashing. So
//! the table grows by a page or a segment at a time, and nobody waits for more than that.

mod walk;

use std::hash::{BuildHasher, RandomState};

use tidegate_core::{KeyRef, Limit, Packed, Packing, State, Timestamp};

use super::arena::Line;
use super::blank::Blank;
use super::directory::{Directory, pages_per_segment};
use super::eviction::{self, Need, Room};
use super::lookup::SlotLookup;
use super::page::Width;
use super::pool::{PAGE_BYTES, Pages, Pool};
use super::registry::{Registered, Registry};
use super::segment::{Claimed, MAX_PAGES, Segment};
use super::sip::Sip13;
use super::slot::{Content, Hash};
use super::sync::{AtomicBool, Ordering, pause};

/// A segment that shrinks or is split is filled to this share of its places.
const fn new_percent(width: Width) -> usize {
    match width {
        Width::Narrow => 70,
        Width::Wide => 50,
    }
}
/// Below this share of its places a segment that finds no room for a counter drops another rather than to grow.
const GROW_AT_PERCENT: usize = 12;
/// So many segments are split at most for one that is as large as can be.
const MOST_TURNS: usize = 64;
/// Below this share a segment that was swept shrinks.
const SHRINK_AT_PERCENT: usize = 40;
const DAY_US: u64 = 86_400_000_000;

/// The table.
pub(super) struct Table {
    /// SipHash-1-3 under a random key: who chooses keys cannot choose where they go.
    hasher: Sip13,
    pub(super) registry: Registry,
    pool: Pool,
    narrow: Directory,
    wide: Directory,
    /// Whether there was ever no room for a new counter.
    tight: AtomicBool,
}

/// What came of putting a segment onto other pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resized {
    /// It is there now, or somebody else has changed it.
    Done,
    /// It does not fit onto as many.
    TooFew,
    /// There are not as many.
    NoPages,
}

/// What came of asking for a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// The counter has one.
    Made,
    /// Somebody else has given it one.
    There,
    /// All places where it could stand are pinned, or its segment has none.
    NoRoom,
    /// All places where it could stand are taken by counters that have nearly used up their limits.
    OnlyOffenders,
}

impl Table {
    pub(super) fn with_cap(cap_bytes: usize) -> Self {
        Self::new(cap_bytes, random_hasher())
    }

    fn new(cap_bytes: usize, hasher: Sip13) -> Self {
        let pages = (cap_bytes / PAGE_BYTES).max(4);
        Self {
            hasher,
            registry: Registry::default(),
            pool: Pool::new(pages),
            narrow: Directory::new(pages, Width::Narrow),
            wide: Directory::new(pages, Width::Wide),
            tight: AtomicBool::new(false),
        }
    }

    /// A small one that hashes always alike, for the model checker.
    #[cfg(all(test, loom))]
    pub(super) fn tiny(pages: usize) -> Self {
        Self::new(pages * PAGE_BYTES, Sip13::new([1, 2]))
    }

    #[cfg(all(test, loom))]
    pub(super) fn replace_segment(&self, now: Timestamp) {
        self.resize(self.narrow.segment_at(0, &self.pool.lines), 1, now);
    }

    #[cfg(all(test, loom))]
    pub(super) fn split_segment(&self, now: Timestamp) {
        self.split(&self.narrow, now);
    }

    #[cfg(all(test, loom))]
    pub(super) fn drop_a_rival_of(&self, key: u8, now: Timestamp) {
        let key = tidegate_core::Key { home: &[&[key]], own: &[] }.encode().expect("a short key");
        let lookup = self.lookup(self.hash(key.as_ref()), Width::Narrow, now);
        eviction::make_room(&self.registry, &lookup, Need { share: 0, now, pinned: &[] });
    }

    /// How many counters there are, those included that have emptied and were not swept yet.
    pub(super) fn len(&self) -> usize {
        [&self.narrow, &self.wide]
            .into_iter()
            .flat_map(|directory| directory.all(&self.pool.lines))
            .map(Segment::occupied)
            .sum()
    }

    pub(super) fn bytes(&self) -> usize {
        self.pool.bytes() + (self.narrow.len() + self.wide.len()) * size_of::<Line>()
    }

    /// Whether there was ever no room for a new counter.
    pub(super) fn is_tight(&self) -> bool {
        self.tight.load(Ordering::Relaxed)
    }

    #[inline]
    pub(super) fn hash(&self, key: KeyRef<'_>) -> Hash {
        Hash::new(self.hasher.hash(key.bytes()))
    }

    /// Begins to look for a counter among the slots of that width. A segment that is due is swept first.
    #[expect(clippy::inline_always, reason = "5 % of a decision (examples/instructions.rs, case narrow)")]
    #[inline(always)]
    pub(super) fn lookup(&self, hash: Hash, width: Width, now: Timestamp) -> SlotLookup<'_> {
        let directory = self.directory(width);
        let mut segment = directory.segment(hash, &self.pool.lines);
        while segment.is_due(now) {
            self.tend(segment, now);
            self.tend_next(directory, now);
            segment = directory.segment(hash, &self.pool.lines);
        }
        SlotLookup::new(hash, segment)
    }

    /// Finds a counter, among the slots of that width first. If it has no slot, the lookup is where it would get one.
    pub(super) fn find(&self, hash: Hash, width: Width, now: Timestamp) -> SlotLookup<'_> {
        let mut lookup = self.lookup(hash, width, now);
        if !lookup.find() {
            self.find_beside(&mut lookup, now);
        }
        lookup
    }

    /// Finds a counter that has no slot of the likely width. Limits that follow each other on a counter are of one share,
    /// so that it is only looked for where limits of its share have slots.
    pub(super) fn find_in_other_width<'a>(
        &'a self,
        lookup: &mut SlotLookup<'a>,
        entry: &Registered,
        now: Timestamp,
    ) {
        if entry.has_both_widths() || entry.width() != lookup.width() {
            self.find_beside(lookup, now);
        }
    }

    /// Finds a counter among the slots of the other width; the lookup stays as it is if there is none.
    fn find_beside<'a>(&'a self, lookup: &mut SlotLookup<'a>, now: Timestamp) {
        let width = lookup.width().other();
        if !self.directory(width).is_empty() {
            let mut other = self.lookup(lookup.hash, width, now);
            if other.find() {
                *lookup = other;
            }
        }
    }

    /// Gives a counter a place with nothing in it yet, unless it has one, and finds it there.
    pub(super) fn claim<'a>(
        &'a self,
        lookup: &mut SlotLookup<'a>,
        entry: &Registered,
        need: Need<'_>,
    ) -> Claim {
        let content = Content::new(lookup.hash, entry.number, Packed::default());
        loop {
            match self.claim_with(lookup, (content, entry), need) {
                Claim::Made | Claim::There if lookup.find() => return Claim::Made,
                Claim::Made | Claim::There => {}
                none => return none,
            }
        }
    }

    /// Gives a counter that was not found a place, if need be that of another, but of none that is pinned: a plan never makes
    /// room for itself.
    pub(super) fn claim_with<'a>(
        &'a self,
        lookup: &mut SlotLookup<'a>,
        (content, entry): (Content, &Registered),
        need: Need<'_>,
    ) -> Claim {
        let Need { now, pinned, .. } = need;
        let width = entry.width();
        if lookup.width() != width {
            *lookup = self.lookup(lookup.hash, width, now);
        }
        let has_emptied =
            |held: Content| !pinned.contains(&held.hash()) && self.registry.is_empty(held, now, 0);
        let mut looks = 0;
        loop {
            match lookup.segment.claim(content, has_emptied) {
                Claimed::New => return Claim::Made,
                Claimed::There => return Claim::There,
                Claimed::Changed => pause(&mut looks),
                Claimed::Full if self.grow(lookup.segment, now) => {}
                Claimed::Full => {
                    self.tight.store(true, Ordering::Relaxed);
                    match eviction::make_room(&self.registry, lookup, need) {
                        Room::Made => {}
                        Room::None if !lookup.is_current() => {}
                        Room::None => return Claim::NoRoom,
                        Room::OnlyOffenders => return Claim::OnlyOffenders,
                    }
                }
            }
            *lookup = self.lookup(lookup.hash, width, now);
        }
    }

    /// The width at which a limit's counters most likely stand.
    #[inline]
    pub(super) fn likely_width(limit: &Limit) -> Width {
        if Packing::is_likely_wide(limit) { Width::Wide } else { Width::Narrow }
    }

    pub(super) fn state(&self, content: Content, now: Timestamp) -> State {
        self.registry.state(content, now)
    }

    #[inline]
    fn directory(&self, width: Width) -> &Directory {
        match width {
            Width::Narrow => &self.narrow,
            Width::Wide => &self.wide,
        }
    }

    /// Looks after one more segment, so that those that nobody asks for have their turn.
    fn tend_next(&self, directory: &Directory, now: Timestamp) {
        let next = directory.next.fetch_add(1, Ordering::Relaxed) % directory.len();
        let segment = directory.segment_at(next, &self.pool.lines);
        if segment.is_due(now) {
            self.tend(segment, now);
        }
    }

    /// Frees the places of counters that have emptied, and pages that are not needed any more.
    fn tend(&self, segment: Segment<'_>, now: Timestamp) {
        if now.as_micros().saturating_sub(segment.swept_us()) >= DAY_US {
            segment.purge(&self.registry, now);
        } else {
            segment.sweep(&self.registry, now);
            if segment.occupied() * 100 < segment.slots() * SHRINK_AT_PERCENT {
                self.resize(segment, pages_for(segment.occupied(), segment.width()), now);
            }
        }
    }

    /// Gives a segment that is full another page, or more if that is not enough, as far as there are some; if somebody else
    /// has changed it, that is as good.
    fn grow(&self, segment: Segment<'_>, now: Timestamp) -> bool {
        let directory = self.directory(segment.width());
        if segment.occupied() * 100 >= segment.slots() * GROW_AT_PERCENT {
            let more = segment.header().pages() + 1..=MAX_PAGES;
            for pages in more {
                if self.resize(segment, pages, now) != Resized::TooFew {
                    break;
                }
            }
        }
        if directory.pages.load(Ordering::Relaxed) > directory.len() * pages_per_segment(directory.width) {
            self.split(directory, now);
        }
        // One that is as large as can be waits for its turn to be split.
        let mut turns = 0;
        while segment.is_current() && segment.header().pages() == MAX_PAGES && turns < MOST_TURNS {
            turns += 1;
            if !self.split(directory, now) {
                break;
            }
        }
        !segment.is_current()
    }

    /// Puts what a segment holds onto so many other pages.
    fn resize(&self, segment: Segment<'_>, pages: usize, now: Timestamp) -> Resized {
        let Some(pages) = self.pool.take(pages, segment.width()) else { return Resized::NoPages };
        let Some(contents) = self.close(segment, now) else {
            self.give_back(&pages, segment.width());
            return Resized::Done;
        };
        let counters = contents.len();
        if !self.blank(&pages, segment.width()).fill(contents) {
            segment.let_go();
            self.give_back(&pages, segment.width());
            return Resized::TooFew;
        }
        let old = segment.replace(&pages, segment.header().depth(), (counters, now));
        self.pool.give(&old, segment.width());
        self.directory(segment.width()).count_pages(pages.len(), old.len());
        Resized::Done
    }

    /// Makes two of the segment whose turn it is, if nobody else does.
    fn split(&self, directory: &Directory, now: Timestamp) -> bool {
        let Ok(_turn) = directory.splitting.try_lock() else { return false };
        let (segments, width) = (directory.len(), directory.width);
        let level = segments.ilog2();
        if segments == directory.entries.len() {
            return false;
        }
        let old = directory.segment_at(segments - (1 << level), &self.pool.lines);
        let other = directory.segment_at(segments, &self.pool.lines);
        let pages = pages_for(old.occupied().div_ceil(2) + width.slots_per_page() / 16, width);
        let Some(mut lower) = self.pool.take(2 * pages, width) else { return false };
        let upper: Pages = lower.drain(pages..).collect();
        let give_back = || {
            self.give_back(&lower, width);
            self.give_back(&upper, width);
            false
        };
        let Some(contents) = self.close(old, now) else { return give_back() };
        let (uppers, lowers): (Vec<_>, Vec<_>) =
            contents.into_iter().partition(|content| content.hash().bits() >> level & 1 == 1);
        let counters = (lowers.len(), uppers.len());
        if !self.blank(&lower, width).fill(lowers) || !self.blank(&upper, width).fill(uppers) {
            old.let_go();
            return give_back();
        }
        other.replace(&upper, level + 1, (counters.1, now));
        // First the number, then the header of the old one: who sees that it was split sees where the rest is.
        directory.segments.store(segments + 1, Ordering::Release);
        let freed = old.replace(&lower, level + 1, (counters.0, now));
        self.pool.give(&freed, width);
        directory.count_pages(2 * pages, freed.len());
        true
    }

    fn blank<'a>(&'a self, pages: &'a [u32], width: Width) -> Blank<'a> {
        Blank { pages, lines: &self.pool.lines, width }
    }

    /// Seizes a segment, with all its lock bits, and says what it holds that has not emptied.
    fn close(&self, segment: Segment<'_>, now: Timestamp) -> Option<Vec<Content>> {
        let mut contents = Vec::with_capacity(segment.slots());
        if !segment.seize() {
            return None;
        }
        segment.close(|content| {
            if !self.registry.is_empty(content, now, 0) {
                contents.push(content);
            }
        });
        Some(contents)
    }

    /// Gives pages back of which some may hold something that is not needed.
    fn give_back(&self, pages: &[u32], width: Width) {
        for slot in pages.iter().flat_map(|page| width.slots_of_page(*page, &self.pool.lines)) {
            slot.lock(|| false);
        }
        self.pool.give(pages, width);
    }
}

/// How many pages a segment is to have for so many counters.
fn pages_for(counters: usize, width: Width) -> usize {
    (counters * 100).div_ceil(width.slots_per_page() * new_percent(width))
}

/// A hasher whose key comes from the standard library's source of randomness.
fn random_hasher() -> Sip13 {
    let source = RandomState::new();
    Sip13::new([source.hash_one(0), source.hash_one(1)])
}

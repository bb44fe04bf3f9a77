//! All counters: segments by the lower bits of their hashes, each as large as it needs to be.
//!
//! The number of segments follows the number of pages: they are split in two, one after the other, as in linear hashing. So
//! the table grows by a page or a segment at a time, and nobody waits for more than that.

use std::hash::{BuildHasher, RandomState};
use std::sync::Mutex;

use siphasher::sip::SipHasher13;
use tidegate_core::{KeyRef, Limit, State, Timestamp};

use super::arena::{Arena, Line};
use super::pool::{PAGE_BYTES, Pages, Pool};
use super::registry::{Registered, Registry};
use super::segment::{Claimed, LINES_PER_PAGE, MAX_PAGES, SLOTS_PER_LINE, Segment, slots_of_page};
use super::slot::{Content, Hash, Slot};
use super::sync::{AtomicU64, AtomicUsize, Ordering, pause};

/// Pages of a segment, on average.
const PAGES_PER_SEGMENT: usize = 6;
/// A segment that shrinks or is split has room for so many counters in each of its pages, and one that grows at most so many.
const PER_NEW_PAGE: usize = LINES_PER_PAGE * SLOTS_PER_LINE * 5 / 8;
const PER_GROWN_PAGE: usize = LINES_PER_PAGE * SLOTS_PER_LINE * 3 / 4;
/// Below this share of its places a segment that finds no room for a counter drops another rather than to grow.
const GROW_AT_PERCENT: usize = 25;
/// Below this share a segment that was swept shrinks.
const SHRINK_AT_PERCENT: usize = 40;
const DAY_US: u64 = 86_400_000_000;

/// The table.
pub(super) struct Table {
    /// SipHash-1-3 under a random key: who chooses keys cannot choose where they go.
    hasher: SipHasher13,
    pub(super) registry: Registry,
    pool: Pool,
    /// An entry for each segment, and more for those to come.
    directory: Arena,
    segments: AtomicUsize,
    splitting: Mutex<()>,
    evicted: AtomicU64,
    /// The segment that is looked after next.
    next: AtomicUsize,
}

/// Where a counter stands, or would stand, when somebody looked.
pub(super) struct Seat<'a> {
    pub(super) hash: Hash,
    segment: Segment<'a>,
    slot: Option<Slot<'a>>,
}

impl Table {
    pub(super) fn with_cap(cap_bytes: usize) -> Self {
        Self::new(cap_bytes, random_hasher())
    }

    fn new(cap_bytes: usize, hasher: SipHasher13) -> Self {
        let pages = (cap_bytes / PAGE_BYTES).max(4);
        Self {
            hasher,
            registry: Registry::default(),
            pool: Pool::new(pages),
            directory: Arena::new((pages / PAGES_PER_SEGMENT * 2).max(4)),
            segments: AtomicUsize::new(1),
            splitting: Mutex::default(),
            evicted: AtomicU64::new(0),
            next: AtomicUsize::new(0),
        }
    }

    /// A small one that hashes always alike, for the model checker.
    #[cfg(all(test, loom))]
    pub(super) fn tiny(pages: usize) -> Self {
        Self::new(pages * PAGE_BYTES, SipHasher13::new_with_keys(1, 2))
    }

    #[cfg(all(test, loom))]
    pub(super) fn replace_segment(&self, now: Timestamp) {
        self.resize(self.segment_at(0), 1, now);
    }

    #[cfg(all(test, loom))]
    pub(super) fn split_segment(&self, now: Timestamp) {
        self.split(now);
    }

    #[cfg(all(test, loom))]
    pub(super) fn drop_a_rival_of(&self, key: u8, now: Timestamp) {
        let key = tidegate_core::Key { home: &[&[key]], own: &[] }.encode().expect("a short key");
        let seat = self.seat(self.hash(key.as_ref()), now);
        self.evict_for(&seat, (now, &[]));
    }

    /// How many counters there are, those included that have emptied and were not swept yet.
    pub(super) fn len(&self) -> usize {
        (0..self.segments.load(Ordering::Acquire)).map(|index| self.segment_at(index).occupied()).sum()
    }

    pub(super) fn bytes(&self) -> usize {
        self.pool.bytes() + self.segments.load(Ordering::Relaxed) * size_of::<Line>()
    }

    /// How many counters were dropped while they counted.
    pub(super) fn evicted(&self) -> u64 {
        self.evicted.load(Ordering::Relaxed)
    }

    #[inline]
    pub(super) fn hash(&self, key: KeyRef<'_>) -> Hash {
        Hash::new(self.hasher.hash(key.bytes()))
    }

    /// The segment of a counter, swept if it is time, with its line on the way from memory.
    #[inline]
    pub(super) fn seat(&self, hash: Hash, now: Timestamp) -> Seat<'_> {
        let mut segment = self.segment(hash);
        while segment.is_due(now) {
            self.tend(segment, now);
            self.tend_next(now);
            segment = self.segment(hash);
        }
        segment.touch(hash);
        Seat { hash, segment, slot: None }
    }

    /// Gives a counter a place, if need be that of another, but of none that is pinned: a plan never makes room for itself.
    /// If there is none to be had, `false`.
    pub(super) fn claim<'a>(
        &'a self,
        seat: &mut Seat<'a>,
        entry: &Registered,
        (now, pinned): (Timestamp, &[Hash]),
    ) -> bool {
        let content = Content { hash: seat.hash, number: entry.number, packed: 0 };
        let has_emptied =
            |held: Content| !pinned.contains(&held.hash) && self.registry.is_empty(held, now, 0);
        let mut looks = 0;
        loop {
            match seat.segment.claim(content, has_emptied) {
                Claimed::New | Claimed::There => return seat.find(),
                Claimed::Changed => pause(&mut looks),
                Claimed::Full if self.grow(seat.segment, now) => {}
                Claimed::Full if self.evict_for(seat, (now, pinned)) => {}
                Claimed::Full => return false,
            }
            *seat = self.seat(seat.hash, now);
        }
    }

    pub(super) fn state(&self, content: Content, now: Timestamp) -> State {
        self.registry.state(content, now)
    }

    #[inline]
    fn segment(&self, hash: Hash) -> Segment<'_> {
        loop {
            let segments = self.segments.load(Ordering::Acquire);
            let level = segments.ilog2();
            let both = low(hash.bits(), level + 1);
            let index = if both < segments { both } else { low(hash.bits(), level) };
            let segment = self.segment_at(index);
            // It may have been split since the number of segments was read.
            if low(hash.bits(), segment.header().depth()) == index {
                return segment;
            }
        }
    }

    #[inline]
    fn segment_at(&self, index: usize) -> Segment<'_> {
        Segment::look(&self.directory[index], &self.pool.lines)
    }

    /// Looks after one more segment, so that those that nobody asks for have their turn.
    fn tend_next(&self, now: Timestamp) {
        let next = self.next.fetch_add(1, Ordering::Relaxed) % self.segments.load(Ordering::Acquire);
        let segment = self.segment_at(next);
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
                self.resize(segment, segment.occupied().div_ceil(PER_NEW_PAGE), now);
            }
        }
    }

    /// Gives a segment that is full another page, if it may have one and there is one; if somebody else has changed it, that
    /// is as good.
    fn grow(&self, segment: Segment<'_>, now: Timestamp) -> bool {
        let pages = segment.header().pages();
        let occupied = segment.occupied();
        let grown = occupied * 100 >= segment.slots() * GROW_AT_PERCENT
            && (pages + 1..=(pages + 3).min(MAX_PAGES))
                .filter(|pages| occupied <= pages * PER_GROWN_PAGE)
                .any(|pages| self.resize(segment, pages, now));
        if self.pool.used() > self.segments.load(Ordering::Relaxed) * PAGES_PER_SEGMENT {
            self.split(now);
        }
        grown || !segment.is_current()
    }

    /// Puts what a segment holds onto so many other pages. `false` if there are none, or not enough.
    fn resize(&self, segment: Segment<'_>, pages: usize, now: Timestamp) -> bool {
        let Some(pages) = self.pool.take(pages) else { return false };
        let Some(contents) = self.close(segment, now) else {
            self.give_back(&pages);
            return true;
        };
        let counters = contents.len();
        if !Segment::fill(&pages, &self.pool.lines, contents) {
            segment.let_go();
            self.give_back(&pages);
            return false;
        }
        let old = segment.replace(&pages, segment.header().depth(), (counters, now));
        self.pool.give(&old);
        true
    }

    /// Makes two of the segment whose turn it is, if nobody else does.
    fn split(&self, now: Timestamp) -> bool {
        let Ok(_turn) = self.splitting.try_lock() else { return false };
        let segments = self.segments.load(Ordering::Acquire);
        let level = segments.ilog2();
        let Some(other) = self.directory.get(segments) else { return false };
        let old = self.segment_at(segments - (1 << level));
        let pages = (old.occupied().div_ceil(2) + PER_NEW_PAGE / 8).div_ceil(PER_NEW_PAGE);
        let Some(mut both) = self.pool.take(2 * pages) else { return false };
        let upper: Pages = both.drain(pages..).collect();
        let other = Segment::look(other, &self.pool.lines);
        let Some(contents) = self.close(old, now) else {
            self.give_back(&both);
            self.give_back(&upper);
            return false;
        };
        let (uppers, lowers): (Vec<_>, Vec<_>) =
            contents.into_iter().partition(|content| content.hash.bits() >> level & 1 == 1);
        let counters = (lowers.len(), uppers.len());
        let filled = Segment::fill(&both, &self.pool.lines, lowers)
            && Segment::fill(&upper, &self.pool.lines, uppers);
        if !filled {
            old.let_go();
            self.give_back(&both);
            self.give_back(&upper);
            return false;
        }
        other.replace(&upper, level + 1, (counters.1, now));
        // First the number, then the header of the old one: who sees that it was split sees where the rest is.
        self.segments.store(segments + 1, Ordering::Release);
        let freed = old.replace(&both, level + 1, (counters.0, now));
        self.pool.give(&freed);
        true
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
    fn give_back(&self, pages: &[u32]) {
        for slot in pages.iter().flat_map(|page| slots_of_page(*page, &self.pool.lines)) {
            slot.lock(|| false);
        }
        self.pool.give(pages);
    }

    /// Drops the rival that matters least: the one that has used the least share of its limit, then the first to empty.
    fn evict_for(&self, seat: &Seat<'_>, (now, pinned): (Timestamp, &[Hash])) -> bool {
        let weight = |content: Content| {
            let Some(entry) = self.registry.get(content.number) else { return (0, 0) };
            let state = entry.state(content, now);
            (fullness(&entry.limit, &state, now), state.empty_at().as_micros())
        };
        let rivals = seat.segment.rivals(seat.hash).filter_map(|slot| {
            let content = slot.look(|| true)?;
            if pinned.contains(&content.hash) {
                return None;
            }
            Some((weight(content), slot, content))
        });
        let Some((_, slot, content)) = rivals.min_by_key(|(weight, ..)| *weight) else {
            return !seat.segment.is_current();
        };
        if slot.lock_as(content) {
            if seat.segment.is_current() {
                slot.unlock_free();
                seat.segment.add(-1);
                self.evicted.fetch_add(u64::from(weight(content).1 > now.as_micros()), Ordering::Relaxed);
            } else {
                slot.unlock();
            }
        }
        true
    }
}

/// The lower bits of a hash as a number.
#[inline]
fn low(hash: u64, bits: u32) -> usize {
    (hash & ((1 << bits) - 1)) as usize
}

/// A hasher whose key comes from the standard library's source of randomness.
fn random_hasher() -> SipHasher13 {
    let source = RandomState::new();
    SipHasher13::new_with_keys(source.hash_one(0), source.hash_one(1))
}

/// How much of its limit a counter has used, in thousandths.
fn fullness(limit: &Limit, state: &State, now: Timestamp) -> u64 {
    let verdict = limit.verdict(state, now, tidegate_core::Outcome::Allowed);
    let used = verdict.limit - verdict.remaining.min(verdict.limit);
    used.saturating_mul(1_000) / verdict.limit.max(1)
}

impl<'a> Seat<'a> {
    /// Looks for the counter; whether it is there.
    #[inline]
    pub(super) fn find(&mut self) -> bool {
        self.slot = self.segment.find(self.hash);
        self.slot.is_some()
    }

    pub(super) fn slot(&self) -> Option<Slot<'a>> {
        self.slot
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
            slot.unlock_free();
            self.segment.add(-1);
        }
    }
}

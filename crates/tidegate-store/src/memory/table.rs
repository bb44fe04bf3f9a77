//! All counters: segments by the upper bits of their hashes, each as large as it needs to be.

use std::hash::{BuildHasher, RandomState};

use siphasher::sip::SipHasher13;
use tidegate_core::{KeyRef, Limit, State, Timestamp};

use super::registry::{Registered, Registry};
use super::segment::{Claimed, Place, Segment};
use super::slot::{Content, Hash, Slot};
use super::sync::{AtomicU64, AtomicUsize, Home, Ordering, View, pause, yield_now};

/// A segment is this large when the table is at its cap, more or less: small enough to be rebuilt in some microseconds.
const SEGMENT_BYTES: usize = 64 << 10;
const MIN_SEGMENTS: usize = 16;
const MAX_SEGMENTS: usize = 1 << 20;

/// Below this share of its places a segment that finds no room for a counter drops another rather than to grow.
const GROW_AT_PERCENT: usize = 25;
/// Below this share a segment that is swept shrinks.
const SHRINK_AT_PERCENT: usize = 25;

/// The table.
pub(super) struct Table {
    /// SipHash-1-3 under a random key: who chooses keys cannot choose where they go.
    hasher: SipHasher13,
    pub(super) registry: Registry,
    segments: Box<[Home<Segment>]>,
    segment_bits: u32,
    bytes: AtomicUsize,
    cap_bytes: usize,
    evicted: AtomicU64,
    /// The segment that is looked after next.
    next: AtomicUsize,
}

/// A segment as it was when somebody looked, and where a counter stands in it.
pub(super) struct Seat {
    pub(super) hash: Hash,
    segment: View<Segment>,
    place: Option<Place>,
}

impl Table {
    pub(super) fn with_cap(cap_bytes: usize) -> Self {
        let segments = (cap_bytes / SEGMENT_BYTES).next_power_of_two().clamp(MIN_SEGMENTS, MAX_SEGMENTS);
        let empty = || Home::new(Segment::new(1, Timestamp::ZERO));
        let segments: Box<[Home<Segment>]> = (0..segments).map(|_| empty()).collect();
        let bytes = segments.iter().map(|segment| segment.view().bytes()).sum();
        Self {
            hasher: random_hasher(),
            registry: Registry::default(),
            segment_bits: segments.len().ilog2(),
            segments,
            bytes: AtomicUsize::new(bytes),
            cap_bytes,
            evicted: AtomicU64::new(0),
            next: AtomicUsize::new(0),
        }
    }

    /// One small segment, for the model checker.
    #[cfg(all(test, loom))]
    pub(super) fn tiny(cap_bytes: usize, now: Timestamp) -> Self {
        let segment = Segment::new(1, now);
        let bytes = AtomicUsize::new(segment.bytes());
        Self {
            hasher: SipHasher13::new_with_keys(1, 2),
            registry: Registry::default(),
            segments: Box::new([Home::new(segment)]),
            segment_bits: 0,
            bytes,
            cap_bytes,
            evicted: AtomicU64::new(0),
            next: AtomicUsize::new(0),
        }
    }

    #[cfg(all(test, loom))]
    pub(super) fn replace_segment(&self, now: Timestamp) {
        let old = self.segments[0].view();
        self.rebuild(&self.segments[0], &old, 1, now);
    }

    #[cfg(all(test, loom))]
    pub(super) fn drop_a_rival_of(&self, key: u8, now: Timestamp) {
        let key = tidegate_core::Key { home: &[&[key]], own: &[] }.encode().expect("a short key");
        let seat = self.seat(self.hash(key.as_ref()), now);
        self.evict_for(&seat, (now, &[]));
    }

    /// How many counters there are, those included that have emptied and were not swept yet.
    pub(super) fn len(&self) -> usize {
        self.segments.iter().map(|segment| segment.view().occupied()).sum()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// How many counters were dropped while they counted.
    pub(super) fn evicted(&self) -> u64 {
        self.evicted.load(Ordering::Relaxed)
    }

    pub(super) fn hash(&self, key: KeyRef<'_>) -> Hash {
        Hash::new(self.hasher.hash(key.bytes()))
    }

    /// The segment of a counter, swept if it is time, with its line on the way from memory.
    pub(super) fn seat(&self, hash: Hash, now: Timestamp) -> Seat {
        loop {
            let segment = self.segment(hash).view();
            segment.touch(hash);
            match segment.is_due(now) {
                None => return Seat { hash, segment, place: None },
                Some(since_us) => {
                    self.tend(self.segment(hash), &segment, since_us, now);
                    self.tend_next(now);
                }
            }
        }
    }

    /// Looks after one more segment, so that those that nobody asks for have their turn.
    fn tend_next(&self, now: Timestamp) {
        let next = self.next.fetch_add(1, Ordering::Relaxed) % self.segments.len();
        let segment = self.segments[next].view();
        if let Some(since_us) = segment.is_due(now) {
            self.tend(&self.segments[next], &segment, since_us, now);
        }
    }

    /// Gives a counter a place, if need be that of another, but of none that is pinned: a plan never makes room for itself.
    /// If there is none to be had, `false`.
    pub(super) fn claim(
        &self,
        seat: &mut Seat,
        entry: &Registered,
        (now, pinned): (Timestamp, &[Hash]),
    ) -> bool {
        let content = Content { hash: seat.hash, number: entry.number, packed: 0 };
        let mut looks = 0;
        loop {
            match seat.segment.claim(content, &self.registry, (now, pinned)) {
                Claimed::New | Claimed::There => return seat.find(),
                Claimed::Retired => pause(&mut looks),
                Claimed::Full if self.grows(&seat.segment) => {
                    let lines = seat.segment.main_lines();
                    let more = if lines < 64 { lines * 2 } else { lines + lines / 8 };
                    self.rebuild(self.segment(seat.hash), &seat.segment, more, now);
                }
                Claimed::Full if self.evict_for(seat, (now, pinned)) => continue,
                Claimed::Full => return false,
            }
            *seat = self.seat(seat.hash, now);
        }
    }

    pub(super) fn state(&self, content: Content, now: Timestamp) -> State {
        self.registry.state(content, now)
    }

    fn segment(&self, hash: Hash) -> &Home<Segment> {
        &self.segments[usize::try_from(hash.top(self.segment_bits)).unwrap_or(0)]
    }

    /// Whether a segment that is full may grow, within the cap.
    fn grows(&self, segment: &Segment) -> bool {
        let well_used = segment.occupied() * 100 >= segment.slots() * GROW_AT_PERCENT;
        well_used && self.bytes() + segment.bytes() / 4 <= self.cap_bytes
    }

    /// Sweeps a segment, or makes a new one of it if nobody has looked for so long that its times cannot be told.
    fn tend(&self, home: &Home<Segment>, segment: &View<Segment>, since_us: u64, now: Timestamp) {
        const DAY_US: u64 = 86_400_000_000;
        let (lines, used) = (segment.main_lines(), segment.occupied() * 100 / segment.slots());
        if since_us >= DAY_US {
            self.rebuild(home, segment, lines, now);
        } else if used < SHRINK_AT_PERCENT && lines > 1 {
            self.rebuild(home, segment, lines.div_ceil(2), now);
        } else {
            segment.sweep(&self.registry, now);
        }
    }

    /// Puts a segment of another size in the place of one, or waits until somebody else has.
    fn rebuild(&self, home: &Home<Segment>, old: &View<Segment>, lines: usize, now: Timestamp) {
        let mut kept = Vec::with_capacity(old.slots());
        if !old.retire(&self.registry, now, |content| kept.push(content)) {
            while home.view().is(old) {
                yield_now();
            }
            return;
        }
        let fresh = (0..).map(|more| lines + lines * more / 4 + more).find_map(|lines| {
            let mut fresh = Segment::new(lines, now);
            kept.iter().all(|content| fresh.put(*content)).then_some(fresh)
        });
        if let Some(fresh) = fresh {
            self.bytes.fetch_add(fresh.bytes(), Ordering::Relaxed);
            home.replace(fresh);
            self.bytes.fetch_sub(old.bytes(), Ordering::Relaxed);
        }
    }

    /// Drops the rival that matters least: the one that has used the least share of its limit, then the first to empty.
    fn evict_for(&self, seat: &Seat, (now, pinned): (Timestamp, &[Hash])) -> bool {
        let weight = |content: Content| {
            let Some(entry) = self.registry.get(content.number) else { return (0, 0) };
            let state = entry.state(content, now);
            (fullness(&entry.limit, &state, now), state.empty_at().as_micros())
        };
        let rivals = seat.segment.rivals(seat.hash).filter_map(|place| {
            let content = seat.segment.slot(place).look(|| true)?;
            if pinned.contains(&content.hash) {
                return None;
            }
            Some((weight(content), place, content))
        });
        let Some((_, place, content)) = rivals.min_by_key(|(weight, ..)| *weight) else { return false };
        let slot = seat.segment.slot(place);
        if !slot.lock(|| seat.segment.is_retired()) {
            return true;
        }
        if slot.held() == Some(content) && !seat.segment.is_retired() {
            slot.unlock_free();
            seat.segment.one_less();
            self.evicted.fetch_add(u64::from(weight(content).1 > now.as_micros()), Ordering::Relaxed);
        } else {
            slot.unlock();
        }
        true
    }
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

impl Seat {
    /// Looks for the counter; whether it is there.
    pub(super) fn find(&mut self) -> bool {
        self.place = self.segment.find(self.hash);
        self.place.is_some()
    }

    pub(super) fn slot(&self) -> Option<&Slot> {
        self.place.map(|place| self.segment.slot(place))
    }

    /// The order in which lock bits are taken: that of the slots in memory.
    pub(super) fn order(&self) -> usize {
        self.slot().map_or(0, |slot| std::ptr::from_ref(slot).addr())
    }

    /// What the counter's slot held at some instant while this looked; `None` if it is not its slot any more.
    pub(super) fn look(&self) -> Option<Content> {
        let content = self.slot()?.look(|| self.segment.is_retired())?;
        (content.hash == self.hash && !self.segment.is_retired()).then_some(content)
    }

    /// Takes the lock bit of the counter's slot; `false` if it is not its slot any more.
    pub(super) fn lock(&self) -> bool {
        let Some(slot) = self.slot() else { return false };
        if !slot.lock(|| self.segment.is_retired()) {
            return false;
        }
        let is_ours = slot.is_of(self.hash) && !self.segment.is_retired();
        if !is_ours {
            slot.unlock();
        }
        is_ours
    }

    /// Whether the segment is still the one where the counter would be.
    pub(super) fn is_current(&self) -> bool {
        !self.segment.is_retired()
    }

    /// Gives the lock bit back with that content.
    pub(super) fn unlock_with(&self, content: Content) {
        if let Some(slot) = self.slot() {
            slot.unlock_with(content);
        }
    }

    /// Gives the lock bit back and changes nothing.
    pub(super) fn unlock(&self) {
        if let Some(slot) = self.slot() {
            slot.unlock();
        }
    }

    /// Gives the place of a counter back whose lock bit is held.
    pub(super) fn unlock_free(&self) {
        if let Some(slot) = self.slot() {
            slot.unlock_free();
            self.segment.one_less();
        }
    }
}

//! A part of the table: lines of four slots, in two of which a counter may stand, and a few lines for those that found both
//! full.
//!
//! A segment does not change its size. To grow or shrink, another takes its place: see [`Segment::retire`].

use tidegate_core::{Packing, Timestamp};

use super::registry::Registry;
use super::slot::{Content, Hash, Slot};
use super::sync::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

pub(super) const SLOTS_PER_LINE: usize = 4;

/// One line of the stash for so many lines.
const LINES_PER_STASH: usize = 32;

/// A cache line.
#[derive(Default)]
#[repr(align(64))]
struct Line([Slot; SLOTS_PER_LINE]);

/// Where a slot is in its segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    line: u32,
    slot: u32,
}

/// So many lines, of which the last are the stash.
pub(super) struct Segment {
    lines: Box<[Line]>,
    stash: usize,
    /// A bit for each counter in the stash, by its hash: others are not looked for there.
    stashed: AtomicU64,
    occupied: AtomicUsize,
    /// Another segment is about to take its place, or has: what is in it does not change any more.
    retired: AtomicBool,
    /// When somebody last began to sweep it, at least as often as somebody came by in another hour.
    swept_us: AtomicU64,
}

/// What came of looking for a place for a new counter.
pub(super) enum Claimed {
    /// It has a place now.
    New,
    /// Somebody else has given it one.
    There,
    /// Another segment takes over.
    Retired,
    /// All of its places are taken.
    Full,
}

impl Segment {
    pub(super) fn new(lines: usize, now: Timestamp) -> Self {
        let stash = lines.div_ceil(LINES_PER_STASH);
        Self {
            lines: (0..lines + stash).map(|_| Line::default()).collect(),
            stash,
            stashed: AtomicU64::new(0),
            occupied: AtomicUsize::new(0),
            retired: AtomicBool::new(false),
            swept_us: AtomicU64::new(now.as_micros()),
        }
    }

    /// How many lines it has, without the stash.
    pub(super) fn main_lines(&self) -> usize {
        self.lines.len() - self.stash
    }

    pub(super) fn slots(&self) -> usize {
        self.lines.len() * SLOTS_PER_LINE
    }

    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.lines.len() * size_of::<Line>()
    }

    pub(super) fn occupied(&self) -> usize {
        self.occupied.load(Ordering::Relaxed)
    }

    /// Whether it is that very segment.
    pub(super) fn is(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }

    pub(super) fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Acquire)
    }

    pub(super) fn slot(&self, place: Place) -> &Slot {
        &self.lines[place.line as usize].0[place.slot as usize]
    }

    /// Where a counter stands.
    pub(super) fn find(&self, hash: Hash) -> Option<Place> {
        let [first, second] = self.candidates(hash);
        self.find_in(first, hash).or_else(|| self.find_in(second, hash)).or_else(|| self.find_stashed(hash))
    }

    /// Reads the line where a counter most likely stands, so that it is on its way from memory.
    pub(super) fn touch(&self, hash: Hash) -> bool {
        let [first, _] = self.candidates(hash);
        self.lines[first].0[0].is_free()
    }

    /// Finds a free place for a new counter, one that has emptied if need be. Whoever gives places to counters of one line
    /// holds the lock bit of the line's first slot meanwhile, so that no counter gets two.
    pub(super) fn claim(
        &self,
        content: Content,
        registry: &Registry,
        (now, pinned): (Timestamp, &[Hash]),
    ) -> Claimed {
        let [first, second] = self.candidates(content.hash);
        let gate = &self.lines[first].0[0];
        if !gate.lock(|| self.is_retired()) {
            return Claimed::Retired;
        }
        let gate_is_free = gate.held().is_none();
        let claimed = if self.is_retired() {
            Claimed::Retired
        } else if self.find(content.hash).is_some() {
            Claimed::There
        } else if gate_is_free {
            gate.unlock_with(content);
            self.occupied.fetch_add(1, Ordering::Relaxed);
            return Claimed::New;
        } else {
            self.claim_elsewhere(content, [first, second], (registry, now, pinned))
        };
        gate.unlock();
        claimed
    }

    /// The counters with a chance to be dropped for a new one: those in its two lines and in the stash.
    pub(super) fn rivals(&self, hash: Hash) -> impl Iterator<Item = Place> {
        let [first, second] = self.candidates(hash);
        let lines = [first, second].into_iter().chain(self.main_lines()..self.lines.len());
        lines.flat_map(places_of)
    }

    /// A free place at its slot: one less.
    pub(super) fn one_less(&self) {
        self.occupied.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether it is time to sweep: once in an hour somebody is told so.
    pub(super) fn is_due(&self, now: Timestamp) -> Option<u64> {
        let (swept_us, now_us) = (self.swept_us.load(Ordering::Relaxed), now.as_micros());
        let since_us = now_us.saturating_sub(swept_us);
        let is_ahead = swept_us > now_us.saturating_add(Packing::SWEEP_US);
        (since_us >= Packing::SWEEP_US || is_ahead).then_some(since_us)
    }

    /// Frees the places of counters that have emptied.
    pub(super) fn sweep(&self, registry: &Registry, now: Timestamp) {
        self.swept_us.store(now.as_micros(), Ordering::Relaxed);
        for slot in self.lines.iter().flat_map(|line| &line.0) {
            if slot.is_free() || !slot.try_lock() {
                continue;
            }
            match slot.held() {
                Some(content) if !self.is_retired() && registry.is_empty(content, now, 0) => {
                    slot.unlock_free();
                    self.one_less();
                }
                _ => slot.unlock(),
            }
        }
    }

    /// Ends its life and gives all that it held to `take`, except what has emptied. From the first moment on nobody changes
    /// it any more: whoever takes a lock bit looks whether it is retired. `false` if somebody else has retired it.
    pub(super) fn retire(&self, registry: &Registry, now: Timestamp, mut take: impl FnMut(Content)) -> bool {
        let untouched_us = now
            .as_micros()
            .saturating_sub(self.swept_us.load(Ordering::Relaxed))
            .saturating_sub(Packing::SWEEP_US);
        if self.retired.swap(true, Ordering::AcqRel) {
            return false;
        }
        for slot in self.lines.iter().flat_map(|line| &line.0) {
            // Who holds it took it before this was retired, and lets go soon. It stays locked.
            slot.lock(|| false);
            if let Some(content) = slot.held().filter(|held| !registry.is_empty(*held, now, untouched_us)) {
                take(content);
            }
        }
        true
    }

    /// Gives a counter a place in a segment that nobody else can see yet; `false` if all of its places are taken.
    pub(super) fn put(&mut self, content: Content) -> bool {
        let [first, second] = self.candidates(content.hash);
        let main = self.main_lines();
        for line in [first, second].into_iter().chain(main..self.lines.len()) {
            if let Some(slot) = self.lines[line].0.iter_mut().find_map(|slot| slot.is_unset().then_some(slot))
            {
                slot.set(content);
                self.occupied.fetch_add(1, Ordering::Relaxed);
                if line >= main {
                    self.stashed.fetch_or(stash_bit(content.hash), Ordering::Relaxed);
                }
                return true;
            }
        }
        false
    }

    fn claim_elsewhere(
        &self,
        content: Content,
        [first, second]: [usize; 2],
        (registry, now, pinned): (&Registry, Timestamp, &[Hash]),
    ) -> Claimed {
        let main = self.main_lines();
        for line in [first, second].into_iter().chain(main..self.lines.len()) {
            let is_stash = line >= main;
            for slot in &self.lines[line].0 {
                if slot.claim() {
                    self.occupied.fetch_add(1, Ordering::Relaxed);
                } else if !take_emptied(slot, (registry, now, pinned)) {
                    continue;
                }
                if is_stash {
                    self.stashed.fetch_or(stash_bit(content.hash), Ordering::Release);
                }
                slot.unlock_with(content);
                return Claimed::New;
            }
        }
        Claimed::Full
    }

    /// The two lines of a counter.
    fn candidates(&self, hash: Hash) -> [usize; 2] {
        let lines = self.main_lines() as u64;
        let scaled = |bits: u64| usize::try_from(((bits & 0xffff_ffff) * lines) >> 32).unwrap_or(0);
        [scaled(hash.bits()), scaled(hash.bits().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32)]
    }

    fn find_in(&self, line: usize, hash: Hash) -> Option<Place> {
        let slot = self.lines[line].0.iter().position(|slot| slot.is_of(hash))?;
        Some(place(line, slot))
    }

    fn find_stashed(&self, hash: Hash) -> Option<Place> {
        if self.stashed.load(Ordering::Acquire) & stash_bit(hash) == 0 {
            return None;
        }
        (self.main_lines()..self.lines.len()).find_map(|line| self.find_in(line, hash))
    }
}

/// Takes the lock bit of a slot whose counter has emptied.
fn take_emptied(slot: &Slot, (registry, now, pinned): (&Registry, Timestamp, &[Hash])) -> bool {
    if !slot.try_lock() {
        return false;
    }
    let emptied = slot
        .held()
        .is_some_and(|content| !pinned.contains(&content.hash) && registry.is_empty(content, now, 0));
    if !emptied {
        slot.unlock();
    }
    emptied
}

fn stash_bit(hash: Hash) -> u64 {
    1 << (hash.bits() >> 20 & 63)
}

fn places_of(line: usize) -> impl Iterator<Item = Place> {
    (0..SLOTS_PER_LINE).map(move |slot| place(line, slot))
}

fn place(line: usize, slot: usize) -> Place {
    let small = |number: usize| u32::try_from(number).expect("segments are small");
    Place { line: small(line), slot: small(slot) }
}

//! The limits of counters, by number: a slot names the limit that left its state, so that anybody can read it.

use std::collections::HashMap;
use std::hash::{Hash as _, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::sync::{OnceLock, PoisonError, RwLock};

use tidegate_core::{Limit, Packing, State, Timestamp};

use super::page::Width;
use super::slot::{Content, MAX_NUMBER};

const PER_BLOCK: usize = 256;
const BLOCKS: usize = (MAX_NUMBER as usize + 1) / PER_BLOCK;
/// Places for the numbers of limits that were asked for lately.
const RECENT: usize = 1024;

/// All limits that were ever packed, up to 32 767. Numbers are never given again.
pub(super) struct Registry {
    numbers: RwLock<Numbers>,
    /// Numbers by a few bits of their limits' hash, where they are found without a lock; 0 for none.
    recent: [AtomicU16; RECENT],
    blocks: [OnceLock<Box<[OnceLock<Registered>]>>; BLOCKS],
}

/// What is known by limits.
#[derive(Default)]
struct Numbers {
    of: HashMap<Limit, u16>,
    /// Which widths the limits of a share have: narrow, wide.
    widths: HashMap<u32, [bool; 2]>,
}

/// A limit and how its states are packed.
#[derive(Debug)]
pub(super) struct Registered {
    pub(super) number: u16,
    pub(super) limit: Limit,
    pub(super) packing: Packing,
    /// How many of its counters were dropped while they counted.
    pub(super) evicted: AtomicU64,
    /// Whether its counters may stand among those of the other width, because limits of its share have both.
    has_both_widths: AtomicBool,
}

impl Default for Registry {
    fn default() -> Self {
        Self {
            numbers: RwLock::default(),
            recent: [const { AtomicU16::new(0) }; RECENT],
            blocks: [const { OnceLock::new() }; BLOCKS],
        }
    }
}

impl Registry {
    /// The entry of a limit, which it gets now if it has none; `None` if its states are not packed, or there is no number
    /// left.
    pub(super) fn enter(&self, limit: &Limit) -> Option<&Registered> {
        let limit = &limit.without_bounds();
        let recent = &self.recent[Mix::of(limit) % RECENT];
        let found = self.get(recent.load(Ordering::Relaxed)).filter(|entry| entry.limit == *limit);
        if found.is_some() {
            return found;
        }
        let entry = self.enter_slowly(limit)?;
        recent.store(entry.number, Ordering::Relaxed);
        Some(entry)
    }

    fn enter_slowly(&self, limit: &Limit) -> Option<&Registered> {
        let packing = Packing::of(limit)?;
        let known = self.numbers.read().unwrap_or_else(PoisonError::into_inner).of.get(limit).copied();
        if let Some(number) = known {
            return self.get(number);
        }
        let mut numbers = self.numbers.write().unwrap_or_else(PoisonError::into_inner);
        let next = u16::try_from(numbers.of.len() + 1).ok().filter(|number| *number <= MAX_NUMBER)?;
        let has_both = self.note_width(&mut numbers, limit.share(), packing);
        let number = *numbers.of.entry(*limit).or_insert(next);
        let (block, place) = Self::place(number);
        let block = self.blocks[block].get_or_init(|| (0..PER_BLOCK).map(|_| OnceLock::new()).collect());
        Some(block[place].get_or_init(|| Registered {
            number,
            limit: *limit,
            packing,
            evicted: AtomicU64::new(0),
            has_both_widths: AtomicBool::new(has_both),
        }))
    }

    /// Whether the limits of a share have both widths, with this one. Whoever counts by one of the others is told before the first
    /// counter of the other width is there.
    fn note_width(&self, numbers: &mut Numbers, share: u32, packing: Packing) -> bool {
        let widths = numbers.widths.entry(share).or_default();
        let had_both = *widths == [true; 2];
        widths[usize::from(packing.is_wide())] = true;
        let has_both = *widths == [true; 2];
        if has_both && !had_both {
            let same = numbers.of.iter().filter(|(limit, _)| limit.share() == share);
            for entry in same.filter_map(|(_, number)| self.get(*number)) {
                entry.has_both_widths.store(true, Ordering::Release);
            }
        }
        has_both
    }

    /// How many counters of each share were dropped while they counted.
    pub(super) fn evicted(&self) -> HashMap<u32, u64> {
        let entered = self.numbers.read().unwrap_or_else(PoisonError::into_inner);
        let mut evicted = HashMap::new();
        for entry in entered.of.values().filter_map(|number| self.get(*number)) {
            *evicted.entry(entry.limit.share()).or_insert(0) += entry.evicted.load(Ordering::Relaxed);
        }
        evicted
    }

    #[inline]
    pub(super) fn get(&self, number: u16) -> Option<&Registered> {
        let (block, place) = Self::place(number);
        self.blocks[block].get()?[place].get()
    }

    /// The state in a slot; an empty one if nobody knows its limit, which cannot be.
    pub(super) fn state(&self, content: Content, now: Timestamp) -> State {
        self.get(content.number()).map_or(State::EMPTY, |entry| entry.state(content, now))
    }

    /// Whether nothing in the slot counts any more. `untouched_us` is for how long it was certainly not written.
    pub(super) fn is_empty(&self, content: Content, now: Timestamp, untouched_us: u64) -> bool {
        let Some(entry) = self.get(content.number()) else { return true };
        untouched_us >= entry.packing.life_us() || entry.packing.is_spent(&entry.limit, content.packed(), now)
    }

    const fn place(number: u16) -> (usize, usize) {
        (number as usize / PER_BLOCK % BLOCKS, number as usize % PER_BLOCK)
    }
}

/// A hash that is quick and no more: whoever makes others meet in one place makes them take a lock.
#[derive(Default)]
struct Mix(u64);

impl Mix {
    fn of(limit: &Limit) -> usize {
        let mut mix = Self::default();
        limit.hash(&mut mix);
        usize::try_from(mix.finish()).unwrap_or(0)
    }
}

impl Hasher for Mix {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_isize(&mut self, number: isize) {
        self.write_u64(number.cast_unsigned() as u64);
    }

    fn finish(&self) -> u64 {
        self.0 >> 40
    }
}

impl Registered {
    /// How wide the slots of its counters are.
    #[inline]
    pub(super) const fn width(&self) -> Width {
        if self.packing.is_wide() { Width::Wide } else { Width::Narrow }
    }

    /// Whether its counters may stand among those of the other width: limits of one share may follow each other on a counter.
    #[inline]
    pub(super) fn has_both_widths(&self) -> bool {
        self.has_both_widths.load(Ordering::Acquire)
    }

    pub(super) fn state(&self, content: Content, now: Timestamp) -> State {
        self.packing.unpack(&self.limit, content.packed(), now)
    }
}

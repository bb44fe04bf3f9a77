//! What the store last said of counters: a small memory that forgets when it is full.

use std::hash::{BuildHasher, RandomState};
use std::sync::Mutex;

use tidegate_core::{Algorithm, KeyRef, Limit, Timestamp, Verdict};

use crate::locked;

const SHARDS: usize = 16;
const PER_SHARD: usize = 4_096;
/// Places where a counter may stand.
const PER_KEY: usize = 4;

/// The last word on up to 65 536 counters; of those where a new one may stand, the oldest makes room.
pub(super) struct Known {
    hasher: RandomState,
    shards: [Mutex<Box<[Option<Entry>]>>; SHARDS],
}

/// A counter as the store had it.
#[derive(Clone, Copy)]
struct Entry {
    hash: u64,
    word: Word,
}

/// What was used of how much, and until when that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word {
    used: u64,
    limit: u64,
    at: Timestamp,
    reset_after_us: u64,
    /// Whether it lessens by and by; a fixed window counts all until its end.
    drains: bool,
}

/// A part of a limit that is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Used {
    units: u64,
    of: u64,
}

impl Default for Known {
    fn default() -> Self {
        let shard = |_| Mutex::new(vec![None; PER_SHARD].into_boxed_slice());
        Self { hasher: RandomState::new(), shards: std::array::from_fn(shard) }
    }
}

impl Known {
    /// Remembers what was said.
    pub(super) fn put(&self, key: KeyRef<'_>, limit: &Limit, verdict: &Verdict, at: Timestamp) {
        let word = Word::new(limit, verdict, at);
        self.with(key, |places, hash| {
            let is_there = |place: &Option<Entry>| place.is_some_and(|entry| entry.hash == hash);
            let place = match places.iter().position(is_there) {
                Some(place) => places.get_mut(place),
                None => places.iter_mut().min_by_key(|place| place.map(|entry| entry.word.at)),
            };
            if let Some(place) = place {
                *place = Some(Entry { hash, word });
            }
        });
    }

    /// What was said last, which is not known any more then.
    pub(super) fn take(&self, key: KeyRef<'_>) -> Option<Word> {
        self.with(key, |places, hash| {
            let taken = places.iter_mut().find_map(|place| place.take_if(|entry| entry.hash == hash));
            taken.map(|entry| entry.word)
        })
    }

    /// Forgets all; how much there was.
    pub(super) fn purge(&self) -> usize {
        let purge =
            |shard: &Mutex<Box<[Option<Entry>]>>| locked(shard).iter_mut().filter_map(Option::take).count();
        self.shards.iter().map(purge).sum()
    }

    fn with<T>(&self, key: KeyRef<'_>, act: impl FnOnce(&mut [Option<Entry>], u64) -> T) -> T {
        let hash = self.hasher.hash_one(key.bytes());
        let [low, high, higher, ..] = hash.to_le_bytes().map(usize::from);
        let (shard, first) = (low % SHARDS, (higher * 256 + high) * PER_KEY % PER_SHARD);
        act(&mut locked(&self.shards[shard])[first..first + PER_KEY], hash)
    }
}

impl Word {
    /// What a verdict says of a counter.
    pub(super) fn new(limit: &Limit, verdict: &Verdict, at: Timestamp) -> Self {
        Self {
            used: verdict.limit.saturating_sub(verdict.remaining),
            limit: verdict.limit,
            at,
            reset_after_us: verdict.reset_after_us,
            drains: limit.algorithm() != Algorithm::FixedWindow,
        }
    }

    /// What of it counts at that instant.
    pub(super) fn used_at(self, now: Timestamp) -> Used {
        let left_us = self.reset_after_us.saturating_sub(now.since(self.at));
        let units = if self.drains {
            let share = u128::from(self.used) * u128::from(left_us);
            u64::try_from(share.div_ceil(u128::from(self.reset_after_us.max(1)))).unwrap_or(u64::MAX)
        } else if left_us > 0 {
            self.used
        } else {
            0
        };
        Used { units, of: self.limit }
    }

    /// Whether less of it counts at that instant than of another.
    pub(super) fn says_less_than(self, other: Self, now: Timestamp) -> bool {
        // What counts only lessens: mostly there is nothing to work out.
        self.used < other.used && self.used_at(now).units < other.used_at(now).units
    }

    /// The used part of the limit at that instant, in thousandths.
    pub(super) fn share_at(self, now: Timestamp) -> u64 {
        self.used_at(now).share_of(1000)
    }
}

impl Used {
    pub(super) const fn units(self) -> u64 {
        self.units
    }

    /// The same share of another amount, rounded up; never more than all of it.
    pub(super) fn share_of(self, amount: u64) -> u64 {
        let units = (u128::from(self.units) * u128::from(amount)).div_ceil(u128::from(self.of.max(1)));
        u64::try_from(units).unwrap_or(u64::MAX).min(amount)
    }
}

//! What the store last said of counters with long windows, with their keys: if it loses them, it can be told again.

use std::hash::{BuildHasher, RandomState};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use tidegate_core::{KeyBuf, KeyRef, Limit, Timestamp, Verdict};

use super::known::Word;
use crate::locked;

/// Windows from here on are long: an hour.
const LONG_US: u64 = 3_600_000_000;

const SHARDS: usize = 16;
const PER_SHARD: usize = 4_096;

/// Up to 65 536 counters; one that has used less of its limit makes room.
pub(super) struct Long {
    hasher: RandomState,
    shards: [Mutex<Box<[Option<Entry>]>>; SHARDS],
    /// Counts how often it was certain that nothing was lost.
    generation: AtomicU64,
}

struct Entry {
    key: KeyBuf,
    limit: Limit,
    last: Word,
    /// What was said before the present generation began, if anything was said since: what comes later may be about a
    /// counter that began anew.
    before: Option<Word>,
    generation: u64,
}

/// A counter that was lost.
pub(super) struct Lost {
    pub(super) key: KeyBuf,
    pub(super) limit: Limit,
    pub(super) units: u64,
}

impl Default for Long {
    fn default() -> Self {
        let shard = |_| Mutex::new((0..PER_SHARD).map(|_| None).collect());
        Self { hasher: RandomState::new(), shards: std::array::from_fn(shard), generation: AtomicU64::new(0) }
    }
}

impl Long {
    /// Remembers what was said, if the window is long.
    pub(super) fn put(&self, key: KeyRef<'_>, limit: &Limit, verdict: &Verdict, now: Timestamp) {
        if limit.window_us().is_none_or(|window_us| window_us < LONG_US) {
            return;
        }
        let (last, generation) = (Word::new(limit, verdict, now), self.generation.load(Ordering::Acquire));
        let hash = self.hasher.hash_one(key.bytes()).to_le_bytes().map(usize::from);
        let place = (hash[1] * 256 + hash[2]) % PER_SHARD;
        let entry = &mut locked(&self.shards[hash[0] % SHARDS])[place];
        match entry {
            Some(old) if old.key.as_ref() == key => {
                if old.generation != generation {
                    (old.before, old.generation) = (Some(old.last), generation);
                }
                (old.last, old.limit) = (last, *limit);
            }
            Some(old) if old.last.share_at(now) > last.share_at(now) => {}
            _ => *entry = Some(Entry { key: key.into(), limit: *limit, last, before: None, generation }),
        }
    }

    /// It is certain that nothing was lost until now.
    pub(super) fn confirm(&self) {
        self.generation.fetch_add(1, Ordering::AcqRel);
    }

    /// What counted before it was lost, as far as it counts now.
    pub(super) fn lost(&self, now: Timestamp) -> Vec<Lost> {
        let generation = self.generation.load(Ordering::Acquire);
        let mut lost = Vec::new();
        for shard in &self.shards {
            for entry in locked(shard).iter().flatten() {
                let word = entry.before.filter(|_| entry.generation == generation);
                let began_since = word.is_none() && entry.generation == generation && generation > 0;
                let units = if began_since { 0 } else { word.unwrap_or(entry.last).used_at(now).units() };
                if units > 0 {
                    lost.push(Lost { key: entry.key.clone(), limit: entry.limit, units });
                }
            }
        }
        lost.sort_unstable_by_key(|one| std::cmp::Reverse(one.units));
        lost
    }

    /// Forgets all; how many there were.
    pub(super) fn purge(&self) -> usize {
        self.shards.iter().map(|shard| locked(shard).iter_mut().filter_map(Option::take).count()).sum()
    }
}

//! What the store last said of counters with long windows, with their keys: if it loses them, it can be told again.

use std::hash::{BuildHasher, RandomState};
use std::sync::Mutex;

use tidegate_core::{KeyBuf, KeyRef, Limit, Timestamp, Verdict};

use super::known::Word;
use crate::locked;

/// Windows from here on are long: an hour.
const LONG_US: u64 = 3_600_000_000;

/// How long a word is kept beside a later one that says less. That one may be about a counter that began anew, and a loss is
/// noticed within a few seconds; if none is, units were given back.
const DOUBT_US: u64 = 10_000_000;

const SHARDS: usize = 16;
const PER_SHARD: usize = 4_096;
/// Places where a counter may stand: while few are taken, all of one counter's being taken is out of the question.
const PER_KEY: usize = 8;

/// Up to 65 536 counters; of those where one may stand, the one that has used the least of its limit makes room.
pub(super) struct Long {
    hasher: RandomState,
    shards: [Mutex<Box<[Option<Entry>]>>; SHARDS],
}

struct Entry {
    key: KeyBuf,
    limit: Limit,
    last: Word,
    doubt: Option<Doubt>,
}

/// What was said before a word that said less, and when that one came.
#[derive(Clone, Copy)]
struct Doubt {
    before: Word,
    since: Timestamp,
}

/// A counter that was lost, as it was last known.
pub(super) struct Lost {
    pub(super) key: KeyBuf,
    pub(super) limit: Limit,
    pub(super) word: Word,
}

impl Default for Long {
    fn default() -> Self {
        let shard = |_| Mutex::new((0..PER_SHARD).map(|_| None).collect());
        Self { hasher: RandomState::new(), shards: std::array::from_fn(shard) }
    }
}

impl Long {
    /// Remembers what was said, if the window is long.
    pub(super) fn put(&self, key: KeyRef<'_>, limit: &Limit, verdict: &Verdict, now: Timestamp) {
        if limit.window_us().is_none_or(|window_us| window_us < LONG_US) {
            return;
        }
        let last = Word::new(limit, verdict, now);
        self.with(key, |places| {
            if let Some(old) = places.iter_mut().flatten().find(|old| old.key.as_ref() == key) {
                return old.hear(*limit, last, now);
            }
            let share = |place: &&mut Option<Entry>| place.as_ref().map(|old| old.last.share_at(now));
            let Some(place) = places.iter_mut().min_by_key(share) else { return };
            if share(&place) <= Some(last.share_at(now)) {
                *place = Some(Entry { key: key.into(), limit: *limit, last, doubt: None });
            }
        });
    }

    /// What still counts now of all that is remembered.
    pub(super) fn all(&self, now: Timestamp) -> Vec<Lost> {
        let mut all = Vec::new();
        for shard in &self.shards {
            all.extend(locked(shard).iter().flatten().filter_map(|entry| entry.counting(now)));
        }
        all
    }

    pub(super) fn forget(&self, key: KeyRef<'_>) {
        self.with(key, |places| {
            for place in places {
                drop(place.take_if(|entry| entry.key.as_ref() == key));
            }
        });
    }

    /// Forgets all; how many there were.
    pub(super) fn purge(&self) -> usize {
        self.shards.iter().map(|shard| locked(shard).iter_mut().filter_map(Option::take).count()).sum()
    }

    fn with<T>(&self, key: KeyRef<'_>, act: impl FnOnce(&mut [Option<Entry>]) -> T) -> T {
        let hash = self.hasher.hash_one(key.bytes()).to_le_bytes().map(usize::from);
        let first = (hash[1] * 256 + hash[2]) * PER_KEY % PER_SHARD;
        act(&mut locked(&self.shards[hash[0] % SHARDS])[first..first + PER_KEY])
    }
}

impl Entry {
    fn hear(&mut self, limit: Limit, word: Word, now: Timestamp) {
        if self.doubted(now).is_none() {
            let doubt = Doubt { before: self.last, since: now };
            self.doubt = word.says_less_than(self.last, now).then_some(doubt);
        }
        (self.last, self.limit) = (word, limit);
    }

    /// What was said before the last word, while it is not certain which of them is about the whole counter.
    fn doubted(&self, now: Timestamp) -> Option<Word> {
        self.doubt.filter(|doubt| now.since(doubt.since) < DOUBT_US).map(|doubt| doubt.before)
    }

    /// The word that says most now, if it still says anything.
    fn counting(&self, now: Timestamp) -> Option<Lost> {
        let word = self.doubted(now).filter(|before| self.last.says_less_than(*before, now));
        let word = word.unwrap_or(self.last);
        let counts = word.used_at(now).units() > 0;
        counts.then(|| Lost { key: self.key.clone(), limit: self.limit, word })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tidegate_core::{Key, Outcome, State, Window};

    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_790_000_000_000_000);

    fn used(limit: &Limit, units: u64) -> Verdict {
        let mut state = State::EMPTY;
        limit.step(&mut state, NOW, units).unwrap();
        limit.verdict(&state, NOW, Outcome::Allowed)
    }

    #[test]
    fn none_makes_room_while_there_is_plenty_and_then_the_least_used() {
        let limit = Limit::fixed_window(100, Window::Aligned(Duration::from_secs(86_400))).unwrap();
        let (long, little, much) = (Long::default(), used(&limit, 1), used(&limit, 99));
        let put = |numbers: std::ops::Range<u32>, verdict: &Verdict| {
            for number in numbers {
                let key = Key { home: &[&number.to_be_bytes()], own: &[] }.encode().unwrap();
                long.put(key.as_ref(), &limit, verdict, NOW);
            }
        };
        put(0..2_000, &much);
        assert_eq!(long.all(NOW).len(), 2_000);
        put(2_000..500_000, &little);
        let all = long.all(NOW);
        assert_eq!(all.len(), SHARDS * PER_SHARD);
        assert_eq!(all.iter().filter(|lost| lost.word.used_at(NOW).units() == 99).count(), 2_000);
    }
}

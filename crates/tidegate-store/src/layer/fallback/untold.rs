//! Counters that the store has lost and is to be told again, the most used first.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use indexmap::IndexMap;
use tidegate_core::{KeyBuf, KeyRef, Limit, Timestamp};

use super::known::Word;
use super::long::Lost;
use crate::locked;

/// The most counters that wait at once; of more, those that have used the least are left out.
const MOST: usize = 65_536;

/// Mostly there are none, and then nobody waits to see that.
#[derive(Default)]
pub(super) struct Untold {
    waiting: Mutex<Waiting>,
    len: AtomicUsize,
}

#[derive(Default)]
struct Waiting {
    /// The most used last; what was taken out of turn leaves its place empty.
    next: IndexMap<KeyBuf, Option<Told>>,
    /// How many places are empty.
    empty: usize,
    /// Those that could not be told, for when the others were.
    later: IndexMap<KeyBuf, Told>,
}

/// What is to be told of a counter.
#[derive(Clone, Copy)]
struct Told {
    limit: Limit,
    word: Word,
}

impl Untold {
    pub(super) fn len(&self) -> usize {
        self.len.load(Ordering::Acquire)
    }

    /// Adds what was lost. Of a counter that still waits since an earlier loss, the word that says most is told.
    pub(super) fn add(&self, lost: Vec<Lost>, now: Timestamp) {
        self.with(|waiting| {
            let mut all = waiting.drain();
            for Lost { key, limit, word } in lost {
                let told = Told { limit, word };
                let known = all.entry(key).or_insert(told);
                if known.word.says_less_than(word, now) {
                    *known = told;
                }
            }
            let mut all: Vec<(KeyBuf, Told)> = all.into_iter().collect();
            all.sort_by_cached_key(|(_, told)| told.word.used_at(now).units());
            let surplus = all.len().saturating_sub(MOST);
            waiting.next = all.into_iter().skip(surplus).map(|(key, told)| (key, Some(told))).collect();
        });
    }

    /// Takes the most used one.
    pub(super) fn next(&self) -> Option<Lost> {
        if self.len() == 0 {
            return None;
        }
        self.with(Waiting::pop)
    }

    /// Takes that one, if it waits.
    pub(super) fn take(&self, key: KeyRef<'_>) -> Option<Lost> {
        if self.len() == 0 {
            return None;
        }
        let key = KeyBuf::from(key);
        let told = self.with(|waiting| {
            let early = waiting.next.get_mut(&key).and_then(Option::take);
            waiting.empty += usize::from(early.is_some());
            early.or_else(|| waiting.later.swap_remove(&key))
        });
        told.map(|told| told.of(key))
    }

    /// Lets the others go first.
    pub(super) fn put_off(&self, lost: Lost) {
        self.with(|waiting| waiting.later.insert(lost.key, Told { limit: lost.limit, word: lost.word }));
    }

    /// Forgets all; how many there were.
    pub(super) fn purge(&self) -> usize {
        self.with(|waiting| waiting.drain().len())
    }

    fn with<T>(&self, act: impl FnOnce(&mut Waiting) -> T) -> T {
        let mut waiting = locked(&self.waiting);
        let result = act(&mut waiting);
        let len = waiting.next.len() - waiting.empty + waiting.later.len();
        self.len.store(len, Ordering::Release);
        result
    }
}

impl Waiting {
    fn pop(&mut self) -> Option<Lost> {
        loop {
            if self.next.is_empty() {
                let later = std::mem::take(&mut self.later);
                self.next = later.into_iter().rev().map(|(key, told)| (key, Some(told))).collect();
            }
            let (key, told) = self.next.pop()?;
            match told {
                Some(told) => return Some(told.of(key)),
                None => self.empty -= 1,
            }
        }
    }

    fn drain(&mut self) -> HashMap<KeyBuf, Told> {
        self.empty = 0;
        let early = self.next.drain(..).filter_map(|(key, told)| Some((key, told?)));
        early.chain(self.later.drain(..)).collect()
    }
}

impl Told {
    fn of(self, key: KeyBuf) -> Lost {
        Lost { key, limit: self.limit, word: self.word }
    }
}

//! A map within a budget of bytes: find by hash, insert, and make room for the next.

use std::hash::BuildHasherDefault;
use std::sync::atomic::{AtomicUsize, Ordering};

use indexmap::IndexMap;
use indexmap::map::RawEntryApiV1;
use indexmap::map::raw_entry_v1::RawEntryMut;
use tidegate_core::Timestamp;

/// How many entries are looked at to find one that may go.
const CANDIDATES: usize = 16;

/// Entries looked at for each one inserted, to drop those that have emptied: more than one, so that the sweep gains.
const SWEPT_PER_INSERT: usize = 2;

/// Below this many places a table is not worth shrinking.
const SMALL: usize = 1024;

/// What a table needs to know of its values.
pub(super) trait Held {
    /// From when on it can be dropped without loss.
    fn empty_at(&self) -> Timestamp;
    /// Memory it holds beyond its own size.
    fn heap_bytes(&self) -> usize;
}

/// So many bytes for all tables of one kind together.
pub(super) struct Budget {
    cap_bytes: usize,
    used_bytes: AtomicUsize,
}

impl Budget {
    pub(super) const fn of(cap_bytes: usize) -> Self {
        Self { cap_bytes, used_bytes: AtomicUsize::new(0) }
    }

    pub(super) fn is_exceeded(&self) -> bool {
        self.used_bytes.load(Ordering::Relaxed) > self.cap_bytes
    }

    fn has_room_for(&self, bytes: usize) -> bool {
        self.used_bytes.load(Ordering::Relaxed).saturating_add(bytes) <= self.cap_bytes
    }

    pub(super) fn change(&self, before: usize, after: usize) {
        if after >= before {
            self.used_bytes.fetch_add(after - before, Ordering::Relaxed);
        } else {
            self.used_bytes.fetch_sub(before - after, Ordering::Relaxed);
        }
    }
}

/// Values under encoded keys. Hashes come from outside, computed once per step with the store's secret.
pub(super) struct Table<V> {
    map: IndexMap<Box<[u8]>, V, BuildHasherDefault<NoHasher>>,
    heap_bytes: usize,
    /// What the budget was last told of, and whether that may have changed.
    reported_bytes: usize,
    resized: bool,
    hand: usize,
    unswept: usize,
    evicted: u64,
}

impl<V: Held> Table<V> {
    pub(super) fn new() -> Self {
        Self {
            map: IndexMap::default(),
            heap_bytes: 0,
            reported_bytes: 0,
            resized: false,
            hand: 0,
            unswept: 0,
            evicted: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.map.len()
    }

    pub(super) fn evicted(&self) -> u64 {
        self.evicted
    }

    pub(super) fn bytes(&self) -> usize {
        Self::places_bytes(self.map.capacity()) + self.heap_bytes
    }

    /// The place of a key. It stays valid until something is removed.
    pub(super) fn find(&self, hash: u64, key: &[u8]) -> Option<usize> {
        self.map.raw_entry_v1().index_from_hash(hash, |other| **other == *key)
    }

    pub(super) fn get(&self, place: usize) -> Option<&V> {
        self.map.get_index(place).map(|(_, value)| value)
    }

    /// The key and the value at a place.
    pub(super) fn entry(&self, place: usize) -> Option<(&[u8], &V)> {
        self.map.get_index(place).map(|(key, value)| (&**key, value))
    }

    /// Changes the value at a place and keeps account of its memory.
    pub(super) fn change<T>(&mut self, place: usize, change: impl FnOnce(&mut V) -> T) -> Option<T> {
        let (_, value) = self.map.get_index_mut(place)?;
        let before = value.heap_bytes();
        let result = change(value);
        let after = value.heap_bytes();
        if after != before {
            self.heap_bytes = (self.heap_bytes + after).saturating_sub(before);
            self.resized = true;
        }
        Some(result)
    }

    /// Puts a value under a key, in place of what was there; its place.
    pub(super) fn insert(&mut self, hash: u64, key: &[u8], value: V) -> usize {
        if let Some(place) = self.find(hash, key) {
            self.change(place, |old| *old = value);
            return place;
        }
        self.heap_bytes += key.len() + value.heap_bytes();
        self.unswept += SWEPT_PER_INSERT;
        self.resized = true;
        if let RawEntryMut::Vacant(place) = self.map.raw_entry_mut_v1().from_hash(hash, |_| false) {
            place.insert_hashed_nocheck(hash, key.into(), value);
        }
        self.map.len() - 1
    }

    pub(super) fn remove(&mut self, hash: u64, key: &[u8]) -> bool {
        self.find(hash, key).is_some_and(|place| self.drop_at(place))
    }

    /// Makes sure that `more` entries fit, in places that are there or that the budget has room for. Keys that `pinned`
    /// holds stay.
    pub(super) fn make_room(
        &mut self,
        more: usize,
        now: Timestamp,
        budget: &Budget,
        pinned: impl Fn(&[u8]) -> bool,
    ) {
        let (places, wanted) = (self.map.capacity(), self.map.len() + more);
        if wanted <= places
            || budget.has_room_for(Self::places_bytes(places * 2 + more) - Self::places_bytes(places))
        {
            return;
        }
        while self.map.len() + more > places && self.evict_one(now, &pinned) {}
        self.report(budget);
    }

    /// Drops a few entries that have emptied, and more while the budget is exceeded. Keys that `pinned` holds stay.
    pub(super) fn keep_within(&mut self, budget: &Budget, now: Timestamp, pinned: impl Fn(&[u8]) -> bool) {
        if !self.resized && !budget.is_exceeded() {
            return;
        }
        for _ in 0..std::mem::take(&mut self.unswept) {
            self.advance_hand();
            if self.get(self.hand).is_some_and(|value| value.empty_at() <= now) {
                self.drop_at(self.hand);
            }
        }
        self.report(budget);
        while budget.is_exceeded() && self.evict_one(now, &pinned) {
            self.report(budget);
        }
    }

    /// Drops up to so many entries while the budget is exceeded; whether any was dropped.
    pub(super) fn drop_some(
        &mut self,
        budget: &Budget,
        now: Timestamp,
        pinned: impl Fn(&[u8]) -> bool,
    ) -> bool {
        let before = self.len();
        for _ in 0..CANDIDATES {
            if !budget.is_exceeded() || !self.evict_one(now, &pinned) {
                break;
            }
            self.report(budget);
        }
        self.len() < before
    }

    /// Gives back places that are not needed, and tells the budget what is held now.
    fn report(&mut self, budget: &Budget) {
        if self.map.capacity() > SMALL && self.map.len() < self.map.capacity() / 8 {
            self.map.shrink_to(self.map.len() * 2);
        }
        let bytes = self.bytes();
        budget.change(std::mem::replace(&mut self.reported_bytes, bytes), bytes);
        self.resized = false;
    }

    /// Drops the entry that matters least among a few: one that has emptied, or else the first to empty. False if there
    /// is none to drop.
    fn evict_one(&mut self, now: Timestamp, pinned: impl Fn(&[u8]) -> bool) -> bool {
        let mut victim: Option<(Timestamp, usize)> = None;
        for looked_at in 0..self.map.len() {
            if looked_at >= CANDIDATES && victim.is_some() {
                break;
            }
            self.advance_hand();
            let Some((key, value)) = self.map.get_index(self.hand) else { break };
            let candidate = (value.empty_at(), self.hand);
            if pinned(key) || victim.is_some_and(|victim| victim <= candidate) {
                continue;
            }
            victim = Some(candidate);
            if candidate.0 <= now {
                break;
            }
        }
        let Some((empty_at, place)) = victim else { return false };
        self.evicted += u64::from(empty_at > now);
        self.drop_at(place)
    }

    fn advance_hand(&mut self) {
        self.hand = if self.hand + 1 < self.map.len() { self.hand + 1 } else { 0 };
    }

    fn drop_at(&mut self, place: usize) -> bool {
        let Some((key, value)) = self.map.swap_remove_index(place) else { return false };
        self.heap_bytes = self.heap_bytes.saturating_sub(key.len() + value.heap_bytes());
        self.resized = true;
        true
    }

    /// What so many places cost: the entry (hash, key, value), and its share of an index that is 7/8 full at most.
    fn places_bytes(places: usize) -> usize {
        let entry = size_of::<u64>() + size_of::<Box<[u8]>>() + size_of::<V>();
        places * entry + (places * 8 / 7).next_power_of_two() * (size_of::<usize>() + 1)
    }
}

/// Never asked: every hash comes from outside.
#[derive(Default)]
pub(super) struct NoHasher;

impl std::hash::Hasher for NoHasher {
    fn finish(&self) -> u64 {
        0
    }

    fn write(&mut self, _: &[u8]) {}
}

#[cfg(test)]
mod tests;

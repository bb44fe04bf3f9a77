//! The whole table, counter by counter, for those that carry it elsewhere, and the way back.

use tidegate_core::Timestamp;

use super::{Claim, Content, Directory, Hash, Need, Registered, Sip13, SlotLookup, Table, Width, pause};

impl Table {
    /// An empty one that hashes under the key of another.
    pub(in super::super) fn with_key(cap_bytes: usize, key: [u64; 2]) -> Self {
        Self::new(cap_bytes, Sip13::new(key))
    }

    /// What its hashes are keyed with: a secret.
    pub(in super::super) fn key(&self) -> [u64; 2] {
        self.hasher.key()
    }

    /// The hash of a key's bytes.
    pub(in super::super) fn hash_of(&self, key: &[u8]) -> Hash {
        Hash::new(self.hasher.hash(key))
    }

    /// Gives all counters to `take`, a segment's at a time, while others decide. Each is as it was at some instant of the
    /// walk; who was split off meanwhile may come twice, and the later one is newer. No lock bit is held.
    pub(in super::super) fn walk<E>(
        &self,
        now: Timestamp,
        mut take: impl FnMut(&[Content]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut contents = Vec::new();
        for directory in [&self.narrow, &self.wide] {
            let mut index = 0;
            while index < directory.len() {
                self.copy(directory, index, (now, &mut contents));
                take(&contents)?;
                index += 1;
            }
        }
        Ok(())
    }

    /// What a segment holds: looked at until nobody has changed its pages meanwhile. It is swept first if it is time, so that
    /// no old time is taken for a new one.
    fn copy(&self, directory: &Directory, index: usize, (now, contents): (Timestamp, &mut Vec<Content>)) {
        let mut looks = 0;
        loop {
            let segment = directory.segment_at(index, &self.pool.lines);
            if segment.is_due(now) {
                self.tend(segment, now);
                continue;
            }
            contents.clear();
            contents.extend(segment.all_slots().filter_map(|slot| slot.look(|| !segment.is_current())));
            if segment.is_current() {
                return;
            }
            pause(&mut looks);
        }
    }

    /// How many segments there are, of each width.
    pub(in super::super) fn segments(&self) -> [usize; 2] {
        [self.narrow.len(), self.wide.len()]
    }

    /// Makes as many segments as another table had, if there is room for them. Counters that come as they were
    /// [walked](Self::walk) have the lower bits of their hashes in common: they would all go to one segment and fill it.
    pub(in super::super) fn prepare(&self, segments: [usize; 2], now: Timestamp) {
        for (directory, segments) in [&self.narrow, &self.wide].into_iter().zip(segments) {
            let segments = segments.min(directory.entries.len() / 2);
            while directory.len() < segments && self.split(directory, now) {}
        }
    }

    /// Gives a counter from elsewhere its place, or the one that it has, if need be that of another. `false` if there is none
    /// to be had.
    pub(in super::super) fn put(&self, content: Content, entry: &Registered, now: Timestamp) -> bool {
        let width = entry.width();
        let mut lookup = self.find(content.hash(), width, now);
        if lookup.is_found() && lookup.width() != width {
            free(&lookup);
            lookup = self.lookup(content.hash(), width, now);
        }
        let need = Need { share: entry.limit.share(), now, pinned: &[] };
        let has_place = lookup.is_found() || self.claim(&mut lookup, entry, need) == Claim::Made;
        let is_held = has_place && lookup.lock();
        if is_held {
            lookup.unlock_with(content);
        }
        is_held
    }

    /// Forgets a counter, if it is here.
    pub(in super::super) fn forget(&self, hash: Hash, now: Timestamp) {
        free(&self.find(hash, Width::Narrow, now));
    }
}

fn free(lookup: &SlotLookup<'_>) {
    if lookup.is_found() && lookup.lock() {
        lookup.unlock_free();
    }
}

//! Counters of an earlier process that are not for the table: logs, windows in many parts. Their keys were not written, only
//! hashes of them; so they wait here until somebody comes with a key that has that hash, and go to the others then.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use tidegate_core::{State, Timestamp};

use super::slot::Hash;
use crate::locked;

/// Enough that nobody waits long while one of them is copied.
const SHARDS: usize = 64;

/// Counters by their hashes, in that order; one that has gone is [empty](State::EMPTY).
type Shard = Vec<(u64, State)>;

/// Counters by their hashes.
pub(super) struct Carried {
    shards: Box<[Mutex<Shard>]>,
    /// How many there are: read without a lock, so that checks pay nothing once there are none.
    len: AtomicUsize,
    bytes: AtomicUsize,
}

/// Counters that are being read.
pub(super) struct Arriving {
    shards: Vec<Shard>,
    bytes: usize,
    cap_bytes: usize,
}

/// What a counter takes here.
pub(super) fn bytes_of(state: &State) -> usize {
    size_of::<(u64, State)>() + state.heap_bytes()
}

impl Arriving {
    pub(super) fn with_cap(cap_bytes: usize) -> Self {
        Self { shards: vec![Shard::new(); SHARDS], bytes: 0, cap_bytes }
    }

    /// Takes a counter in, if there is room for it.
    pub(super) fn push(&mut self, hash: Hash, state: State) -> bool {
        let has_room = self.bytes + bytes_of(&state) <= self.cap_bytes;
        if has_room {
            self.bytes += bytes_of(&state);
            self.shards[place(hash)].push((hash.bits(), state));
        }
        has_room
    }

    /// All of them; of those with one hash the one that came last.
    pub(super) fn finish(self) -> Carried {
        let ready = |mut shard: Shard| {
            shard.reverse();
            shard.sort_by_key(|(hash, _)| *hash);
            shard.dedup_by_key(|(hash, _)| *hash);
            shard.shrink_to_fit();
            shard
        };
        let shards: Vec<Shard> = self.shards.into_iter().map(ready).collect();
        let (len, bytes) = shards
            .iter()
            .flatten()
            .fold((0, 0), |(len, bytes), (_, state)| (len + 1, bytes + bytes_of(state)));
        Carried {
            shards: shards.into_iter().map(Mutex::new).collect(),
            len: AtomicUsize::new(len),
            bytes: AtomicUsize::new(bytes),
        }
    }
}

impl Carried {
    /// None.
    pub(super) fn none() -> Self {
        Arriving::with_cap(0).finish()
    }

    pub(super) fn len(&self) -> usize {
        self.len.load(Ordering::Acquire)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    pub(super) fn holds(&self, hash: impl FnOnce() -> Hash) -> bool {
        !self.is_empty() && {
            let hash = hash();
            let shard = locked(&self.shards[place(hash)]);
            find(&shard, hash).is_some_and(|place| shard[place].1 != State::EMPTY)
        }
    }

    /// Lets a counter go to whoever has its key.
    pub(super) fn take(&self, hash: Hash) -> Option<State> {
        let mut shard = locked(&self.shards[place(hash)]);
        let place = find(&shard, hash)?;
        let state = std::mem::take(&mut shard[place].1);
        if state == State::EMPTY {
            return None;
        }
        self.count_gone(&state);
        Some(state)
    }

    /// Forgets those that have emptied, and tells of each.
    pub(super) fn sweep(&self, now: Timestamp, gone: impl Fn(&State)) {
        for shard in &self.shards {
            let mut shard = locked(shard);
            shard.retain(|(_, state)| {
                let counts = state.empty_at() > now;
                if !counts && *state != State::EMPTY {
                    self.count_gone(state);
                    gone(state);
                }
                counts
            });
            shard.shrink_to_fit();
        }
    }

    /// Gives copies of all to `take`, when nothing is locked.
    pub(super) fn walk<E>(&self, mut take: impl FnMut(Hash, State) -> Result<(), E>) -> Result<(), E> {
        for shard in &self.shards {
            let copies = locked(shard).clone();
            let there = copies.into_iter().filter(|(_, state)| *state != State::EMPTY);
            for (hash, state) in there {
                take(Hash::new(hash), state)?;
            }
        }
        Ok(())
    }

    fn count_gone(&self, state: &State) {
        self.bytes.fetch_sub(bytes_of(state), Ordering::Relaxed);
        self.len.fetch_sub(1, Ordering::Release);
    }
}

fn place(hash: Hash) -> usize {
    usize::try_from(hash.bits() % SHARDS as u64).unwrap_or(0)
}

fn find(shard: &Shard, hash: Hash) -> Option<usize> {
    shard.binary_search_by_key(&hash.bits(), |(hash, _)| *hash).ok()
}

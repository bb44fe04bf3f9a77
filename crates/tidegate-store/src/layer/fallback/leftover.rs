//! Counters of this node's that the store knows of: its next word on them takes their place.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use tidegate_core::{KeyBuf, KeyRef};

use crate::locked;

/// The most counters that are left over at once.
const MOST: usize = 65_536;

/// Their keys. Mostly there are none, and then nobody waits to see that.
#[derive(Default)]
pub(super) struct Leftover {
    keys: Mutex<HashSet<KeyBuf>>,
    len: AtomicUsize,
}

impl Leftover {
    pub(super) fn is_empty(&self) -> bool {
        self.len.load(Ordering::Acquire) == 0
    }

    /// Remembers one, if there is room.
    pub(super) fn add(&self, key: KeyRef<'_>) -> bool {
        let mut keys = locked(&self.keys);
        let has_room = keys.len() < MOST;
        if has_room {
            keys.insert(key.into());
            self.len.store(keys.len(), Ordering::Release);
        }
        has_room
    }

    /// Whether it was one; it is not any more.
    pub(super) fn take(&self, key: KeyRef<'_>) -> bool {
        let mut keys = locked(&self.keys);
        let was_there = keys.remove(&KeyBuf::from(key));
        self.len.store(keys.len(), Ordering::Release);
        was_there
    }
}

//! Counters of long windows, written so that another process can go on with them.
//!
//! Written are counters of windows of an hour or more that have not emptied. No key is among them, only its hash and the
//! secret that it was made with: so the file is to be kept from others, as the memory of the process is.

mod blocks;
mod save;
mod restore;

use std::io::{self, Read, Write};

use tidegate_core::Timestamp;

use super::Memory;

/// Windows that are shorter do not outlive a process.
pub const SHORTEST_WINDOW_US: u64 = 3_600_000_000;

/// The bound on the bytes of a checkpoint that servers begin with.
pub const DEFAULT_MAX_BYTES: u64 = 256 << 20;

/// What came of saving.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Saved {
    /// Counters that were written. One that moved meanwhile may be written twice.
    pub counters: u64,
    /// Counters that would have been written, had there been room for them.
    pub left_out: u64,
    /// How many bytes were written.
    pub bytes: u64,
}

/// What came of restoring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// When it was saved.
    pub saved_at: Timestamp,
    /// Counters that go on.
    pub counters: u64,
    /// Counters that have emptied since.
    pub emptied: u64,
    /// Counters that the store has no room for.
    pub dropped: u64,
    /// Counters that were left out when it was saved.
    pub left_out: u64,
}

/// Why a checkpoint is not read. Nothing of it is used then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// It is something else.
    #[error("it is no checkpoint")]
    Foreign,
    /// Another version of the program wrote it.
    #[error(
        "it is of version {}.{} and this program reads version {}.{}; counters begin anew",
        found.0, found.1, expected.0, expected.1
    )]
    Version {
        /// Its versions: of the form, and of limits and states in it.
        found: (u8, u8),
        /// Those that are read.
        expected: (u8, u8),
    },
    /// Its end is missing.
    #[error("it is torn: its end is missing, behind byte {at}")]
    Torn {
        /// Up to where it was read.
        at: u64,
    },
    /// It is not as it was written.
    #[error("it is damaged: its checksum or its content is wrong, behind byte {at}")]
    Damaged {
        /// Up to where it was read.
        at: u64,
    },
    /// Reading failed.
    #[error("it cannot be read: {0}")]
    Unreadable(#[from] io::Error),
}

impl Memory {
    /// Writes all counters of windows of [an hour](SHORTEST_WINDOW_US) or more that have not emptied, while others decide:
    /// each is written as it is at some instant meanwhile. Slots of concurrency limits, idempotency keys and reservations are
    /// not written; what reservations have paid is.
    ///
    /// At most `max_bytes` are written; counters without room are [left out](Saved::left_out). `out` should have a buffer.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tidegate_core::{Key, Limit, Plan, Timestamp};
    /// use tidegate_store::Memory;
    /// use tidegate_store::memory::checkpoint::DEFAULT_MAX_BYTES;
    ///
    /// let (store, now) = (Memory::new(), Timestamp::from_micros(1_790_000_000_000_000));
    /// let mut plan = Plan::new();
    /// let daily = Limit::sliding_window(100, Duration::from_secs(86_400))?;
    /// plan.charge(Key { home: &[b"alice"], own: &[b"daily"] }, daily, 60)?;
    /// store.decide_now(&plan, now)?;
    ///
    /// let mut file = Vec::new();
    /// assert_eq!(store.save(&mut file, now, DEFAULT_MAX_BYTES)?.counters, 1);
    /// let (store, _) = Memory::restore(&file[..], 1 << 20, now.plus_us(60_000_000))?;
    /// assert!(!store.decide_now(&plan, now)?.allowed(), "60 of 100 are still used");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn save(&self, out: impl Write, now: Timestamp, max_bytes: u64) -> io::Result<Saved> {
        save::save(self, out, now, max_bytes)
    }

    /// A store that goes on with what was [saved](Self::save), with a cap as [`Memory::with_cap`] has it. It is read to the
    /// end before anything of it counts; what is torn, damaged or of another version is refused as a whole. `input` should
    /// have a buffer.
    pub fn restore(
        input: impl Read,
        cap_bytes: usize,
        now: Timestamp,
    ) -> Result<(Self, Restored), CheckpointError> {
        restore::restore(input, cap_bytes, now)
    }
}

/// What is in a block, by its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Kind {
    /// The key of the hashes, when it was saved, and how many segments the table had.
    Head = 1,
    /// Limits and counters.
    Entries = 2,
    /// How many counters there were and how many were left out; nothing follows.
    End = 3,
}

/// What an entry is, by the number that it begins with: a limit, to be known by how many came before it; a counter of no limit
/// that is known; or one of the limit of that number, less this.
mod tag {
    pub(super) const LIMIT: u64 = 0;
    pub(super) const LOOSE: u64 = 1;
    pub(super) const OF_LIMIT: u64 = 2;
}

//! What is told about keeping counters.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tidegate_core::Timestamp;
use tidegate_store::memory::checkpoint::Saved;

/// What came of all attempts so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Kept {
    /// Counters that went on when the server started.
    pub(crate) restored: u64,
    /// How often they were saved.
    pub(crate) saves: u64,
    /// How often that failed.
    pub(crate) failures: u64,
    /// When they were last saved; 0 if never.
    pub(crate) saved_at: Timestamp,
    /// What came of it.
    pub(crate) last: Saved,
    /// How long it took.
    pub(crate) took: Duration,
    /// Whether the last attempt failed.
    pub(crate) is_failing: bool,
}

/// The same, for those who write it and those who read it.
#[derive(Debug, Default)]
pub(crate) struct Status(Mutex<Kept>);

impl Status {
    /// As it is now.
    pub(crate) fn get(&self) -> Kept {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes it; how it was before.
    pub(super) fn change(&self, change: impl FnOnce(&mut Kept)) -> Kept {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = *kept;
        change(&mut kept);
        before
    }
}

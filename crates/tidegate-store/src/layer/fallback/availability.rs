//! How often the store had an answer in time, and why it had none.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::contract::StoreError;

/// What came of plans that the store was to decide, reserve or read, since the start. What it answered over all of them is its
/// availability, as whoever asks for checks sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Availability {
    /// It answered in time, whatever the answer was.
    pub in_time: u64,
    /// It was not asked: a counter of the plan owes something, and this node decided.
    pub owing: u64,
    /// It could not answer, by the kind of [error](StoreError::Unavailable).
    pub failed: BTreeMap<&'static str, u64>,
}

/// The same while it is counted.
#[derive(Debug, Default)]
pub(super) struct Answers {
    in_time: AtomicU64,
    owing: AtomicU64,
    failed: Mutex<BTreeMap<&'static str, u64>>,
}

impl Answers {
    /// The store was asked. An error that is not about the store itself is an answer.
    pub(super) fn came(&self, error: Option<&StoreError>) {
        if let Some(StoreError::Unavailable { kind, .. }) = error {
            *self.failed.lock().unwrap_or_else(PoisonError::into_inner).entry(kind).or_default() += 1;
        } else {
            self.in_time.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// It was not asked.
    pub(super) fn owing(&self) {
        self.owing.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> Availability {
        Availability {
            in_time: self.in_time.load(Ordering::Relaxed),
            owing: self.owing.load(Ordering::Relaxed),
            failed: self.failed.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }
}

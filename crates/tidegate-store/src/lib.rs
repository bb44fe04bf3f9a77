//! Where counters live: the contract of a store, and the store that is obviously right.
//!
//! A [`Store`] takes a plan and an instant and answers with a verdict for each charge, having charged all of a group or
//! nothing of it, in one atomic step. [`Reference`] does that with a mutex per shard of a map. It is the oracle for all
//! other stores, and good enough to ship. The suite that it and every other store must pass is in [`conformance`]
//! (feature `conformance`); [`history`] judges recorded decisions after the fact.
//!
//! ```
//! use std::time::Duration;
//! use tidegate_core::{Key, Limit, Plan, Timestamp};
//! use tidegate_store::Reference;
//!
//! let store = Reference::new();
//! let mut plan = Plan::new();
//! plan.charge(Key { home: &[b"alice"], own: &[b"per-user"] }, Limit::sliding_window(2, Duration::from_secs(60))?, 1)?;
//! plan.charge(Key { home: &[], own: &[b"everyone"] }, Limit::sliding_window(100, Duration::from_secs(60))?, 1)?;
//!
//! let now = Timestamp::from_micros(1_000_000);
//! assert!(store.decide_now(&plan, now)?.allowed());
//! assert!(store.decide_now(&plan, now)?.allowed());
//! let refused = store.decide_now(&plan, now)?;
//! assert!(!refused.allowed());
//! assert_eq!(refused.verdicts[1].remaining, 98); // a refused check is charged nowhere
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod contract;
mod step;
mod reservations;
mod ways;
pub mod reference;
pub mod memory;
mod at_once;
pub mod layer;
pub mod history;
#[cfg(feature = "conformance")]
pub mod conformance;

pub use contract::{Act, Answer, AtEnd, Done, Hold, Settlement, Store, StoreError, Verdicts};
pub use memory::{Memory, PlainCharge};
pub use reference::Reference;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Reads past a panic in another thread: every write under a lock is complete on its own.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! One module per algorithm: its numbers, its state, and pure functions from one to the other.
//!
//! Each offers the same few verbs. `judge` says whether a cost would pass, and changes nothing; `charge` makes the
//! charge, asked or not; `refund` gives back; `standing` tells what counts at an instant. [`crate::state`] chooses
//! among them, and [`crate::Limit::step`] strings them together.

pub(crate) mod meter;
pub(crate) mod fixed_window;
pub(crate) mod sliding_window;
pub(crate) mod sliding_log;
pub(crate) mod concurrency;

use crate::time::Timestamp;

/// Units to give back, and when they were charged: a window that has passed has nothing to give back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refund {
    /// How many.
    pub units: u64,
    /// When they were charged; the present instant if that is not known.
    pub charged_at: Timestamp,
}

/// Counts stop here, far above every amount; the sum of as many as a window has parts stays far below overflow.
pub(crate) const MAX_USED: u64 = 1 << 57;

/// Adds without ever overflowing: a count that large means "full" in any case.
const fn add(used: u64, cost: u64) -> u64 {
    let sum = used.saturating_add(cost);
    if sum > MAX_USED { MAX_USED } else { sum }
}

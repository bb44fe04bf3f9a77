//! The arithmetic of every kind of limit: pure, exact, and without a clock.
//!
//! A check becomes a [`Plan`] of [`Charge`]s; a store applies each charge's [`Limit`] to the [`State`] that it
//! keeps under the charge's key and answers a [`Verdict`]. This crate holds those words and the steps between
//! them, and nothing else: no I/O, no async, no clock, no floating point in a decision.
//!
//! ```
//! use std::time::Duration;
//! use tidegate_core::{Limit, Rate, State, Timestamp};
//!
//! let limit = Limit::gcra(Rate::new(10, Duration::from_secs(1))?, 2)?;
//! let mut state = State::EMPTY;
//! let now = Timestamp::from_micros(1_000_000);
//!
//! assert!(limit.step(&mut state, now, 1)?.allowed());
//! assert!(limit.step(&mut state, now, 1)?.allowed());
//! let refused = limit.step(&mut state, now, 1)?;
//! assert_eq!(refused.retry_after_us(), Some(100_000));
//! assert!(limit.step(&mut state, now.plus_us(100_000), 1)?.allowed());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod time;
pub mod clock;
pub mod rate;
pub mod key;
pub mod network;
pub mod limit;
pub mod numbers;
pub mod class;
pub mod charge;
pub mod verdict;
pub mod algorithm;
pub mod state;
pub mod packed;
pub mod portable;
pub mod breaker;
#[cfg(test)]
mod properties;

pub use algorithm::Refund;
pub use algorithm::concurrency::Ticket;
pub use algorithm::fixed_window::{Bounds, Window};
pub use charge::{
    Charge, ChargeKey, Idempotency, MAX_CHARGES, Pay, Plan, PlanError, PreparedCharge, ShortKey, ShortRoom,
    Values,
};
pub use class::Class;
pub use key::{EncodedParts, Key, KeyBuf, KeyRef, MAX_KEY_BYTES, MAX_PART_BYTES, PreparedKey};
pub use limit::{Algorithm, Limit, LimitError, MAX_AMOUNT, MAX_WINDOW, Outside};
pub use numbers::Numbers;
pub use packed::{PACKED_BITS, Packed, Packing};
pub use rate::Rate;
pub use state::State;
pub use time::{STANDSTILL_US, Timestamp};
pub use verdict::{Outcome, Retry, Verdict};

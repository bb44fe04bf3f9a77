//! The time that doors read: the wall clock as it was at the start, carried on by the monotonic clock.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use tidegate_core::Timestamp;
use tidegate_wire::door::Clock;

/// A clock that starts from the present wall clock and never steps back.
pub(crate) fn system() -> Clock {
    let wall_us = whole_us(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default());
    let started = Instant::now();
    Arc::new(move || Timestamp::from_micros(wall_us.saturating_add(whole_us(started.elapsed()))))
}

fn whole_us(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

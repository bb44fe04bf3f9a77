//! The meter behind `gcra`, `token_bucket` and `leaky_bucket`: a level that drains at a steady rate.
//!
//! Promise: over any time T the admitted cost is at most `capacity + rate·T`, and a source that keeps to that is
//! never refused. Both hold exactly, because the level drains in whole units at exact marks ([`Rate`] keeps the part
//! of a microsecond that is left over). The state is in units, so that other numbers can be applied to it.

use crate::algorithm::{MAX_USED, add};
use crate::limit::{LimitError, amount_in_range, within_max_window};
use crate::portable::{Portable, put, take, take_byte};
use crate::rate::{Mark, Rate};
use crate::time::Timestamp;
use crate::verdict::{Outcome, Retry, Standing};

/// A capacity and the rate at which what is in it drains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Meter {
    capacity: u64,
    rate: Rate,
    shape: bool,
}

/// `used` units at the instant `since`; under the numbers of the last charge they are gone at `empty_at_us`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MeterState {
    used: u64,
    since: Mark,
    empty_at_us: u64,
}

impl MeterState {
    /// From its numbers as they are written; `None` if there are more units than any counter holds.
    pub(crate) fn of([used, us, part, span_us]: [u64; 4]) -> Option<Self> {
        let since = Mark { us, part };
        (used <= MAX_USED).then_some(Self { used, since, empty_at_us: us.wrapping_add(span_us) })
    }

    pub(crate) const fn used(&self) -> u64 {
        self.used
    }

    pub(crate) const fn since(&self) -> Mark {
        self.since
    }

    /// When nothing of it counts any more.
    pub(crate) const fn empty_at_us(&self) -> u64 {
        self.empty_at_us
    }
}

/// The level at one instant, drained of what has passed.
#[derive(Clone, Copy)]
struct Level {
    used: u64,
    since: Mark,
    forgotten_at_us: u64,
}

impl Meter {
    pub(crate) fn new(rate: Rate, capacity: u64) -> Result<Self, LimitError> {
        let capacity = amount_in_range(capacity)?;
        within_max_window(rate.span_us_of(capacity))?;
        Ok(Self { capacity, rate, shape: false })
    }

    pub(crate) const fn shaping(mut self) -> Self {
        self.shape = true;
        self
    }

    pub(crate) const fn capacity(&self) -> u64 {
        self.capacity
    }

    pub(crate) const fn rate(&self) -> Rate {
        self.rate
    }

    /// The same with another capacity and a part of the rate. One that would take too long to drain keeps the rate.
    pub(crate) fn divided(self, among: u64, capacity: u64) -> Self {
        let part = Self { capacity, rate: self.rate.divided(among), ..self };
        if within_max_window(part.drain_us()).is_ok() { part } else { Self { capacity, ..self } }
    }

    pub(crate) const fn is_shaping(&self) -> bool {
        self.shape
    }

    pub(crate) fn drain_us(&self) -> u64 {
        self.rate.span_us_of(self.capacity)
    }

    pub(crate) fn judge(&self, state: Option<&MeterState>, now: Timestamp, cost: u64) -> Outcome {
        if cost > self.capacity {
            return Outcome::Refused(Retry::Never);
        }
        let level = self.level(state, now);
        let wanted = level.used + cost;
        if wanted > self.capacity {
            return Outcome::Refused(Retry::After(self.wait_us(level, wanted - self.capacity, now)));
        }
        match self.wait_us(level, level.used, now) {
            by_us if self.shape && by_us > 0 => Outcome::Delayed { by_us },
            _ => Outcome::Allowed,
        }
    }

    /// Judges, charges if it passes, and tells what is left: as one after the other, with the level found once.
    #[inline]
    pub(crate) fn step(
        &self,
        state: Option<&MeterState>,
        now: Timestamp,
        cost: u64,
    ) -> (Outcome, Option<MeterState>, Standing) {
        let level = self.level(state, now);
        let wanted = level.used.saturating_add(cost);
        if cost > self.capacity || wanted > self.capacity {
            return (self.judge(state, now, cost), None, self.standing(state, now));
        }
        let outcome = if self.shape { self.judge(state, now, cost) } else { Outcome::Allowed };
        let left = self.stored(wanted, level.since);
        (outcome, Some(left), Standing { used: wanted, reset_at_us: left.empty_at_us.max(now.as_micros()) })
    }

    pub(crate) fn charge(&self, state: Option<&MeterState>, now: Timestamp, cost: u64) -> MeterState {
        let level = self.level(state, now);
        self.stored(add(level.used, cost), level.since)
    }

    pub(crate) fn refund(&self, state: &MeterState, now: Timestamp, units: u64) -> Option<MeterState> {
        let level = self.level(Some(state), now);
        let used = level.used.saturating_sub(units);
        let stored = self.stored(used, level.since);
        // A refund never makes anybody wait longer, also not under a rate that was lowered meanwhile.
        let empty_at_us = stored.empty_at_us.min(state.empty_at_us);
        (used > 0).then_some(MeterState { empty_at_us, ..stored })
    }

    pub(crate) fn standing(&self, state: Option<&MeterState>, now: Timestamp) -> Standing {
        let level = self.level(state, now);
        let reset_at_us = now.as_micros().saturating_add(self.wait_us(level, level.used, now));
        Standing { used: level.used, reset_at_us }
    }

    /// The time until a unit has drained of a level that was just charged and is not past the capacity.
    pub(crate) fn next_after_us(&self, state: &MeterState, now: Timestamp) -> u64 {
        self.rate.mark_after(state.since, 1).ceil_us().saturating_sub(now.as_micros())
    }

    /// So many units at that mark.
    pub(crate) fn stored(&self, used: u64, since: Mark) -> MeterState {
        MeterState { used, since, empty_at_us: self.rate.mark_after(since, used).ceil_us() }
    }

    /// What is left at `now`. A clock that stepped back a little finds the level as it was left.
    #[inline]
    fn level(&self, state: Option<&MeterState>, now: Timestamp) -> Level {
        let now_us = now.as_micros();
        let empty = Level { used: 0, since: Mark::at(now_us), forgotten_at_us: now_us };
        let Some(state) = state else { return empty };
        if state.empty_at_us <= now_us || Timestamp::from_micros(state.since.us).is_void_at(now) {
            return empty;
        }
        let since = state.since.read_with(self.rate);
        let drained = self.rate.units_since(since, now_us);
        if drained >= state.used {
            return empty;
        }
        Level {
            used: state.used - drained,
            since: self.rate.mark_after(since, drained),
            forgotten_at_us: state.empty_at_us,
        }
    }

    /// From `now` until `units` of the level have drained. What emptied under older, faster numbers is forgotten then.
    fn wait_us(&self, level: Level, units: u64, now: Timestamp) -> u64 {
        let drained_at_us = self.rate.mark_after(level.since, units).ceil_us();
        drained_at_us.min(level.forgotten_at_us).saturating_sub(now.as_micros())
    }
}

impl Portable for Meter {
    fn write(&self, out: &mut Vec<u8>) {
        self.rate.write(out);
        put(self.capacity, out);
        out.push(u8::from(self.shape));
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        let meter = Self::new(Rate::read(input)?, take(input)?).ok()?;
        match take_byte(input)? {
            0 => Some(meter),
            1 => Some(meter.shaping()),
            _ => None,
        }
    }
}

impl Portable for MeterState {
    fn write(&self, out: &mut Vec<u8>) {
        put(self.used, out);
        put(self.since.us, out);
        put(self.since.part, out);
        put(self.empty_at_us.wrapping_sub(self.since.us), out);
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        Self::of([take(input)?, take(input)?, take(input)?, take(input)?])
    }
}

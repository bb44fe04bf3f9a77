//! `sliding_log`: the time stamps of what was admitted, so that nothing has to be estimated.
//!
//! Promise: never more than the amount in any window. Exact keeps a stamp per admission and refuses only what would
//! exceed; with a precision of k, one stamp stands for at least `⌈amount/k⌉` admissions and leaves with the last of them.
//! It takes in charges until it stands for that many, so it holds back fewer than `⌈amount/k⌉` past their time.

use std::collections::VecDeque;
use std::time::Duration;

use crate::algorithm::{MAX_USED, Refund, add};
use crate::limit::{LimitError, MAX_STAMPS, amount_in_range, micros};
use crate::portable::{Portable, put, take, take_len, take_span, take_used};
use crate::time::Timestamp;
use crate::verdict::{Outcome, Retry, Standing};

/// An amount, its window, and how many admissions share one time stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SlidingLog {
    amount: u64,
    window_us: u64,
    share: u64,
}

/// The stamps, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LogState {
    stamps: VecDeque<Stamp>,
    /// All units of the stamps that were dropped.
    forgotten: u64,
    /// What was charged up to then is not here any more: the time of the last stamp that was dropped, or, in a log that
    /// began anew, the time before its first.
    forgotten_us: u64,
    empty_at_us: u64,
}

/// The last admission of those that share this stamp, and all units admitted up to it, forgotten ones included:
/// with running totals, what counts at any instant is one subtraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    at_us: u64,
    total: u64,
}

impl LogState {
    pub(crate) const fn empty_at_us(&self) -> u64 {
        self.empty_at_us
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.stamps.capacity() * size_of::<Stamp>()
    }

    pub(crate) fn last_us(&self) -> u64 {
        self.last().map_or(0, |last| last.at_us)
    }

    fn last(&self) -> Option<Stamp> {
        self.stamps.back().copied()
    }

    /// Keeps the running totals far from their end, once in a very long while.
    fn rebase(&mut self) {
        if self.forgotten > MAX_USED / 2 {
            self.stamps.iter_mut().for_each(|stamp| stamp.total -= self.forgotten);
            self.forgotten = 0;
        }
    }

    /// All units up to the stamp before `index`.
    fn total_before(&self, index: usize) -> u64 {
        index.checked_sub(1).map_or(self.forgotten, |before| self.stamps[before].total)
    }
}

impl SlidingLog {
    pub(crate) fn exact(amount: u64, window: Duration) -> Result<Self, LimitError> {
        if amount > MAX_STAMPS {
            return Err(LimitError::LogTooLong { amount });
        }
        Self::with_precision(amount, window, amount.max(1))
    }

    pub(crate) fn with_precision(amount: u64, window: Duration, precision: u64) -> Result<Self, LimitError> {
        let amount = amount_in_range(amount)?;
        if precision == 0 || precision > MAX_STAMPS {
            return Err(LimitError::Precision { precision });
        }
        Ok(Self { amount, window_us: micros(window)?, share: amount.div_ceil(precision) })
    }

    pub(crate) const fn amount(&self) -> u64 {
        self.amount
    }

    /// The same with another amount, and as many time stamps for it.
    pub(crate) const fn with_amount(self, amount: u64) -> Self {
        let share = if self.share < amount { self.share } else { amount };
        Self { amount, share, ..self }
    }

    pub(crate) const fn window_us(&self) -> u64 {
        self.window_us
    }

    /// How many admissions share one time stamp.
    pub(crate) const fn share(&self) -> u64 {
        self.share
    }

    pub(crate) fn judge(&self, state: Option<&LogState>, now: Timestamp, cost: u64) -> Outcome {
        if cost > self.amount {
            return Outcome::Refused(Retry::Never);
        }
        let (Some((state, first)), used) = self.counting(state, now) else { return Outcome::Allowed };
        if used + cost <= self.amount {
            return Outcome::Allowed;
        }
        let must_leave = state.total_before(first) + (used + cost - self.amount);
        let leaves = state.stamps.partition_point(|stamp| stamp.total < must_leave);
        let at_us = state.stamps[leaves].at_us.saturating_add(self.window_us);
        Outcome::Refused(Retry::After(at_us.saturating_sub(now.as_micros())))
    }

    pub(crate) fn charge(&self, state: &mut LogState, now: Timestamp, cost: u64) {
        self.forget(state, now);
        let now_us = state.last_us().max(now.as_micros());
        if state.stamps.is_empty() {
            state.forgotten_us = now_us.saturating_sub(1);
        }
        let before_last = state.stamps.len().checked_sub(1).map_or(0, |last| state.total_before(last));
        let total = state.last().map_or(state.forgotten, |last| last.total);
        // The cost has no say, so that the log is the same whatever the order of charges within an instant.
        let shares = |last: Stamp| last.at_us == now_us || last.total - before_last < self.share;
        if state.last().is_some_and(shares) {
            state.stamps.pop_back();
        }
        state.stamps.push_back(Stamp { at_us: now_us, total: add(total, cost) });
        state.empty_at_us = now_us.saturating_add(self.window_us);
    }

    /// Takes the units from the stamp that stands for the instant of the charge, if it still counts. What a stamp does not
    /// have is taken from the next: a charge whose clock was a little behind was booked there.
    pub(crate) fn refund(&self, state: &mut LogState, now: Timestamp, refund: Refund) {
        self.forget(state, now);
        let charged_us = refund.charged_at.as_micros().min(state.last_us());
        if charged_us <= state.forgotten_us {
            return;
        }
        let mut units = refund.units;
        let mut index = state.stamps.partition_point(|stamp| stamp.at_us < charged_us);
        while units > 0 && index < state.stamps.len() {
            let taken = units.min(state.stamps[index].total - state.total_before(index));
            units -= taken;
            state.stamps.range_mut(index..).for_each(|stamp| stamp.total -= taken);
            if state.stamps[index].total == state.total_before(index) {
                state.stamps.remove(index);
            } else {
                index += 1;
            }
        }
        let last_us = state.last().map(|last| last.at_us.saturating_add(self.window_us));
        state.empty_at_us = last_us.unwrap_or(0);
    }

    pub(crate) fn standing(&self, state: Option<&LogState>, now: Timestamp) -> Standing {
        match self.counting(state, now) {
            (Some((state, _)), used) if used > 0 => {
                let last_us = state.last().map_or(0, |last| last.at_us);
                Standing { used, reset_at_us: last_us.saturating_add(self.window_us) }
            }
            _ => Standing::UNUSED,
        }
    }

    /// The first stamp that counts at `now`, and the units from there on. A clock that stepped back a little finds
    /// the log as it was left.
    fn counting<'a>(
        &self,
        state: Option<&'a LogState>,
        now: Timestamp,
    ) -> (Option<(&'a LogState, usize)>, u64) {
        let Some((state, last)) = state.and_then(|state| Some((state, state.last()?))) else {
            return (None, 0);
        };
        if Timestamp::from_micros(last.at_us).is_void_at(now) {
            return (None, 0);
        }
        let now_us = now.as_micros().max(last.at_us);
        let first =
            state.stamps.partition_point(|stamp| stamp.at_us.saturating_add(self.window_us) <= now_us);
        (Some((state, first)), last.total - state.total_before(first))
    }

    /// Drops what no longer counts, and starts the running totals over when nothing is left.
    fn forget(&self, state: &mut LogState, now: Timestamp) {
        match self.counting(Some(state), now) {
            (Some((_, first)), used) if used > 0 => {
                state.forgotten = state.total_before(first);
                let dropped = state.stamps.drain(..first).next_back();
                state.forgotten_us = dropped.map_or(state.forgotten_us, |stamp| stamp.at_us);
                state.rebase();
            }
            _ => *state = LogState::default(),
        }
    }
}

impl Portable for SlidingLog {
    fn write(&self, out: &mut Vec<u8>) {
        put(self.amount, out);
        put(self.window_us, out);
        // The smallest precision that comes to the same share.
        put(self.amount.div_ceil(self.share), out);
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        Self::with_precision(take(input)?, take_span(input)?, take(input)?).ok()
    }
}

impl Portable for LogState {
    fn write(&self, out: &mut Vec<u8>) {
        put(self.forgotten, out);
        put(self.forgotten_us, out);
        put(self.empty_at_us, out);
        put(self.stamps.len() as u64, out);
        let mut before = Stamp { at_us: 0, total: self.forgotten };
        for stamp in &self.stamps {
            put(stamp.at_us - before.at_us, out);
            put(stamp.total - before.total, out);
            before = *stamp;
        }
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        let (forgotten, forgotten_us, empty_at_us) = (take_used(input)?, take(input)?, take(input)?);
        let len = take_len(input, 2)?;
        let mut last = Stamp { at_us: 0, total: forgotten };
        let mut next = || {
            let (at_us, total) = (last.at_us.checked_add(take(input)?)?, last.total + take_used(input)?);
            last = Stamp { at_us, total };
            (total <= MAX_USED).then_some(last)
        };
        let stamps = (0..len).map(|_| next()).collect::<Option<_>>()?;
        Some(Self { stamps, forgotten, forgotten_us, empty_at_us })
    }
}

//! `fixed_window`: a count that starts anew with each window.
//!
//! Promise: at most the amount in each window; across a boundary at most twice the amount within one length. A source
//! that keeps within the amount in every window is never refused.

use std::time::Duration;

use crate::algorithm::{MAX_USED, Refund, add};
use crate::limit::{LimitError, amount_in_range, micros, within_max_window};
use crate::portable::{Portable, put, take, take_byte, take_span};
use crate::time::Timestamp;
use crate::verdict::{Outcome, Retry, Standing};

/// Where windows begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Window {
    /// At multiples of the length since the Unix epoch.
    Aligned(Duration),
    /// With the first charge after the last window ended.
    FirstHit(Duration),
    /// Where a calendar says; it is read when a check is resolved, so that only comparisons are left here.
    Calendar(Bounds),
}

/// A calendar window and the one after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bounds {
    /// The first instant of the window.
    pub start: Timestamp,
    /// The first instant of the next window.
    pub end: Timestamp,
    /// The first instant of the window after that.
    pub next_end: Timestamp,
}

impl Bounds {
    /// Those that hold everything.
    const NONE: Self = Self { start: Timestamp::ZERO, end: Timestamp::MAX, next_end: Timestamp::MAX };
}

/// An amount and its windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FixedWindow {
    amount: u64,
    span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Span {
    Aligned { length_us: u64 },
    FirstHit { length_us: u64 },
    Calendar(Bounds),
}

/// `used` units in the window that began at `start_us`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WindowState {
    used: u64,
    start_us: u64,
    end_us: u64,
}

impl WindowState {
    /// From its numbers as they are written; `None` if there are more units than any counter holds.
    pub(crate) fn of([used, start_us, span_us]: [u64; 3]) -> Option<Self> {
        (used <= MAX_USED).then_some(Self { used, start_us, end_us: start_us.wrapping_add(span_us) })
    }

    pub(crate) const fn new(used: u64, start_us: u64, end_us: u64) -> Self {
        Self { used, start_us, end_us }
    }

    pub(crate) const fn used(&self) -> u64 {
        self.used
    }

    /// When nothing of it counts any more.
    pub(crate) const fn empty_at_us(&self) -> u64 {
        self.end_us
    }

    pub(crate) const fn start_us(&self) -> u64 {
        self.start_us
    }
}

impl FixedWindow {
    pub(crate) fn new(amount: u64, window: Window) -> Result<Self, LimitError> {
        let amount = amount_in_range(amount)?;
        let span = match window {
            Window::Aligned(length) => Span::Aligned { length_us: micros(length)? },
            Window::FirstHit(length) => Span::FirstHit { length_us: micros(length)? },
            Window::Calendar(bounds) => Span::Calendar(checked(bounds)?),
        };
        Ok(Self { amount, span })
    }

    pub(crate) const fn amount(&self) -> u64 {
        self.amount
    }

    /// The same with another amount.
    pub(crate) const fn with_amount(self, amount: u64) -> Self {
        Self { amount, ..self }
    }

    pub(crate) const fn length_us(&self) -> u64 {
        match self.span {
            Span::Aligned { length_us } | Span::FirstHit { length_us } => length_us,
            Span::Calendar(bounds) => bounds.end.since(bounds.start),
        }
    }

    /// Where its windows begin.
    pub(crate) const fn window(&self) -> Window {
        match self.span {
            Span::Aligned { length_us } => Window::Aligned(Duration::from_micros(length_us)),
            Span::FirstHit { length_us } => Window::FirstHit(Duration::from_micros(length_us)),
            Span::Calendar(bounds) => Window::Calendar(bounds),
        }
    }

    pub(crate) const fn is_calendar(&self) -> bool {
        matches!(self.span, Span::Calendar(_))
    }

    /// The same with bounds that hold everything, if it has some.
    pub(crate) const fn without_bounds(self) -> Self {
        match self.span {
            Span::Calendar(_) => Self { amount: self.amount, span: Span::Calendar(Bounds::NONE) },
            _ => self,
        }
    }

    /// The kind of window, and its length. A calendar's windows differ in length and are told apart by their starts.
    pub(crate) const fn identity(&self) -> (u8, u64) {
        match self.span {
            Span::Aligned { length_us } => (0, length_us),
            Span::FirstHit { length_us } => (1, length_us),
            Span::Calendar(_) => (2, 0),
        }
    }

    pub(crate) fn covers(&self, now: Timestamp) -> bool {
        match self.span {
            Span::Calendar(bounds) => bounds.start <= now && now < bounds.next_end,
            _ => true,
        }
    }

    pub(crate) fn judge(&self, state: Option<&WindowState>, now: Timestamp, cost: u64) -> Outcome {
        if cost > self.amount {
            return Outcome::Refused(Retry::Never);
        }
        let window = self.current(state, now);
        if window.used + cost > self.amount {
            return Outcome::Refused(Retry::After(window.end_us.saturating_sub(now.as_micros())));
        }
        Outcome::Allowed
    }

    pub(crate) fn charge(&self, state: Option<&WindowState>, now: Timestamp, cost: u64) -> WindowState {
        let window = self.current(state, now);
        WindowState { used: add(window.used, cost), ..window }
    }

    /// Gives back what was charged at `charged_at`, if that window still counts.
    pub(crate) fn refund(&self, state: &WindowState, now: Timestamp, refund: Refund) -> Option<WindowState> {
        let window = self.current(Some(state), now);
        if refund.charged_at.as_micros() < window.start_us {
            return (window.used > 0).then_some(window);
        }
        let used = window.used.saturating_sub(refund.units);
        (used > 0).then_some(WindowState { used, ..window })
    }

    pub(crate) fn standing(&self, state: Option<&WindowState>, now: Timestamp) -> Standing {
        let window = self.current(state, now);
        if window.used == 0 {
            Standing::UNUSED
        } else {
            Standing { used: window.used, reset_at_us: window.end_us }
        }
    }

    /// The window that counts at `now`, with what was used of it. A clock that stepped back a little finds the window
    /// as it was left.
    fn current(&self, state: Option<&WindowState>, now: Timestamp) -> WindowState {
        let state = state.filter(|state| !Timestamp::from_micros(state.start_us).is_void_at(now));
        let now_us = state.map_or(0, |state| state.start_us).max(now.as_micros());
        match (self.span, state) {
            (Span::FirstHit { length_us }, Some(state))
                if now_us < state.start_us.saturating_add(length_us) =>
            {
                *state
            }
            (span, state) => {
                let (start_us, end_us) = span.bounds(now_us);
                let used = state.filter(|state| state.start_us >= start_us && now_us < end_us);
                WindowState { used: used.map_or(0, |state| state.used), start_us, end_us }
            }
        }
    }
}

impl Span {
    /// The window that holds `now_us`, or that a first hit at `now_us` would open.
    fn bounds(self, now_us: u64) -> (u64, u64) {
        match self {
            Self::Aligned { length_us } => {
                let start_us = now_us - now_us % length_us;
                (start_us, start_us.saturating_add(length_us))
            }
            Self::FirstHit { length_us } => (now_us, now_us.saturating_add(length_us)),
            Self::Calendar(Bounds { start, end, .. }) if now_us < end.as_micros() => {
                (start.as_micros(), end.as_micros())
            }
            Self::Calendar(Bounds { end, next_end, .. }) => (end.as_micros(), next_end.as_micros()),
        }
    }
}

fn checked(bounds: Bounds) -> Result<Bounds, LimitError> {
    if bounds.start >= bounds.end || bounds.end >= bounds.next_end {
        return Err(LimitError::CalendarOrder);
    }
    within_max_window(bounds.next_end.since(bounds.start))?;
    Ok(bounds)
}

impl Portable for FixedWindow {
    fn write(&self, out: &mut Vec<u8>) {
        put(self.amount, out);
        match self.span {
            Span::Aligned { length_us } => {
                out.push(0);
                put(length_us, out);
            }
            Span::FirstHit { length_us } => {
                out.push(1);
                put(length_us, out);
            }
            Span::Calendar(Bounds::NONE) => out.push(2),
            Span::Calendar(bounds) => {
                out.push(3);
                for instant in [bounds.start, bounds.end, bounds.next_end] {
                    put(instant.as_micros(), out);
                }
            }
        }
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        let amount = take(input)?;
        let window = match take_byte(input)? {
            0 => Window::Aligned(take_span(input)?),
            1 => Window::FirstHit(take_span(input)?),
            2 => {
                let amount = amount_in_range(amount).ok()?;
                return Some(Self { amount, span: Span::Calendar(Bounds::NONE) });
            }
            3 => {
                let mut instant = || take(input).map(Timestamp::from_micros);
                Window::Calendar(Bounds { start: instant()?, end: instant()?, next_end: instant()? })
            }
            _ => return None,
        };
        Self::new(amount, window).ok()
    }
}

impl Portable for WindowState {
    fn write(&self, out: &mut Vec<u8>) {
        put(self.used, out);
        put(self.start_us, out);
        put(self.end_us.wrapping_sub(self.start_us), out);
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        Self::of([take(input)?, take(input)?, take(input)?])
    }
}

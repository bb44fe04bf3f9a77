//! `sliding_window`: counts per part of the window, the oldest weighted by how much of it the window still covers.
//!
//! With one part these are the two weighted buckets that most limiters mean by the name. The estimate is exact if the
//! oldest part's admissions were spread evenly, and off by at most that part's count: in the worst case one window
//! admits just under twice the amount, or a source is refused although its admissions have all left the window. The
//! oldest part's share is rounded up, so rounding never admits early.

use std::time::Duration;

use smallvec::SmallVec;

use crate::algorithm::{MAX_USED, Refund, add};
use crate::limit::{LimitError, MAX_PARTS, amount_in_range, micros};
use crate::portable::{Portable, put, take, take_byte, take_len, take_span};
use crate::rate::{scaled_down, scaled_up};
use crate::time::Timestamp;
use crate::verdict::{Outcome, Retry, Standing};

/// An amount, and a window cut into equal parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SlidingWindow {
    amount: u64,
    part_us: u64,
    parts: u8,
}

/// Counts of the part that began at `start_us` and of the ones before it, newest first: one more than there are parts,
/// because the window rarely begins where a part does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PartsState {
    start_us: u64,
    empty_at_us: u64,
    counts: SmallVec<[u64; 2]>,
}

impl PartsState {
    /// From its numbers as they are written; `None` if there are more parts or units than any counter holds.
    pub(crate) fn of(start_us: u64, span_us: u64, counts: SmallVec<[u64; 2]>) -> Option<Self> {
        let fits = (2..=MAX_PARTS as usize + 1).contains(&counts.len());
        let fits = fits && counts.iter().all(|count| *count <= MAX_USED);
        fits.then(|| Self { start_us, empty_at_us: start_us.wrapping_add(span_us), counts })
    }

    pub(crate) fn counts(&self) -> &[u64] {
        &self.counts
    }

    pub(crate) const fn empty_at_us(&self) -> u64 {
        self.empty_at_us
    }

    pub(crate) const fn start_us(&self) -> u64 {
        self.start_us
    }

    /// The length of the window: it is empty once the newest part with a count, and as many as a window has, are over.
    pub(crate) fn window_us(&self) -> u64 {
        let parts = self.counts.len().saturating_sub(1) as u64;
        let newest = self.counts.iter().take_while(|count| **count == 0).count() as u64;
        let left = (parts + 1).saturating_sub(newest);
        self.empty_at_us.saturating_sub(self.start_us).checked_div(left).unwrap_or(0).saturating_mul(parts)
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        if self.counts.spilled() { self.counts.capacity() * size_of::<u64>() } else { 0 }
    }
}

/// The counts as the window sees them at one instant: shifted by the parts that have begun since they were written.
#[derive(Clone, Copy)]
struct View<'a> {
    counts: &'a [u64],
    shift: usize,
    start_us: u64,
    now_us: u64,
}

impl View<'_> {
    fn count(&self, age: usize) -> u64 {
        age.checked_sub(self.shift).and_then(|index| self.counts.get(index)).copied().unwrap_or(0)
    }

    fn sum(&self, ages: std::ops::Range<usize>) -> u64 {
        ages.map(|age| self.count(age)).sum()
    }
}

impl SlidingWindow {
    pub(crate) fn new(amount: u64, window: Duration, parts: u32) -> Result<Self, LimitError> {
        let amount = amount_in_range(amount)?;
        let window_us = micros(window)?;
        if parts == 0 || parts > MAX_PARTS {
            return Err(LimitError::Parts { parts });
        }
        if !window_us.is_multiple_of(u64::from(parts)) {
            return Err(LimitError::UnevenParts {
                window_us,
                parts,
                nearest: nearest_parts(window_us, parts),
            });
        }
        let part_us = window_us / u64::from(parts);
        Ok(Self { amount, part_us, parts: u8::try_from(parts).expect("MAX_PARTS is below 256") })
    }

    pub(crate) const fn amount(&self) -> u64 {
        self.amount
    }

    /// The same with another amount.
    pub(crate) const fn with_amount(self, amount: u64) -> Self {
        Self { amount, ..self }
    }

    /// The counts of a part that began then, and of the ones before.
    pub(crate) fn buckets(&self, start_us: u64, counts: SmallVec<[u64; 2]>) -> PartsState {
        let mut state = PartsState { start_us, empty_at_us: 0, counts };
        self.restamp(&mut state);
        state
    }

    pub(crate) const fn parts(&self) -> u8 {
        self.parts
    }

    pub(crate) const fn window_us(&self) -> u64 {
        self.part_us * self.parts as u64
    }

    pub(crate) fn judge(&self, state: Option<&PartsState>, now: Timestamp, cost: u64) -> Outcome {
        if cost > self.amount {
            return Outcome::Refused(Retry::Never);
        }
        let view = self.view(state, now);
        if self.used(view) + cost > self.amount {
            let at_us = self.passes_at_us(view, cost);
            return Outcome::Refused(Retry::After(at_us.saturating_sub(now.as_micros())));
        }
        Outcome::Allowed
    }

    pub(crate) fn charge(&self, state: &mut Option<PartsState>, now: Timestamp, cost: u64) {
        let state = state.get_or_insert_with(|| self.fresh());
        self.bring_up(state, now);
        state.counts[0] = add(state.counts[0], cost);
        self.restamp(state);
    }

    pub(crate) fn refund(&self, state: &mut PartsState, now: Timestamp, refund: Refund) {
        self.bring_up(state, now);
        let charged_us = refund.charged_at.as_micros().min(state.start_us);
        let age = (state.start_us - charged_us).div_ceil(self.part_us);
        if let Some(count) = usize::try_from(age).ok().and_then(|age| state.counts.get_mut(age)) {
            *count = count.saturating_sub(refund.units);
        }
        self.restamp(state);
    }

    pub(crate) fn standing(&self, state: Option<&PartsState>, now: Timestamp) -> Standing {
        let view = self.view(state, now);
        match self.used(view) {
            0 => Standing::UNUSED,
            used => Standing { used, reset_at_us: self.empty_at_us(view) },
        }
    }

    fn count(&self) -> usize {
        usize::from(self.parts)
    }

    fn fresh(&self) -> PartsState {
        PartsState { start_us: 0, empty_at_us: 0, counts: SmallVec::from_elem(0, self.count() + 1) }
    }

    /// Whether the state is of this window, and not from a clock that has since been set back far.
    fn reads(&self, state: &PartsState, now: Timestamp) -> bool {
        state.counts.len() == self.count() + 1
            && state.start_us.is_multiple_of(self.part_us)
            && !Timestamp::from_micros(state.start_us).is_void_at(now)
    }

    /// A clock that stepped back a little finds the counts as they were left.
    fn view<'a>(&self, state: Option<&'a PartsState>, now: Timestamp) -> View<'a> {
        let state = state.filter(|state| self.reads(state, now));
        let now_us = state.map_or(0, |state| state.start_us).max(now.as_micros());
        let start_us = now_us - now_us % self.part_us;
        let Some(state) = state else { return View { counts: &[], shift: 0, start_us, now_us } };
        let shift = usize::try_from((start_us - state.start_us) / self.part_us).unwrap_or(usize::MAX);
        View { counts: &state.counts, shift, start_us, now_us }
    }

    /// The estimate: every part that lies wholly in the window, and the oldest by its share, rounded up.
    fn used(&self, view: View<'_>) -> u64 {
        let left_us = self.part_us - (view.now_us - view.start_us);
        let oldest = view.count(self.count());
        view.sum(0..self.count()) + scaled_up(oldest, left_us, self.part_us)
    }

    /// The first instant at which `cost` fits. Each step ahead, one more part has left and the next one fades.
    fn passes_at_us(&self, view: View<'_>, cost: u64) -> u64 {
        for gone in 0..=self.count() {
            let full = view.sum(0..self.count() - gone);
            let Some(room) = self.amount.checked_sub(full + cost) else { continue };
            let fading = view.count(self.count() - gone).max(1);
            let faded_us = self.part_us.saturating_sub(scaled_down(room, self.part_us, fading));
            return view.start_us.saturating_add(gone as u64 * self.part_us).saturating_add(faded_us);
        }
        self.empty_at_us(view)
    }

    /// When the newest part that counts anything has left the window.
    fn empty_at_us(&self, view: View<'_>) -> u64 {
        match (0..=self.count()).find(|age| view.count(*age) > 0) {
            Some(age) => view.start_us.saturating_add((self.count() + 1 - age) as u64 * self.part_us),
            None => view.now_us,
        }
    }

    /// Moves the counts to the part that holds `now`; what is of another window starts over.
    fn bring_up(&self, state: &mut PartsState, now: Timestamp) {
        if !self.reads(state, now) {
            *state = self.fresh();
        }
        let View { start_us, shift, .. } = self.view(Some(state), now);
        let len = state.counts.len();
        let shift = shift.min(len);
        state.counts.copy_within(0..len - shift, shift);
        state.counts[..shift].fill(0);
        state.start_us = start_us;
    }

    fn restamp(&self, state: &mut PartsState) {
        let view = View { counts: &state.counts, shift: 0, start_us: state.start_us, now_us: state.start_us };
        state.empty_at_us = self.empty_at_us(view);
    }
}

fn nearest_parts(window_us: u64, parts: u32) -> u32 {
    let divides = |parts: &u32| window_us.is_multiple_of(u64::from(*parts));
    (1..=MAX_PARTS).filter(divides).min_by_key(|divisor| divisor.abs_diff(parts)).unwrap_or(1)
}

impl Portable for SlidingWindow {
    fn write(&self, out: &mut Vec<u8>) {
        put(self.amount, out);
        put(self.window_us(), out);
        out.push(self.parts);
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        Self::new(take(input)?, take_span(input)?, take_byte(input)?.into()).ok()
    }
}

impl Portable for PartsState {
    fn write(&self, out: &mut Vec<u8>) {
        put(self.start_us, out);
        put(self.empty_at_us.wrapping_sub(self.start_us), out);
        put(self.counts.len() as u64, out);
        self.counts.iter().for_each(|count| put(*count, out));
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        let (start_us, span_us, len) = (take(input)?, take(input)?, take_len(input, 1)?);
        let counts = (0..len).map(|_| take(input)).collect::<Option<_>>()?;
        Self::of(start_us, span_us, counts)
    }
}

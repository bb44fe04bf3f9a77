//! States of common limits in 52 bits, and of nearly all others in three words, for stores that keep a great many of them.
//!
//! Packing is exact or refused: what cannot be unpacked as it was is not packed. In narrow states times are kept modulo a
//! horizon, so that they must be looked at before that has passed: a store sweeps what has emptied at least every
//! [`Packing::SWEEP_US`], and takes what it has not swept for longer than a state's [life](Packing::life_us) as empty. Wide
//! states have whole times.

use crate::algorithm::fixed_window::WindowState;
use crate::limit::{Kind, Limit};
use crate::rate::Mark;
use crate::state::{Form, State};
use crate::time::Timestamp;

mod step;

/// Bits of a narrow state, and of the first word of a wide one.
pub const PACKED_BITS: u32 = 52;

/// A packed state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packed {
    /// Of its [`PACKED_BITS`] lower bits.
    pub word: u64,
    /// 0 in a narrow state.
    pub more: [u64; 2],
}

/// Bits of an instant in microseconds: 76 hours.
const TIME_BITS: u32 = 38;
/// How far ahead of the clock an instant can be read: 19 hours. What is further ahead is taken for long past.
const AHEAD_US: u64 = 1 << (TIME_BITS - 2);
/// The fewest and the most bits of the number of a window.
const INDEX_BITS: std::ops::RangeInclusive<u32> = 3..=20;
/// Bits beside an instant.
const SMALL_BITS: u32 = PACKED_BITS - TIME_BITS;
/// Windows shorter than this would come round too soon.
const MIN_WINDOW_US: u64 = 250_000;
/// The longest life of a state that is kept with an instant: a day.
const MAX_TIMED_US: u64 = 86_400_000_000;

/// How the states of a limit are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packing {
    form: PackedForm,
    life_us: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PackedForm {
    /// An instant, and units with parts of a microsecond below them.
    Meter { part_bits: u32 },
    /// The number of a window and its count.
    Aligned { length_us: u64, index_bits: u32 },
    /// An instant and a count.
    FirstHit { length_us: u64 },
    /// The number of a window, its count and that of the one before.
    Buckets { length_us: u64, index_bits: u32 },
    /// An instant, units, and parts of a microsecond.
    WideMeter,
    /// Where a window begins and ends, and its count.
    WideWindow,
    /// Where a part of a window begins, its count and those of the ones before, of so many bits each.
    WideParts { bits: u32, counts: usize },
}

impl Packing {
    /// Packed states are swept at least this often: every hour.
    pub const SWEEP_US: u64 = 3_600_000_000;

    /// How the states of a limit are packed; `None` if they are not.
    pub fn of(limit: &Limit) -> Option<Self> {
        Self::narrow(limit).or_else(|| Self::wide(limit))
    }

    /// Whether a limit's states are likely wide: at once, and not always right.
    #[inline]
    pub fn is_likely_wide(limit: &Limit) -> bool {
        match &limit.kind {
            Kind::Meter(meter) => meter.capacity() >= 1 << (SMALL_BITS - 1),
            Kind::SlidingWindow(window) => window.parts() > 1,
            Kind::FixedWindow(window) => window.is_calendar(),
            _ => false,
        }
    }

    /// Whether it takes three words.
    #[inline]
    pub const fn is_wide(self) -> bool {
        matches!(self.form, PackedForm::WideMeter | PackedForm::WideWindow | PackedForm::WideParts { .. })
    }

    fn wide(limit: &Limit) -> Option<Self> {
        let form = match &limit.kind {
            Kind::Meter(_) => PackedForm::WideMeter,
            Kind::FixedWindow(_) => PackedForm::WideWindow,
            Kind::SlidingWindow(window) => {
                let counts = usize::from(window.parts()) + 1;
                let bits = u128::BITS / (u32::from(window.parts()) + 1);
                // Debts go up to twice the capacity.
                let fits = u128::from(limit.capacity()) * 2 < 1 << bits.min(u64::BITS);
                fits.then_some(PackedForm::WideParts { bits, counts })?
            }
            _ => return None,
        };
        Some(Self { form, life_us: u64::MAX })
    }

    fn narrow(limit: &Limit) -> Option<Self> {
        // Debts of refused requests go up to twice the capacity.
        let fits = |bits: u32| limit.capacity().checked_mul(2).is_some_and(|most| most < 1 << bits);
        match &limit.kind {
            Kind::Meter(meter) => {
                let part_bits = u64::BITS - (meter.rate().units() - 1).leading_zeros();
                let (form, life_us) = (PackedForm::Meter { part_bits }, meter.drain_us().saturating_mul(2));
                let bits = SMALL_BITS.checked_sub(part_bits)?;
                (fits(bits) && life_us <= MAX_TIMED_US).then_some(Self { form, life_us })
            }
            Kind::FixedWindow(window) => {
                let (kind, length_us) = window.identity();
                let index_bits = index_bits(length_us);
                let (form, bits, most_us) = match kind {
                    0 => (PackedForm::Aligned { length_us, index_bits }, PACKED_BITS - index_bits, u64::MAX),
                    1 => (PackedForm::FirstHit { length_us }, SMALL_BITS, MAX_TIMED_US),
                    _ => return None,
                };
                let long_enough = kind == 1 || length_us >= MIN_WINDOW_US;
                let is_packed = fits(bits) && long_enough && length_us <= most_us;
                is_packed.then_some(Self { form, life_us: length_us })
            }
            Kind::SlidingWindow(window) if window.parts() == 1 => {
                let length_us = window.window_us();
                let index_bits = index_bits(length_us);
                let is_packed = fits(half_of(index_bits)) && length_us >= MIN_WINDOW_US;
                let form = PackedForm::Buckets { length_us, index_bits };
                let life_us = length_us.saturating_mul(2);
                is_packed.then_some(Self { form, life_us })
            }
            _ => None,
        }
    }

    /// Nothing of a state counts any more this long after it was written.
    pub const fn life_us(self) -> u64 {
        self.life_us
    }

    /// A state as that limit left it; `None` if it does not fit.
    pub fn pack(self, limit: &Limit, state: &State, now: Timestamp) -> Option<Packed> {
        let packed = self.pack_admitted(state)?;
        let lives_too_long = state.empty_at() > now.plus_us(self.life_us);
        (!lives_too_long && self.unpack(limit, packed, now) == *state).then_some(packed)
    }

    /// The same for a state that the limit has just admitted something to: it is within the limit, and nothing of it is
    /// older than its life.
    #[inline]
    pub fn pack_admitted(self, state: &State) -> Option<Packed> {
        let word = match (self.form, &state.0) {
            (_, Form::Empty) => 0,
            (PackedForm::Meter { part_bits }, Form::Meter(state)) => {
                let small = fit(state.used(), SMALL_BITS - part_bits)? << part_bits;
                timed(state.since().us, small | fit(state.since().part, part_bits)?)
            }
            (PackedForm::Aligned { length_us, index_bits }, Form::Window(state)) => {
                let count = fit(state.used(), PACKED_BITS - index_bits)?;
                numbered(state.start_us() / length_us, index_bits, count)
            }
            (PackedForm::FirstHit { .. }, Form::Window(state)) => {
                timed(state.start_us(), fit(state.used(), SMALL_BITS)?)
            }
            (PackedForm::Buckets { length_us, index_bits }, Form::Parts(state)) => {
                let [newest, oldest] = *state.counts() else { return None };
                let half = half_of(index_bits);
                let counts = fit(newest, half)? << half | fit(oldest, half)?;
                numbered(state.start_us() / length_us, index_bits, counts)
            }
            _ => return self.pack_wide(state),
        };
        Some(Packed { word, more: [0; 2] })
    }

    #[inline(never)]
    fn pack_wide(self, state: &State) -> Option<Packed> {
        let (us, more) = match (self.form, &state.0) {
            (PackedForm::WideMeter, Form::Meter(state)) => {
                (state.since().us, [state.used(), state.since().part])
            }
            (PackedForm::WideWindow, Form::Window(state)) => {
                (state.start_us(), [state.used(), state.empty_at_us()])
            }
            (PackedForm::WideParts { bits, counts }, Form::Parts(state))
                if state.counts().len() == counts =>
            {
                let join = |all: u128, count: &u64| Some(all << bits | u128::from(fit(*count, bits)?));
                (state.start_us(), halves(state.counts().iter().rev().try_fold(0, join)?))
            }
            _ => return None,
        };
        Some(Packed { word: fit(us, PACKED_BITS)?, more })
    }

    /// The state again. `limit` is the one that left it, with its numbers of then.
    #[inline]
    pub fn unpack(self, limit: &Limit, packed: Packed, now: Timestamp) -> State {
        let word = packed.word;
        let small = low(word, SMALL_BITS);
        let form = match (self.form, &limit.kind) {
            (PackedForm::Meter { part_bits }, Kind::Meter(meter)) if small >> part_bits > 0 => {
                let since = Mark { us: instant(word, now), part: low(small, part_bits) };
                Form::Meter(meter.stored(small >> part_bits, since))
            }
            (PackedForm::Aligned { length_us, index_bits }, _) if low(word, PACKED_BITS - index_bits) > 0 => {
                let count = low(word, PACKED_BITS - index_bits);
                let start_us = number(word, now, (length_us, index_bits)).saturating_mul(length_us);
                Form::Window(WindowState::new(count, start_us, start_us.saturating_add(length_us)))
            }
            (PackedForm::FirstHit { length_us }, _) if small > 0 => {
                let start_us = instant(word, now);
                Form::Window(WindowState::new(small, start_us, start_us.saturating_add(length_us)))
            }
            (PackedForm::Buckets { length_us, index_bits }, Kind::SlidingWindow(window))
                if low(word, PACKED_BITS - index_bits) > 0 =>
            {
                let (count, half) = (low(word, PACKED_BITS - index_bits), half_of(index_bits));
                let start_us = number(word, now, (length_us, index_bits)).saturating_mul(length_us);
                Form::Parts(window.buckets(start_us, [count >> half, low(count, half)].into()))
            }
            _ => self.unpack_wide(limit, packed),
        };
        State(form)
    }

    #[inline(never)]
    fn unpack_wide(self, limit: &Limit, Packed { word, more }: Packed) -> Form {
        match (self.form, &limit.kind) {
            _ if more == [0; 2] => Form::Empty,
            (PackedForm::WideMeter, Kind::Meter(meter)) => {
                Form::Meter(meter.stored(more[0], Mark { us: word, part: more[1] }))
            }
            (PackedForm::WideWindow, Kind::FixedWindow(_)) => {
                Form::Window(WindowState::new(more[0], word, more[1]))
            }
            (PackedForm::WideParts { bits, counts }, Kind::SlidingWindow(window)) => {
                let all = u128::from(more[1]) << 64 | u128::from(more[0]);
                let count = |index: usize| (all >> (bits as usize * index)) & ((1 << bits) - 1);
                let counts = (0..counts).map(|index| u64::try_from(count(index)).unwrap_or(u64::MAX));
                Form::Parts(window.buckets(word, counts.collect()))
            }
            _ => Form::Empty,
        }
    }
}

/// A wide number as two words, the lower one first.
#[expect(clippy::cast_possible_truncation, reason = "both halves of it")]
const fn halves(number: u128) -> [u64; 2] {
    [number as u64, (number >> 64) as u64]
}

const fn low(word: u64, bits: u32) -> u64 {
    word & ((1 << bits) - 1)
}

/// A number, if it has not more bits.
fn fit(number: u64, bits: u32) -> Option<u64> {
    (number.checked_shr(bits).unwrap_or(0) == 0).then_some(number)
}

fn timed(us: u64, small: u64) -> u64 {
    low(us, TIME_BITS) << SMALL_BITS | small
}

fn numbered(index: u64, index_bits: u32, count: u64) -> u64 {
    low(index, index_bits) << (PACKED_BITS - index_bits) | count
}

/// As many bits as windows need that they come round no sooner than instants do.
fn index_bits(length_us: u64) -> u32 {
    let windows = (1_u64 << TIME_BITS) / length_us.max(1);
    (u64::BITS - windows.leading_zeros() + 1).clamp(*INDEX_BITS.start(), *INDEX_BITS.end())
}

/// The bits of each of two counts.
const fn half_of(index_bits: u32) -> u32 {
    (PACKED_BITS - index_bits) / 2
}

/// The latest instant of that remainder that is not too far ahead of the clock.
fn instant(word: u64, now: Timestamp) -> u64 {
    latest(word >> SMALL_BITS, TIME_BITS, now.as_micros().saturating_add(AHEAD_US))
}

fn number(word: u64, now: Timestamp, (length_us, index_bits): (u64, u32)) -> u64 {
    let ahead = 1 << (index_bits - 2);
    latest(word >> (PACKED_BITS - index_bits), index_bits, now.as_micros() / length_us + ahead)
}

/// The largest number up to `most` with that remainder modulo 2^bits.
fn latest(remainder: u64, bits: u32, most: u64) -> u64 {
    most.saturating_sub(low(most.wrapping_sub(remainder), bits))
}

#[cfg(test)]
mod tests;

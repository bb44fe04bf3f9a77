//! Limits and states as bytes, for stores that keep them beyond the life of a process: compact, exact, and read with
//! suspicion. What cannot be a limit or a state is not read as one.
//!
//! Numbers are written in groups of seven bits, the lowest first, so that small ones are short.

use std::time::Duration;

use crate::algorithm::MAX_USED;
use crate::algorithm::fixed_window::WindowState;
use crate::algorithm::meter::MeterState;
use crate::algorithm::sliding_window::PartsState;
use crate::limit::{Algorithm, Kind, Limit};
use crate::rate::Rate;
use crate::state::{Form, State};

/// The version of the encoding. It changes with every change of it: other versions are not read.
pub const VERSION: u8 = 1;

/// What is written beside how it is read.
pub(crate) trait Portable: Sized {
    fn write(&self, out: &mut Vec<u8>);
    fn read(input: &mut &[u8]) -> Option<Self>;
}

impl Limit {
    /// Writes it behind what is there.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        out.push(self.algorithm() as u8);
        put(self.share().into(), out);
        match &self.kind {
            Kind::Meter(meter) => meter.write(out),
            Kind::FixedWindow(window) => window.write(out),
            Kind::SlidingWindow(window) => window.write(out),
            Kind::SlidingLog(log) => log.write(out),
            Kind::Concurrency(slots) => slots.write(out),
        }
    }

    /// Takes one from the beginning of what is there; `None` if that is none. Its numbers are held to the same bounds as
    /// those that operators write.
    pub fn read_from(input: &mut &[u8]) -> Option<Self> {
        let algorithm = match take_byte(input)? {
            1 => Algorithm::Gcra,
            2 => Algorithm::TokenBucket,
            3 => Algorithm::LeakyBucket,
            4 => Algorithm::FixedWindow,
            5 => Algorithm::SlidingWindow,
            6 => Algorithm::SlidingLog,
            7 => Algorithm::Concurrency,
            _ => return None,
        };
        let share = u32::try_from(take(input)?).ok()?;
        let kind = match algorithm {
            Algorithm::Gcra | Algorithm::TokenBucket | Algorithm::LeakyBucket => {
                Kind::Meter(Portable::read(input)?)
            }
            Algorithm::FixedWindow => Kind::FixedWindow(Portable::read(input)?),
            Algorithm::SlidingWindow => Kind::SlidingWindow(Portable::read(input)?),
            Algorithm::SlidingLog => Kind::SlidingLog(Portable::read(input)?),
            Algorithm::Concurrency => Kind::Concurrency(Portable::read(input)?),
        };
        Self::of(algorithm, share, kind)
    }
}

impl State {
    /// Writes it behind what is there.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        match &self.0 {
            Form::Empty => out.push(0),
            Form::Meter(state) => tagged(1, state, out),
            Form::Window(state) => tagged(2, state, out),
            Form::Parts(state) => tagged(3, state, out),
            Form::Log(state) => tagged(4, &**state, out),
            Form::Slots(state) => tagged(5, &**state, out),
        }
    }

    /// Takes one from the beginning of what is there; `None` if that is none.
    pub fn read_from(input: &mut &[u8]) -> Option<Self> {
        Some(Self(match take_byte(input)? {
            0 => Form::Empty,
            1 => Form::Meter(Portable::read(input)?),
            2 => Form::Window(Portable::read(input)?),
            3 => Form::Parts(Portable::read(input)?),
            4 => Form::Log(Box::new(Portable::read(input)?)),
            5 => Form::Slots(Box::new(Portable::read(input)?)),
            _ => return None,
        }))
    }
}

/// States of the common kinds from their numbers, for stores that write them in their own way; `None` if they cannot be states.
impl State {
    /// A meter: units, the instant since which they drain and its part, and the time until nothing of it counts.
    pub fn from_meter(numbers: [u64; 4]) -> Option<Self> {
        MeterState::of(numbers).map(|state| Self(Form::Meter(state)))
    }

    /// A fixed window: units, its first instant and its length.
    pub fn from_window(numbers: [u64; 3]) -> Option<Self> {
        WindowState::of(numbers).map(|state| Self(Form::Window(state)))
    }

    /// A sliding window: the first instant of its newest part, the time until nothing of it counts, and the counts of its parts, the
    /// newest first.
    pub fn from_parts([start_us, span_us]: [u64; 2], counts: &[u64]) -> Option<Self> {
        PartsState::of(start_us, span_us, counts.into()).map(|state| Self(Form::Parts(state)))
    }
}

/// Writes a number behind what is there.
pub fn put(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(low_byte(number) | 0x80);
        number >>= 7;
    }
    out.push(low_byte(number));
}

/// Takes a number from the beginning of what is there; `None` if that is none, or one of more than 64 bits.
pub fn take(input: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..u64::BITS).step_by(7) {
        let byte = take_byte(input)?;
        let bits = u64::from(byte & 0x7f);
        if bits << shift >> shift != bits {
            return None;
        }
        number |= bits << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

/// A number that counts units: not more than any counter holds.
pub(crate) fn take_used(input: &mut &[u8]) -> Option<u64> {
    take(input).filter(|used| *used <= MAX_USED)
}

/// A length of time.
pub(crate) fn take_span(input: &mut &[u8]) -> Option<Duration> {
    take(input).map(Duration::from_micros)
}

/// A number of things of which each takes at least so many bytes: not more than can follow.
pub(crate) fn take_len(input: &mut &[u8], bytes_each: usize) -> Option<usize> {
    let len = usize::try_from(take(input)?).ok()?;
    (len <= input.len() / bytes_each).then_some(len)
}

pub(crate) fn take_byte(input: &mut &[u8]) -> Option<u8> {
    let (first, rest) = input.split_first()?;
    *input = rest;
    Some(*first)
}

fn tagged(tag: u8, state: &impl Portable, out: &mut Vec<u8>) {
    out.push(tag);
    state.write(out);
}

const fn low_byte(number: u64) -> u8 {
    (number & 0x7f) as u8
}

impl Portable for Rate {
    fn write(&self, out: &mut Vec<u8>) {
        put(self.units(), out);
        put(self.per_us(), out);
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        Self::new(take(input)?, take_span(input)?).ok()
    }
}

#[cfg(test)]
mod tests;

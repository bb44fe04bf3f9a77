//! The common check: limits with small numbers, in few values, in one group that pays if it is admitted.
//!
//! The lean script is told little and answers with the values as they were; the same sums, done again here, give the verdicts. The
//! tests compare both with the reference store.

use smallvec::SmallVec;
use tidegate_core::{Charge, Limit, Numbers, Pay, Plan, State, Timestamp, Verdict, Window};
use tidegate_store::{Answer, Verdicts};

use crate::bytes::put_packed;
use crate::call::Call;
use crate::names::{Form, Seat};
use crate::{scripts, value};

/// The most charges that it is worth it for.
const MOST_CHARGES: usize = 8;

/// Kinds of entries.
const METER: u64 = 1;
const FIXED: u64 = 3;
const SLIDING: u64 = 5;

/// What is asked of the lean script: of each value that the plan's counters are in, with which charges.
pub(crate) struct Lean<'seats> {
    keys: SmallVec<[&'seats [u8]; 2]>,
    told: SmallVec<[Vec<u8>; 1]>,
}

/// Where a charge stands in what the script is told.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    place: usize,
    id: u32,
    charge: u8,
}

impl<'seats> Lean<'seats> {
    /// The question, if the plan is a common one.
    pub(crate) fn new(plan: &Plan, seats: &'seats [Seat], now_us: u64, slack_ms: u32) -> Option<Self> {
        let packed = seats.iter().all(|seat| seat.form == Form::Packed);
        if plan.is_empty() || plan.len() > MOST_CHARGES || plan.idempotency().is_some() || !packed {
            return None;
        }
        let mut lean = Self { keys: SmallVec::new(), told: SmallVec::new() };
        let order = lean.order(seats);
        for place in order.chunk_by(|one, other| one.place == other.place) {
            let mut told = Vec::with_capacity(16 + 26 * place.len());
            let more = u64::from(lean.told.len() + 1 < lean.keys.len());
            for number in [now_us, slack_ms.into(), more, place.len() as u64] {
                put_packed(number, &mut told);
            }
            let mut last = None;
            for entry in place {
                let charge = plan.get(entry.charge.into());
                if last.replace(entry.id) == Some(entry.id) || !is_common(&charge) {
                    return None;
                }
                let (kind, numbers) = numbers(charge.limit, charge.cost)?;
                put_packed(kind << 32 | u64::from(entry.id), &mut told);
                for number in numbers {
                    put_packed(number, &mut told);
                }
            }
            lean.told.push(told);
        }
        Some(lean)
    }

    /// The charges value by value, and in each value by their ids; what values there are is kept.
    fn order(&mut self, seats: &'seats [Seat]) -> SmallVec<[Entry; MOST_CHARGES]> {
        let mut order: SmallVec<[Entry; MOST_CHARGES]> = SmallVec::new();
        for (charge, seat) in (0..).zip(seats) {
            let place = self.keys.iter().position(|key| *key == seat.key.as_slice()).unwrap_or_else(|| {
                self.keys.push(&seat.key);
                self.keys.len() - 1
            });
            order.push(Entry { place, id: seat.id, charge });
        }
        order.sort_unstable();
        order
    }

    /// The call, and the keys in its order.
    pub(crate) fn call(self) -> (Call, SmallVec<[&'seats [u8]; 2]>) {
        let keys = self.keys.iter().map(|key| key.to_vec()).collect();
        (Call::new(&scripts::LEAN, keys, self.told), self.keys)
    }
}

/// What the script answers: the values as they were, and the server's time if that counts.
pub(crate) struct Before {
    values: SmallVec<[Vec<u8>; 1]>,
    now: Option<Timestamp>,
}

/// Reads a reply about so many values: the time and the value in one string if there was but one in the call, otherwise the values
/// and then the time in microseconds. `None` if the check is not a common one, `Err` if it is no reply of this script.
pub(crate) fn before(reply: redis::Value, places: usize) -> Result<Option<Before>, Garbled> {
    match reply {
        redis::Value::Nil if places == 1 => Ok(None),
        redis::Value::BulkString(bytes) if places == 1 => one(bytes).map(Some).ok_or(Garbled),
        redis::Value::Array(mut parts) if (places..=places + 1).contains(&parts.len()) => {
            let now = match parts.drain(places..).next() {
                Some(redis::Value::Int(micros)) => {
                    Some(Timestamp::from_micros(micros.try_into().map_err(|_| Garbled)?))
                }
                Some(_) => return Err(Garbled),
                None => None,
            };
            let value = |part| match part {
                redis::Value::BulkString(value) => Ok(Some(value)),
                redis::Value::Nil => Ok(None),
                _ => Err(Garbled),
            };
            let values = parts.into_iter().map(value).collect::<Result<Option<_>, _>>()?;
            Ok(values.map(|values| Before { values, now }))
        }
        _ => Err(Garbled),
    }
}

/// One value behind the time, if there is one: a value begins with its version, which is no digit.
fn one(mut bytes: Vec<u8>) -> Option<Before> {
    let mut now = None;
    if bytes.first().is_some_and(u8::is_ascii_digit) {
        let end = bytes.iter().enumerate().filter(|(_, byte)| **byte == b' ').nth(1)?.0;
        now = Some(instant(&bytes[..end])?);
        bytes.drain(..=end);
    }
    Some(Before { values: SmallVec::from_iter([bytes]), now })
}

/// A reply that cannot be understood.
pub(crate) struct Garbled;

/// Seconds and microseconds, as the server says them.
fn instant(time: &[u8]) -> Option<Timestamp> {
    let middle = time.iter().position(|byte| *byte == b' ')?;
    let (seconds, micros) = (number(&time[..middle])?, number(&time[middle + 1..])?);
    Some(Timestamp::from_micros(seconds.checked_mul(1_000_000)?.checked_add(micros)?))
}

fn number(digits: &[u8]) -> Option<u64> {
    let is_number = (1..=18).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
    is_number.then(|| digits.iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0')))
}

/// The answer, from the values of these keys as they were, at the server's time or at that one; `None` if they cannot be read.
pub(crate) fn answer(
    plan: &Plan,
    (seats, keys): (&[Seat], &[&[u8]]),
    before: &Before,
    now: Timestamp,
) -> Option<Answer> {
    let now = before.now.unwrap_or(now);
    let mut states = states(seats, keys, before)?;
    let mut verdicts = Verdicts::new();
    for (charge, state) in plan.charges().zip(&mut states) {
        verdicts.push(charge.limit.step(state, now, charge.cost).ok()?);
    }
    if verdicts.iter().all(Verdict::allowed) {
        return Some(Answer::new(plan, verdicts, |_| true));
    }
    // Nothing was charged, so they stand as they were.
    let states = self::states(seats, keys, before)?;
    let judged = |(charge, state): (Charge<'_>, &State)| {
        charge.limit.verdict(state, now, charge.limit.judge(state, now, charge.cost))
    };
    Some(Answer::new(plan, plan.charges().zip(&states).map(judged).collect(), |_| false))
}

/// The states of a plan's counters, from the values of these keys.
fn states(seats: &[Seat], keys: &[&[u8]], before: &Before) -> Option<SmallVec<[State; 4]>> {
    let mut states: SmallVec<[State; 4]> = seats.iter().map(|_| State::EMPTY).collect();
    for (key, value) in keys.iter().zip(&before.values) {
        let mut rest = value.as_slice();
        if !rest.is_empty() {
            value::take_head(&mut rest)?;
        }
        while !rest.is_empty() {
            let (id, state) = value::take_entry(&mut rest)?;
            let is_it = |seat: &Seat| seat.id == id && (keys.len() == 1 || seat.key.as_slice() == *key);
            if let Some(index) = seats.iter().position(is_it) {
                states[index] = state;
            }
        }
    }
    Some(states)
}

fn is_common(charge: &Charge<'_>) -> bool {
    charge.group == 0 && charge.pay == Pay::IfAdmitted && charge.cost > 0
}

/// The kind and the numbers of a charge, if they fit into an entry and all sums over it stay small: below 2^53 while it is within
/// its limit.
fn numbers(limit: &Limit, cost: u64) -> Option<(u64, [u64; 4])> {
    let fit = |numbers: [(u64, u32); 4]| {
        let fits = numbers.iter().all(|(number, bytes)| number >> (8 * bytes) == 0);
        fits.then(|| numbers.map(|(number, _)| number))
    };
    match limit.numbers() {
        Numbers::Meter { capacity, rate, .. } => {
            let product = capacity.checked_mul(rate.per_us()).filter(|product| *product < 1 << 52);
            product.filter(|_| limit.window_us().is_some_and(|drain_us| drain_us < (1 << 40) - 1))?;
            Some((METER, fit([(cost, 3), (capacity, 3), (rate.units(), 2), (rate.per_us(), 5)])?))
        }
        Numbers::FixedWindow { amount, window } => {
            let (begins, length) = match window {
                Window::Aligned(length) => (0, length),
                Window::FirstHit(length) => (1, length),
                Window::Calendar(_) => return None,
            };
            let length_us = u64::try_from(length.as_micros()).ok()?;
            Some((FIXED, fit([(cost, 3), (amount, 3), (begins, 1), (length_us, 5)])?))
        }
        Numbers::SlidingWindow { amount, part_us, parts: 1 } => {
            Some((SLIDING, fit([(cost, 3), (amount, 3), (0, 1), (part_us, 4)])?))
        }
        _ => None,
    }
}

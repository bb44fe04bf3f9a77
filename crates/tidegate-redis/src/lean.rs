//! The common check: limits of one entity, in one value, with small numbers, in one group that pays if it is admitted.
//!
//! The lean script is told little and answers with the value as it was; the same sums, done again here, give the verdicts. The
//! tests compare both with the reference store.

use smallvec::SmallVec;
use tidegate_core::{Charge, Limit, Numbers, Outcome, Pay, Plan, State, Timestamp, Window};
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

/// What is asked of the lean script.
pub(crate) struct Lean {
    told: Vec<u8>,
}

impl Lean {
    /// The question, if the plan is a common one.
    pub(crate) fn new(plan: &Plan, seats: &[Seat], now_us: u64, slack_ms: u32) -> Option<Self> {
        let first = seats.first().filter(|first| first.form == Form::Packed)?;
        if plan.len() > MOST_CHARGES || plan.idempotency().is_some() {
            return None;
        }
        let mut told = Vec::with_capacity(4 + 22 * plan.len());
        let count = u64::try_from(plan.len()).ok()?;
        for number in [now_us, slack_ms.into(), count] {
            put_packed(number, &mut told);
        }
        let mut order: SmallVec<[usize; MOST_CHARGES]> = (0..plan.len()).collect();
        order.sort_unstable_by_key(|index| seats[*index].id);
        let mut last = None;
        for index in order {
            let (charge, seat) = (plan.get(index), &seats[index]);
            if seat.key != first.key || last.replace(seat.id) == Some(seat.id) || !is_common(&charge) {
                return None;
            }
            let (kind, numbers) = numbers(charge.limit, charge.cost)?;
            put_packed(kind << 32 | u64::from(seat.id), &mut told);
            for number in numbers {
                put_packed(number, &mut told);
            }
        }
        Some(Self { told })
    }

    /// The call.
    pub(crate) fn call(self, seats: &[Seat]) -> Call {
        let keys = seats.first().map(|seat| seat.key.clone()).into_iter().collect();
        Call::new(&scripts::LEAN, keys, SmallVec::from_iter([self.told]))
    }
}

/// What the script answers: the value as it was, and the server's time if that counts. Nothing if the check is not a common one.
pub(crate) struct Before {
    value: Vec<u8>,
    now: Option<Timestamp>,
}

/// Reads a reply: of a call that ran alone the time and the value in one string, of joined ones the value and then the time.
/// `Err` if it is no reply of this script.
pub(crate) fn before(reply: redis::Value) -> Result<Option<Before>, Garbled> {
    match reply {
        redis::Value::Nil => Ok(None),
        redis::Value::BulkString(mut bytes) => {
            // A value begins with its version, which is no digit.
            if !bytes.first().is_some_and(u8::is_ascii_digit) {
                return Ok(Some(Before { value: bytes, now: None }));
            }
            let mut spaces = (0..bytes.len()).filter(|index| bytes[*index] == b' ');
            let end = spaces.nth(1).ok_or(Garbled)?;
            let now = Some(instant(&bytes[..end]).ok_or(Garbled)?);
            bytes.drain(..=end);
            Ok(Some(Before { value: bytes, now }))
        }
        redis::Value::Array(parts) => {
            let mut parts = parts.into_iter();
            let (value, time) = (parts.next().ok_or(Garbled)?, parts.next());
            let now = match &time {
                Some(redis::Value::BulkString(time)) => Some(instant(time).ok_or(Garbled)?),
                Some(_) => return Err(Garbled),
                None => None,
            };
            match value {
                redis::Value::BulkString(value) => Ok(Some(Before { value, now })),
                redis::Value::Nil => Ok(None),
                _ => Err(Garbled),
            }
        }
        _ => Err(Garbled),
    }
}

/// A reply that cannot be understood.
pub(crate) struct Garbled;

/// Seconds and microseconds, as the server says them.
fn instant(time: &[u8]) -> Option<Timestamp> {
    let (seconds, micros) = std::str::from_utf8(time).ok()?.split_once(' ')?;
    let (seconds, micros) = (seconds.parse::<u64>().ok()?, micros.parse().ok()?);
    Some(Timestamp::from_micros(seconds.checked_mul(1_000_000)?.checked_add(micros)?))
}

/// The answer, from the value as it was, at the server's time or at that one; `None` if it cannot be read.
pub(crate) fn answer(plan: &Plan, seats: &[Seat], before: &Before, now: Timestamp) -> Option<Answer> {
    let (now, mut reply) = (before.now.unwrap_or(now), before.value.as_slice());
    let mut states: SmallVec<[State; 4]> = SmallVec::from_elem(State::EMPTY, seats.len());
    if !reply.is_empty() {
        value::take_head(&mut reply)?;
    }
    while !reply.is_empty() {
        let (id, state) = value::take_entry(&mut reply)?;
        if let Some(index) = seats.iter().position(|seat| seat.id == id) {
            states[index] = state;
        }
    }
    let judge = |(charge, state): (Charge<'_>, &State)| charge.limit.judge(state, now, charge.cost);
    let outcomes: SmallVec<[Outcome; 4]> = plan.charges().zip(&states).map(judge).collect();
    let passes = outcomes.iter().all(Outcome::allowed);
    let verdicts: Verdicts = plan
        .charges()
        .zip(&mut states)
        .zip(outcomes)
        .map(|((charge, state), outcome)| {
            if passes {
                charge.limit.charge(state, now, charge.cost, plan.ticket());
            }
            charge.limit.verdict(state, now, outcome)
        })
        .collect();
    Some(Answer::new(plan, verdicts, |_| passes))
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

//! The common check: limits of one entity, in one value, with small numbers, in one group that pays if it is admitted.
//!
//! The lean script is told little and answers with the value as it was; the same sums, done again here, give the verdicts. The
//! tests compare both with the reference store.

use smallvec::SmallVec;
use tidegate_core::{Charge, Limit, Numbers, Outcome, Pay, Plan, State, Timestamp, Window};
use tidegate_store::{Answer, Verdicts};

use crate::bytes::double;
use crate::call::Call;
use crate::names::{Form, Seat};
use crate::{scripts, value};

/// The most charges that it is worth it for.
const MOST_CHARGES: usize = 8;

/// The instant, how much longer values are kept, and how many charges there are if all are meters.
const HEAD_BYTES: usize = 13;

/// Kinds of charges.
const METER: u8 = 1;
const ALIGNED: u8 = 3;
const FIRST_HIT: u8 = 4;
const SLIDING: u8 = 5;

/// What is asked of the lean script.
pub(crate) struct Lean {
    told: Vec<u8>,
}

/// Writes numbers in so many bytes each, if they fit.
fn put<const N: usize>(fields: [(u64, usize); N], out: &mut Vec<u8>) -> Option<()> {
    for (number, bytes) in fields {
        if number >> (8 * bytes) > 0 {
            return None;
        }
        out.extend_from_slice(&number.to_le_bytes()[..bytes]);
    }
    Some(())
}

impl Lean {
    /// The question, if the plan is a common one.
    pub(crate) fn new(plan: &Plan, seats: &[Seat], now_us: u64, slack_ms: u32) -> Option<Self> {
        let first = seats.first().filter(|first| first.form == Form::Packed)?;
        if plan.len() > MOST_CHARGES || plan.idempotency().is_some() {
            return None;
        }
        let mut told = Vec::with_capacity(HEAD_BYTES + 18 * plan.len());
        told.extend(double(now_us).to_le_bytes());
        told.extend(slack_ms.to_le_bytes());
        told.push(0);
        let mut order: SmallVec<[usize; MOST_CHARGES]> = (0..plan.len()).collect();
        order.sort_unstable_by_key(|index| seats[*index].id);
        let mut last = None;
        for index in order {
            let (charge, seat) = (plan.get(index), &seats[index]);
            if seat.key != first.key || last.replace(seat.id) == Some(seat.id) || !is_common(&charge) {
                return None;
            }
            told.extend(seat.id.to_le_bytes());
            put_charge(charge.limit, charge.cost, &mut told)?;
        }
        if told[HEAD_BYTES..].chunks(18).all(|charge| charge.ends_with(&[METER])) {
            told[HEAD_BYTES - 1] = u8::try_from(plan.len()).ok()?;
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

/// Reads a reply: one of an array, or the only one in it. `Err` if it is no reply of this script.
pub(crate) fn before(reply: redis::Value) -> Result<Option<Before>, Garbled> {
    match reply {
        redis::Value::Nil => Ok(None),
        redis::Value::Array(mut parts) if matches!(parts.first(), Some(redis::Value::BulkString(_))) => {
            let time = parts.split_off(1);
            let Some(redis::Value::BulkString(value)) = parts.pop() else { return Err(Garbled) };
            let now = match time.as_slice() {
                [] => None,
                [seconds, micros] => Some(instant(seconds, micros).ok_or(Garbled)?),
                _ => return Err(Garbled),
            };
            Ok(Some(Before { value, now }))
        }
        redis::Value::Array(mut replies) if replies.len() == 1 => before(replies.remove(0)),
        _ => Err(Garbled),
    }
}

/// A reply that cannot be understood.
pub(crate) struct Garbled;

fn instant(seconds: &redis::Value, micros: &redis::Value) -> Option<Timestamp> {
    let number = |value: &redis::Value| match value {
        redis::Value::BulkString(digits) => std::str::from_utf8(digits).ok()?.parse::<u64>().ok(),
        _ => None,
    };
    Some(Timestamp::from_micros(number(seconds)?.checked_mul(1_000_000)?.checked_add(number(micros)?)?))
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

/// Writes a charge, if all sums over it stay small: below 2^53 while it is within its limit.
fn put_charge(limit: &Limit, cost: u64, told: &mut Vec<u8>) -> Option<()> {
    match limit.numbers() {
        Numbers::Meter { capacity, rate, .. } => {
            let product = capacity.checked_mul(rate.per_us()).filter(|product| *product < 1 << 52);
            product.filter(|_| limit.window_us().is_some_and(|drain_us| drain_us < (1 << 40) - 1))?;
            put([(cost, 3), (capacity, 3), (rate.units(), 2), (rate.per_us(), 5), (METER.into(), 1)], told)
        }
        Numbers::FixedWindow { amount, window } => {
            let (kind, length) = match window {
                Window::Aligned(length) => (ALIGNED, length),
                Window::FirstHit(length) => (FIRST_HIT, length),
                Window::Calendar(_) => return None,
            };
            let length_us = u64::try_from(length.as_micros()).ok()?;
            put([(cost, 4), (amount, 4), (length_us, 5), (kind.into(), 1)], told)
        }
        Numbers::SlidingWindow { amount, part_us, parts: 1 } if part_us < 1 << 32 => {
            put([(cost, 3), (amount, 3), (part_us, 7), (SLIDING.into(), 1)], told)
        }
        _ => None,
    }
}

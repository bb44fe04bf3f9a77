//! What the general script answers, read with suspicion.

use tidegate_core::{Outcome, Plan, Retry, Ticket, Timestamp, Verdict};
use tidegate_store::{Answer, Verdicts};

use crate::bytes::{put_double, take, take_byte, take_double};

/// An answer to charges.
#[derive(Clone)]
pub(crate) struct Told {
    pub(crate) ticket: Ticket,
    now: Timestamp,
    pub(crate) delay_us: u64,
    pub(crate) charges: Vec<ToldCharge>,
}

/// The word on one charge.
#[derive(Clone, Copy)]
pub(crate) struct ToldCharge {
    pub(crate) verdict: Verdict,
    /// Whether it was paid.
    pub(crate) paid: bool,
    /// As it was written.
    bytes: [u8; CHARGE_BYTES],
}

const CHARGE_BYTES: usize = 42;

impl Told {
    /// Reads what is behind the first byte of an answer.
    pub(crate) fn read(mut input: &[u8]) -> Option<Self> {
        let input = &mut input;
        let now = Timestamp::from_micros(take_double(input)?);
        let ticket = Ticket(u128::from_be_bytes(take(input)?));
        let delay_us = take_double(input)?;
        let mut charges = Vec::with_capacity(4);
        while !input.is_empty() {
            charges.push(ToldCharge::read(take(input)?)?);
        }
        Some(Self { ticket, now, delay_us, charges })
    }

    /// One answer of several, whose charges have these places in the plan; `None` if they are not all there.
    pub(crate) fn joined(plan: &Plan, parts: &[(&[u8], &Self)]) -> Option<Self> {
        let mut charges = vec![None; plan.len()];
        for (indices, told) in parts {
            for (index, charge) in indices.iter().zip(&told.charges) {
                *charges.get_mut(usize::from(*index))? = Some(*charge);
            }
        }
        let charges: Vec<ToldCharge> = charges.into_iter().collect::<Option<_>>()?;
        let first = plan.charges().zip(&charges).filter(|(charge, _)| charge.group == 0);
        let delay_us = first.map(|(_, told)| told.verdict.delay_us()).max().unwrap_or(0);
        let now = parts.iter().map(|(_, told)| told.now).max().unwrap_or(Timestamp::ZERO);
        Some(Self { ticket: plan.ticket(), now, delay_us, charges })
    }

    /// Writes it as scripts do, first byte included.
    pub(crate) fn write_to(&self, out: &mut Vec<u8>) {
        out.push(b'A');
        put_double(self.now.as_micros(), out);
        out.extend(self.ticket.0.to_be_bytes());
        put_double(self.delay_us, out);
        self.charges.iter().for_each(|charge| out.extend(charge.bytes));
    }

    /// Keeps the word on each charge, and tells the counters as they were left; what does not stay paid was given back.
    pub(crate) fn leave(&mut self, after: &Self, stays: impl Fn(usize) -> bool) {
        for (at, (charge, left)) in self.charges.iter_mut().zip(&after.charges).enumerate() {
            let outcome = charge.verdict.outcome;
            let next_after_us = if outcome == Outcome::Allowed { left.verdict.next_after_us } else { 0 };
            charge.verdict = Verdict { outcome, next_after_us, ..left.verdict };
            charge.paid &= stays(at);
        }
    }

    pub(crate) fn verdicts(&self) -> Verdicts {
        self.charges.iter().map(|charge| charge.verdict).collect()
    }

    /// The answer to a plan with as many charges.
    pub(crate) fn answer(&self, plan: &Plan) -> Option<Answer> {
        if plan.len() != self.charges.len() {
            return None;
        }
        let mut answer = Answer::new(plan, self.verdicts(), |index| self.charges[index].paid);
        answer.ticket = self.ticket;
        Some(answer)
    }
}

impl ToldCharge {
    fn read(bytes: [u8; CHARGE_BYTES]) -> Option<Self> {
        let mut rest = bytes.as_slice();
        let input = &mut rest;
        let (paid, code, wait_us) = (take_byte(input)?, take_byte(input)?, take_double(input)?);
        let (limit, used, reset_after_us) = (take_double(input)?, take_double(input)?, take_double(input)?);
        let outcome = match code {
            0 => Outcome::Allowed,
            1 => Outcome::Delayed { by_us: wait_us },
            2 => Outcome::Refused(Retry::After(wait_us)),
            3 => Outcome::Refused(Retry::Within(wait_us)),
            4 => Outcome::Refused(Retry::Never),
            _ => return None,
        };
        let (remaining, debt) = (limit.saturating_sub(used), used.saturating_sub(limit));
        let next_after_us = if code == 0 { wait_us } else { 0 };
        let verdict = Verdict { outcome, limit, remaining, debt, reset_after_us, next_after_us };
        Some(Self { verdict, paid: paid > 0, bytes })
    }
}

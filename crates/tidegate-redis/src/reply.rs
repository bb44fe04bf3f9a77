//! What the general script answers, read with suspicion.

use tidegate_core::{Outcome, Plan, Retry, Ticket, Timestamp, Verdict};
use tidegate_store::{Answer, Verdicts};

use crate::bytes::{take, take_byte, take_double};

/// An answer to a plan's charges.
pub(crate) struct Told {
    pub(crate) ticket: Ticket,
    pub(crate) now: Timestamp,
    pub(crate) delay_us: u64,
    pub(crate) charges: Vec<ToldCharge>,
}

/// The word on one charge.
#[derive(Clone, Copy)]
pub(crate) struct ToldCharge {
    pub(crate) verdict: Verdict,
    /// Whether it was paid.
    pub(crate) paid: bool,
}

impl Told {
    /// Reads what is behind the first byte of an answer.
    pub(crate) fn read(mut input: &[u8]) -> Option<Self> {
        let input = &mut input;
        let now = Timestamp::from_micros(take_double(input)?);
        let ticket = Ticket(u128::from_be_bytes(take(input)?));
        let delay_us = take_double(input)?;
        let mut charges = Vec::with_capacity(4);
        while !input.is_empty() {
            charges.push(read_charge(input)?);
        }
        Some(Self { ticket, now, delay_us, charges })
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

fn read_charge(input: &mut &[u8]) -> Option<ToldCharge> {
    let (paid, code, wait_us) = (take_byte(input)?, take_byte(input)?, take_double(input)?);
    let (limit, used, reset_after_us) = (take_double(input)?, take_double(input)?, take_double(input)?);
    let _booked = take_double(input)?;
    let outcome = match code {
        0 => Outcome::Allowed,
        1 => Outcome::Delayed { by_us: wait_us },
        2 => Outcome::Refused(Retry::After(wait_us)),
        3 => Outcome::Refused(Retry::Within(wait_us)),
        4 => Outcome::Refused(Retry::Never),
        _ => return None,
    };
    let (remaining, debt) = (limit.saturating_sub(used), used.saturating_sub(limit));
    Some(ToldCharge { verdict: Verdict { outcome, limit, remaining, debt, reset_after_us }, paid: paid > 0 })
}

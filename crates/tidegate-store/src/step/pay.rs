//! Judging a plan group by group, and making each charge when it is due.

use tidegate_core::{Outcome, Pay, Timestamp};

use super::{Counters, Seat, Step};

/// Whether a charge was made, and on which occasion.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paid {
    /// It was not.
    Not,
    /// Whole, because its group and the first one passed: the only kind that a reservation holds.
    Admitted,
    /// Although, or because, its group or the first one was refused.
    Refused,
}

impl<C: Counters> Step<'_, C> {
    /// Judges and pays group by group: the first if it passes, each later one if, in addition, the first did.
    pub(crate) fn judge_and_pay(&mut self, now: Timestamp) {
        let (mut start, mut first_passed) = (0, true);
        while start < self.seats.len() {
            let group = self.seats[start].charge.group;
            let end =
                start + self.seats[start..].iter().take_while(|seat| seat.charge.group == group).count();
            let passes = (start..end).fold(true, |all, index| all & self.judge(index, now));
            first_passed &= group > 0 || passes;
            for index in start..end {
                if passes && first_passed {
                    self.pay_admitted(index, now);
                } else {
                    self.pay_refused(index, now);
                    if group == 0 || first_passed {
                        self.close(index, now);
                    }
                }
            }
            start = end;
        }
    }

    /// Whether the charge would pass.
    pub(crate) fn judge(&mut self, index: usize, now: Timestamp) -> bool {
        let seat = &self.seats[index];
        let outcome = seat.charge.limit.judge(self.counters.state(index), now, seat.total);
        self.seats[index].outcome = outcome;
        outcome.allowed()
    }

    /// The charges that were paid on admission, and the instants that they were booked at.
    pub(crate) fn paid(&self) -> impl Iterator<Item = (usize, Timestamp)> {
        let paid = self.seats.iter().enumerate().filter(|(_, seat)| seat.paid == Paid::Admitted);
        paid.map(|(index, seat)| (index, seat.booked_at))
    }

    /// The word on a charge. What a refusal has charged is asked again, so that a refused charge is told the time that it
    /// must wait now, and a gate that has just closed refuses. A charge that had room is not the reason of the refusal, and
    /// keeps its word.
    pub(super) fn outcome(&self, index: usize, now: Timestamp) -> Outcome {
        let seat = &self.seats[index];
        let is_gate = matches!(seat.charge.pay, Pay::IfRefused { .. });
        if seat.paid == Paid::Refused && (is_gate || !seat.outcome.allowed()) {
            seat.charge.limit.judge(self.counters.state(index), now, seat.total)
        } else {
            seat.outcome
        }
    }

    /// Its group passed, and so did the first.
    fn pay_admitted(&mut self, index: usize, now: Timestamp) {
        if self.seats[index].charge.pay.on_admission() {
            self.pay(index, now, self.seats[index].total, Paid::Admitted);
        }
    }

    /// Its group was refused, or the first was: what is always paid is charged, up to twice the limit in all.
    fn pay_refused(&mut self, index: usize, now: Timestamp) {
        if self.seats[index].charge.pay == Pay::Always {
            let units = self.seats[index].total.min(self.chargeable(index, now));
            self.pay(index, now, units, Paid::Refused);
        }
    }

    /// Its group was refused, and counts: a gate that is open closes if one of the limits before it refused.
    fn close(&mut self, index: usize, now: Timestamp) {
        let Seat { charge, total, outcome, .. } = self.seats[index];
        if let Pay::IfRefused { of } = charge.pay {
            let before = &self.seats[index - usize::from(of)..index];
            if outcome.allowed() && before.iter().any(|seat| !seat.outcome.allowed()) {
                self.pay(index, now, total, Paid::Refused);
            }
        }
    }

    /// Charges so many units for all charges of its group on its key, if it is the first of them. A refusal that finds the
    /// debt at its bound pays nothing.
    fn pay(&mut self, index: usize, now: Timestamp, units: u64, paid: Paid) {
        let Seat { charge, first, .. } = self.seats[index];
        if !first {
            if let Some(payer) = self.seats[..index].iter().rfind(|seat| seat.charge.key == charge.key) {
                (self.seats[index].paid, self.seats[index].booked_at) = (payer.paid, payer.booked_at);
            }
        } else if units > 0 || paid == Paid::Admitted {
            self.seats[index].paid = paid;
            self.charge(index, now, units);
        }
    }

    /// Units that refusals may still charge at the counter: what is left of the limit, and as much again as a debt.
    fn chargeable(&self, index: usize, now: Timestamp) -> u64 {
        let seat = &self.seats[index];
        let verdict = seat.charge.limit.verdict(self.counters.state(index), now, seat.outcome);
        (verdict.limit + verdict.remaining).saturating_sub(verdict.debt)
    }
}

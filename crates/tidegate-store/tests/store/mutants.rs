//! Stores with one thing wrong: the suite must find each of them.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tidegate_core::{Pay, Plan, Timestamp};
use tidegate_store::history::Claims;
use tidegate_store::{Act, Answer, Done, Reference, Settlement, Store, StoreError, Verdicts, conformance};

/// What is wrong with a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flaw {
    /// Nothing: it only copies each plan, as most of the others do.
    Nothing,
    /// Charges each charge by itself: not all or nothing.
    Split,
    /// Judges first and charges in a second step, as some do.
    ReadThenCharge,
    /// Drops what names an idempotent check.
    ForgetsNames,
    /// Charges shadow groups with the first.
    MergesGroups,
    /// Never gives a slot back.
    KeepsSlots,
    /// Cancels nothing.
    KeepsReservations,
    /// Runs a millisecond ahead.
    WrongClock,
    /// Reads by charging.
    ChargesReads,
    /// Lets refusals pay nothing.
    ForgetsRefusals,
    /// Lets refusals pay as far as there is room, and no further.
    EndsAtTheLimit,
    /// Leaves gates open.
    NeverCloses,
    /// Charges what is never to be paid.
    ChargesNever,
}

impl Flaw {
    /// When it lets a charge pay.
    fn pay(self, pay: Pay) -> Pay {
        match (self, pay) {
            (Self::Split | Self::MergesGroups, _)
            | (Self::ForgetsRefusals, Pay::Always)
            | (Self::ChargesNever, Pay::Never) => Pay::IfAdmitted,
            (Self::NeverCloses, Pay::IfRefused { .. }) => Pay::Never,
            _ => pay,
        }
    }
}

struct Flawed(Reference, Flaw);

/// The charges that are kept, with the flaw in them.
fn copy(plan: &Plan, flaw: Flaw, keep: impl Fn(usize) -> bool) -> Plan {
    let mut copy = Plan::new();
    copy.set_ticket(plan.ticket());
    if let Some(idempotency) = plan.idempotency().filter(|_| flaw != Flaw::ForgetsNames) {
        copy.set_idempotency(idempotency.clone());
    }
    for (index, charge) in plan.charges().enumerate().filter(|(index, _)| keep(*index)) {
        let group_before = index.checked_sub(1).map_or(0, |before| plan.get(before).group);
        if flaw != Flaw::MergesGroups && charge.group != group_before {
            copy.next_group();
        }
        copy.charge_when(charge.key, *charge.limit, charge.cost, flaw.pay(charge.pay)).unwrap();
    }
    copy
}

impl Flawed {
    /// Decides, and gives back at once what was charged past a limit: right in nearly all else.
    fn decide_without_debt(&self, plan: &Plan, now: Timestamp) -> Result<Answer, StoreError> {
        let before = self.0.read_now(plan, now)?.verdicts;
        let answer = self.0.decide_now(plan, now)?;
        if answer.replayed {
            return Ok(answer);
        }
        for (charge, before) in plan.charges().zip(&before) {
            let mut debt = Plan::new();
            debt.charge(charge.key, *charge.limit, 0).unwrap();
            let owed = self.0.read_now(&debt, now)?.verdicts[0].debt;
            debt.clear();
            debt.charge(charge.key, *charge.limit, owed.saturating_sub(before.debt)).unwrap();
            self.0.refund_now(&debt, now, now)?;
        }
        let mut verdicts = self.0.read_now(plan, now)?.verdicts;
        for (verdict, said) in verdicts.iter_mut().zip(&answer.verdicts) {
            if said.allowed() {
                verdict.outcome = said.outcome;
            }
        }
        let paid = |index: usize| {
            let had_room = answer.verdicts[index].debt == before[index].debt || before[index].remaining > 0;
            answer.paid(index) && had_room
        };
        Ok(Answer::new(plan, verdicts, paid))
    }
}

impl Store for Flawed {
    async fn run(&self, act: Act<'_>, now: Timestamp) -> Result<Done, StoreError> {
        match (act, self.1) {
            (Act::Decide(plan), _) => self.decide_flawed(plan, now).map(Done::from),
            (Act::Read(plan), Flaw::ChargesReads) => self.0.decide_now(plan, now).map(Done::from),
            (Act::Cancel(_), Flaw::KeepsReservations) => Ok(Settlement::Gone.into()),
            (Act::Release(_), Flaw::KeepsSlots) => Ok(Done::Released(1)),
            (act, _) => self.0.run_now(act, now),
        }
    }
}

impl Flawed {
    fn decide_flawed(&self, plan: &Plan, now: Timestamp) -> Result<Answer, StoreError> {
        match self.1 {
            Flaw::Split => {
                let mut verdicts = Verdicts::new();
                for index in 0..plan.len() {
                    verdicts.extend(self.0.decide_now(&copy(plan, self.1, |i| i == index), now)?.verdicts);
                }
                let allowed: Vec<bool> = verdicts.iter().map(tidegate_core::Verdict::allowed).collect();
                Ok(Answer::new(plan, verdicts, |index| allowed[index]))
            }
            Flaw::ReadThenCharge => {
                let answer = self.0.read_now(plan, now)?;
                std::thread::yield_now();
                if answer.allowed() { self.0.decide_now(plan, now).map(|_| answer) } else { Ok(answer) }
            }
            Flaw::Nothing
            | Flaw::ForgetsNames
            | Flaw::ForgetsRefusals
            | Flaw::NeverCloses
            | Flaw::ChargesNever => self.0.decide_now(&copy(plan, self.1, |_| true), now),
            Flaw::MergesGroups => {
                let merged = self.0.decide_now(&copy(plan, self.1, |_| true), now)?;
                Ok(Answer::new(plan, merged.verdicts.clone(), |index| merged.paid(index)))
            }
            Flaw::EndsAtTheLimit => self.decide_without_debt(plan, now),
            Flaw::WrongClock => self.0.decide_now(plan, now.plus_us(1000)),
            _ => self.0.decide_now(plan, now),
        }
    }
}

#[test]
fn a_store_that_copies_its_plans_conforms() {
    conformance::run(|| Flawed(Reference::new(), Flaw::Nothing), Claims::default());
}

#[test]
fn the_suite_finds_every_flaw() {
    let flaws = [
        Flaw::Split,
        Flaw::ReadThenCharge,
        Flaw::ForgetsNames,
        Flaw::MergesGroups,
        Flaw::KeepsSlots,
        Flaw::KeepsReservations,
        Flaw::WrongClock,
        Flaw::ChargesReads,
        Flaw::ForgetsRefusals,
        Flaw::EndsAtTheLimit,
        Flaw::NeverCloses,
        Flaw::ChargesNever,
    ];
    for flaw in flaws {
        let run = || conformance::run(|| Flawed(Reference::new(), flaw), Claims::default());
        assert!(catch_unwind(AssertUnwindSafe(run)).is_err(), "a store with the flaw {flaw:?} conforms");
    }
}

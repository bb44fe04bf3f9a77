//! Judges recorded decisions after the fact: replays them through core and reports the first that breaks a bound.

use std::collections::HashMap;

use tidegate_core::{Charge, Outcome, Plan, Refund, State, Timestamp};

use crate::contract::Answer;

/// How far a store may stray from core: nothing for an exact one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// Units that one charge may be admitted past its limit.
    pub over: u64,
    /// Units that may still be left of a limit when it refuses.
    pub early: u64,
}

/// Something that a store did.
#[derive(Clone, Debug)]
pub struct Event {
    /// The instant that the store was given.
    pub now: Timestamp,
    /// The charges that it was given.
    pub plan: Plan,
    /// What it was asked, and its answer.
    pub what: What,
}

/// What a store was asked, and its answer.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[expect(clippy::large_enum_variant, reason = "nearly every event of a history is a decision")]
pub enum What {
    /// [`crate::Store::decide`]
    Decided(Answer),
    /// [`crate::Store::refund`]
    Refunded {
        /// When the units were charged.
        charged_at: Timestamp,
    },
    /// [`crate::Store::release`]
    Released,
    /// [`crate::Store::renew`]
    Renewed,
    /// [`crate::Store::reset`]
    Reset,
}

/// What is known of the order of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// They are listed as they happened. An exact store's verdicts must be core's to the digit.
    Sequence,
    /// Those of one instant may have happened in any order, as under threads. Whatever the order was, admissions only
    /// fill counters, so each refusal must be a refusal after all of that instant's admissions. Events other than
    /// decisions, and changes of a limit's numbers, need instants of their own.
    Instants,
}

/// What a history held, if no bound was broken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Decisions, replays left out.
    pub decisions: usize,
    /// Those whose first group passed.
    pub admitted: usize,
}

/// The first event that breaks a bound.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("event {event} at {} us, charge {charge}: {breach}", now.as_micros())]
pub struct Violation {
    /// Its place in the history.
    pub event: usize,
    /// The charge in its plan.
    pub charge: usize,
    /// Its instant.
    pub now: Timestamp,
    /// What is wrong.
    pub breach: Breach,
}

/// How a decision breaks a bound.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Breach {
    /// Admitted past the limit by more than claimed.
    #[error("admitted {by} units past a limit of {limit}")]
    Over {
        /// Units past the limit.
        by: u64,
        /// The limit.
        limit: u64,
    },
    /// Refused while every limit of the group had room.
    #[error("refused although {left} units would have been left of a limit of {limit}")]
    Early {
        /// Units that would have been left of the tightest limit.
        left: u64,
        /// The limit.
        limit: u64,
    },
    /// An exact store gave another verdict than core.
    #[error("the verdict is {got:?} and should be {expected:?}")]
    Different {
        /// What core says.
        expected: tidegate_core::Verdict,
        /// What the store said.
        got: tidegate_core::Verdict,
    },
    /// Paid although its group was refused, or not paid although it passed.
    #[error("a group was not paid as one")]
    NotWhole,
}

/// Replays the events and reports the first that breaks a bound.
pub fn check(events: &[Event], order: Order, claims: Claims) -> Result<Checked, Violation> {
    let mut replay = Replay { states: HashMap::new(), claims, checked: Checked::default() };
    match order {
        Order::Sequence => replay.sequence(events)?,
        Order::Instants => replay.instants(events)?,
    }
    Ok(replay.checked)
}

struct Replay {
    states: HashMap<Vec<u8>, State>,
    claims: Claims,
    checked: Checked,
}

type Breaks = (usize, Breach);

impl Replay {
    fn sequence(&mut self, events: &[Event]) -> Result<(), Violation> {
        for (place, event) in events.iter().enumerate() {
            self.event(event).map_err(|breaks| violation(place, event, breaks))?;
        }
        Ok(())
    }

    /// For each instant first everything that was paid, then everything that was refused.
    fn instants(&mut self, events: &[Event]) -> Result<(), Violation> {
        let mut places: Vec<usize> = (0..events.len()).collect();
        places.sort_by_key(|place| events[*place].now);
        for instant in places.chunk_by(|a, b| events[*a].now == events[*b].now) {
            for place in instant {
                let event = &events[*place];
                match &event.what {
                    What::Decided(answer) => self.pay(event, answer),
                    _ => self.event(event),
                }
                .map_err(|breaks| violation(*place, event, breaks))?;
            }
            for place in instant {
                let event = &events[*place];
                if let What::Decided(answer) = &event.what {
                    self.refuse(event, answer).map_err(|breaks| violation(*place, event, breaks))?;
                }
            }
        }
        Ok(())
    }

    fn event(&mut self, event: &Event) -> Result<(), Breaks> {
        let Event { now, plan, what } = event;
        match what {
            What::Decided(answer) => return self.decided(event, answer),
            What::Refunded { charged_at } => {
                let refund = |charge: &Charge<'_>| Refund { units: charge.cost, charged_at: *charged_at };
                self.each(plan, |charge, state| charge.limit.refund(state, *now, refund(charge)));
            }
            What::Released => self.each(plan, |charge, state| {
                charge.limit.release(state, *now, plan.ticket());
            }),
            What::Renewed => self.each(plan, |charge, state| {
                charge.limit.renew(state, *now, plan.ticket());
            }),
            What::Reset => self.each(plan, |_, state| *state = State::EMPTY),
        }
        Ok(())
    }

    fn each(&mut self, plan: &Plan, mut change: impl FnMut(&Charge<'_>, &mut State)) {
        for charge in plan.charges() {
            change(&charge, self.states.entry(charge.key.bytes().to_vec()).or_default());
        }
    }

    /// Group by group, as a store goes through them; an exact store's verdicts are compared as well.
    fn decided(&mut self, event: &Event, answer: &Answer) -> Result<(), Breaks> {
        let Event { now, plan, .. } = event;
        if answer.replayed {
            return Ok(());
        }
        self.count(answer);
        let mut outcomes = Vec::with_capacity(plan.len());
        for members in groups(plan) {
            for index in &members {
                let charge = plan.get(*index);
                outcomes.push(charge.limit.judge(self.state(&charge), *now, total(plan, &charge)));
            }
            if passed(answer, &members) {
                self.admitted(*now, plan, &members)?;
            } else {
                self.refused(*now, plan, &members)?;
            }
            if paid(answer, &members)? {
                self.charge(*now, plan, &members);
            }
        }
        if self.claims == Claims::default() { self.compare(event, answer, &outcomes) } else { Ok(()) }
    }

    fn pay(&mut self, event: &Event, answer: &Answer) -> Result<(), Breaks> {
        let Event { now, plan, .. } = event;
        if answer.replayed {
            return Ok(());
        }
        self.count(answer);
        for members in groups(plan) {
            if paid(answer, &members)? {
                self.admitted(*now, plan, &members)?;
                self.charge(*now, plan, &members);
            }
        }
        Ok(())
    }

    fn refuse(&self, event: &Event, answer: &Answer) -> Result<(), Breaks> {
        let refused = |members: &Vec<usize>| !answer.replayed && !passed(answer, members);
        groups(&event.plan)
            .into_iter()
            .filter(refused)
            .try_for_each(|members| self.refused(event.now, &event.plan, &members))
    }

    fn count(&mut self, answer: &Answer) {
        self.checked.decisions += 1;
        self.checked.admitted += usize::from(answer.allowed());
    }

    fn admitted(&self, now: Timestamp, plan: &Plan, members: &[usize]) -> Result<(), Breaks> {
        for index in members {
            let charge = plan.get(*index);
            let limit = charge.limit.capacity();
            let by = total(plan, &charge).saturating_sub(self.remaining(&charge, now));
            if by > self.claims.over {
                return Err((*index, Breach::Over { by, limit }));
            }
        }
        Ok(())
    }

    fn refused(&self, now: Timestamp, plan: &Plan, members: &[usize]) -> Result<(), Breaks> {
        let left = |index: &usize| {
            let charge = plan.get(*index);
            self.remaining(&charge, now).checked_sub(total(plan, &charge))
        };
        let tightest = members.iter().min_by_key(|index| left(index)).copied().unwrap_or_default();
        match left(&tightest) {
            Some(left) if left >= self.claims.early => {
                Err((tightest, Breach::Early { left, limit: plan.get(tightest).limit.capacity() }))
            }
            _ => Ok(()),
        }
    }

    /// Of several charges on one key, the first pays for all.
    fn charge(&mut self, now: Timestamp, plan: &Plan, members: &[usize]) {
        for (order, index) in members.iter().enumerate() {
            let charge = plan.get(*index);
            if members[..order].iter().all(|earlier| plan.get(*earlier).key != charge.key) {
                let state = self.states.entry(charge.key.bytes().to_vec()).or_default();
                charge.limit.charge(state, now, total(plan, &charge), plan.ticket());
            }
        }
    }

    fn compare(&self, event: &Event, answer: &Answer, outcomes: &[Outcome]) -> Result<(), Breaks> {
        for (index, charge) in event.plan.charges().enumerate() {
            let expected = charge.limit.verdict(self.state(&charge), event.now, outcomes[index]);
            let got = answer.verdicts[index];
            if got != expected {
                return Err((index, Breach::Different { expected, got }));
            }
        }
        Ok(())
    }

    fn state(&self, charge: &Charge<'_>) -> &State {
        self.states.get(charge.key.bytes()).unwrap_or(&State::EMPTY)
    }

    fn remaining(&self, charge: &Charge<'_>, now: Timestamp) -> u64 {
        charge.limit.verdict(self.state(charge), now, Outcome::Allowed).remaining
    }
}

fn violation(place: usize, event: &Event, (charge, breach): Breaks) -> Violation {
    Violation { event: place, charge, now: event.now, breach }
}

/// The places of each group's charges.
fn groups(plan: &Plan) -> Vec<Vec<usize>> {
    let places: Vec<usize> = (0..plan.len()).collect();
    places.chunk_by(|a, b| plan.get(*a).group == plan.get(*b).group).map(<[usize]>::to_vec).collect()
}

fn passed(answer: &Answer, members: &[usize]) -> bool {
    members.iter().all(|index| answer.verdicts[*index].allowed())
}

/// Whether the group was paid: whole, exactly if it passed and the plan did.
fn paid(answer: &Answer, members: &[usize]) -> Result<bool, Breaks> {
    let should = answer.allowed() && passed(answer, members);
    match members.iter().find(|index| answer.paid(**index) != should) {
        Some(odd) => Err((*odd, Breach::NotWhole)),
        None => Ok(should),
    }
}

/// What all charges of one group on one key cost together.
fn total(plan: &Plan, charge: &Charge<'_>) -> u64 {
    let twins = plan.charges().filter(|other| other.group == charge.group && other.key == charge.key);
    twins.fold(0, |total: u64, twin| total.saturating_add(twin.cost))
}

#[cfg(test)]
mod tests;

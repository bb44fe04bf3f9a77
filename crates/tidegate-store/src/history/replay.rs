//! Plays events again on states of its own, and holds each answer against them.

use std::collections::HashMap;

use tidegate_core::{Charge, Outcome, Plan, Refund, State, Timestamp, Verdict};

use super::group::{Due, Group};
use super::{Breach, Checked, Claims, Event, Violation, What};
use crate::contract::Answer;

/// The counters as they should be by now.
#[derive(Debug)]
pub(super) struct Replay {
    states: HashMap<Vec<u8>, State>,
    claims: Claims,
    checked: Checked,
}

/// A charge, and what is wrong with it.
type Breaks = (usize, Breach);

/// One look at a group.
type Look = fn(&mut Replay, &Group<'_>) -> Result<(), Breaks>;

impl Replay {
    pub(super) fn new(claims: Claims) -> Self {
        Self { states: HashMap::new(), claims, checked: Checked::default() }
    }

    pub(super) fn checked(&self) -> Checked {
        self.checked
    }

    pub(super) fn sequence(&mut self, events: &[Event]) -> Result<(), Violation> {
        for (place, event) in events.iter().enumerate() {
            self.event(event).map_err(|breaks| violation(place, event, breaks))?;
        }
        Ok(())
    }

    /// For each instant first what had room, then all that was paid whole, then what refusals paid, and at last what was
    /// refused: if there is any order in which the answers are right, they are right in this one. Whole charges fit below
    /// the limit whatever else was paid, so they fit first; refusals then reach the sum of their costs or twice the limit,
    /// as they did; and who was refused, or found the debt at its bound, finds no more room at the end of the instant.
    pub(super) fn instants(&mut self, events: &[Event]) -> Result<(), Violation> {
        let mut places: Vec<usize> = (0..events.len()).collect();
        places.sort_by_key(|place| events[*place].now);
        for instant in places.chunk_by(|a, b| events[*a].now == events[*b].now) {
            for place in instant {
                let event = &events[*place];
                match decided(event) {
                    Some(answer) => self.count(answer),
                    None => self.event(event).map_err(|breaks| violation(*place, event, breaks))?,
                }
            }
            let looks: [Look; 4] = [Self::had_room, Self::pay, Self::pay_refused, Self::refused];
            for look in looks {
                self.look_at(events, instant, look)?;
            }
        }
        Ok(())
    }

    /// One look at every group that was decided in an instant.
    fn look_at(&mut self, events: &[Event], instant: &[usize], look: Look) -> Result<(), Violation> {
        for place in instant {
            let event = &events[*place];
            let groups = decided(event).map(|answer| Group::all(event, answer)).unwrap_or_default();
            for group in groups {
                look(self, &group).map_err(|breaks| violation(*place, event, breaks))?;
            }
        }
        Ok(())
    }

    fn event(&mut self, event: &Event) -> Result<(), Breaks> {
        let Event { now, plan, what } = event;
        match what {
            What::Decided(_) => return decided(event).map_or(Ok(()), |answer| self.decision(event, answer)),
            What::Refunded { charged_at } => self.each(plan, |charge, state| {
                if charge.pay.on_admission() {
                    let refund = Refund { units: charge.cost, charged_at: *charged_at };
                    charge.limit.refund(state, *now, refund);
                }
            }),
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
            change(&charge, self.state_mut(&charge));
        }
    }

    /// Group by group, as a store goes through them; an exact store's verdicts are compared as well.
    fn decision(&mut self, event: &Event, answer: &Answer) -> Result<(), Breaks> {
        self.count(answer);
        let groups = Group::all(event, answer);
        let mut outcomes = Vec::with_capacity(event.plan.len());
        for group in &groups {
            for charge in group.members.clone().map(|index| group.charge(index)) {
                outcomes.push(charge.limit.judge(self.state(&charge), event.now, group.total(&charge)));
            }
            let looks: [Look; 4] = [Self::had_room, Self::refused, Self::pay, Self::pay_refused];
            looks.into_iter().try_for_each(|look| look(self, group))?;
        }
        if self.claims == Claims::default() {
            groups.iter().try_for_each(|group| self.compare(group, &outcomes))?;
        }
        Ok(())
    }

    fn count(&mut self, answer: &Answer) {
        self.checked.decisions += 1;
        self.checked.admitted += usize::from(answer.allowed());
    }

    /// Members that passed with their group and were not charged.
    fn had_room(&mut self, group: &Group<'_>) -> Result<(), Breaks> {
        if group.passed() {
            group.due(Due::Nothing).try_for_each(|index| self.fits(group, index))?;
        }
        Ok(())
    }

    /// Members that were refused with their group: one of them must have had no room, and those
    /// that pay for refusals must have paid.
    fn refused(&mut self, group: &Group<'_>) -> Result<(), Breaks> {
        if !group.passed() {
            self.refuses(group)?;
        }
        group.due(Due::Refusal).try_for_each(|index| self.is_spent_unless_paid(group, index))
    }

    /// Members that were charged whole, and no others. Of several charges on one key, the first pays for all.
    fn pay(&mut self, group: &Group<'_>) -> Result<(), Breaks> {
        let is_paid = |index: &usize| group.answer.paid(*index);
        let unpaid = group.due(Due::Whole).find(|index| !is_paid(index));
        if let Some(odd) = unpaid.or_else(|| group.due(Due::Nothing).find(is_paid)) {
            return Err((odd, Breach::NotWhole));
        }
        group.due(Due::Whole).try_for_each(|index| self.fits(group, index))?;
        for charge in
            group.due(Due::Whole).filter(|index| group.is_first(*index)).map(|index| group.charge(index))
        {
            self.charge(group, &charge, group.total(&charge));
        }
        Ok(())
    }

    /// Members that were refused and paid for it, until twice the limit is used. Nothing is not paid.
    fn pay_refused(&mut self, group: &Group<'_>) -> Result<(), Breaks> {
        for index in group.due(Due::Refusal).filter(|index| group.answer.paid(*index)) {
            let charge = group.charge(index);
            let total = group.total(&charge);
            if total == 0 {
                return Err((index, Breach::NotWhole));
            }
            if group.is_first(index) {
                self.charge(group, &charge, total.min(self.chargeable(&charge, group.now())));
            }
        }
        Ok(())
    }

    fn fits(&self, group: &Group<'_>, index: usize) -> Result<(), Breaks> {
        let charge = group.charge(index);
        let verdict = self.verdict(&charge, group.now());
        let by = (verdict.debt + group.total(&charge)).saturating_sub(verdict.remaining);
        if group.total(&charge) > 0 && by > self.claims.over {
            return Err((index, Breach::Over { by, limit: charge.limit.capacity() }));
        }
        Ok(())
    }

    fn refuses(&self, group: &Group<'_>) -> Result<(), Breaks> {
        let left = |index: &usize| {
            let charge = group.charge(*index);
            self.remaining(&charge, group.now()).checked_sub(group.total(&charge))
        };
        let tightest = group.members.clone().min_by_key(left).unwrap_or_default();
        match left(&tightest) {
            Some(left) if left >= self.claims.early => {
                Err((tightest, Breach::Early { left, limit: group.charge(tightest).limit.capacity() }))
            }
            _ => Ok(()),
        }
    }

    fn is_spent_unless_paid(&self, group: &Group<'_>, index: usize) -> Result<(), Breaks> {
        let charge = group.charge(index);
        let left = self.chargeable(&charge, group.now());
        if group.answer.paid(index) || group.total(&charge) == 0 || left <= self.claims.early {
            return Ok(());
        }
        Err((index, Breach::Unpaid { left, limit: charge.limit.capacity() }))
    }

    /// What a refusal charged is judged again if it had no room, and if it is a gate: it has just closed.
    fn compare(&self, group: &Group<'_>, outcomes: &[Outcome]) -> Result<(), Breaks> {
        for index in group.members.clone() {
            let charge = group.charge(index);
            let state = self.state(&charge);
            let on_refusal = group.answer.paid(index) && !group.admitted();
            let outcome = if on_refusal && (group.closed(index) || !outcomes[index].allowed()) {
                charge.limit.judge(state, group.now(), group.total(&charge))
            } else {
                outcomes[index]
            };
            let (expected, got) =
                (charge.limit.verdict(state, group.now(), outcome), group.answer.verdicts[index]);
            if got != expected {
                return Err((index, Breach::Different { expected: Box::new(expected), got: Box::new(got) }));
            }
        }
        Ok(())
    }

    fn charge(&mut self, group: &Group<'_>, charge: &Charge<'_>, units: u64) {
        let ticket = group.event.plan.ticket();
        charge.limit.charge(self.state_mut(charge), group.now(), units, ticket);
    }

    fn state(&self, charge: &Charge<'_>) -> &State {
        self.states.get(charge.key.bytes()).unwrap_or(&State::EMPTY)
    }

    fn state_mut(&mut self, charge: &Charge<'_>) -> &mut State {
        self.states.entry(charge.key.bytes().to_vec()).or_default()
    }

    fn remaining(&self, charge: &Charge<'_>, now: Timestamp) -> u64 {
        self.verdict(charge, now).remaining
    }

    /// Units that refusals may still charge: twice the limit, less what is used.
    fn chargeable(&self, charge: &Charge<'_>, now: Timestamp) -> u64 {
        let verdict = self.verdict(charge, now);
        (2 * verdict.limit).saturating_sub(verdict.used())
    }

    fn verdict(&self, charge: &Charge<'_>, now: Timestamp) -> Verdict {
        charge.limit.verdict(self.state(charge), now, Outcome::Allowed)
    }
}

/// The answer to a decision; a replay is none, it changed nothing.
fn decided(event: &Event) -> Option<&Answer> {
    match &event.what {
        What::Decided(answer) if !answer.replayed => Some(answer),
        _ => None,
    }
}

fn violation(place: usize, event: &Event, (charge, breach): Breaks) -> Violation {
    Violation { event: place, charge, now: event.now, breach }
}

//! The one place that turns the store's word, or its silence, into a decision: shadow, failure policy by class, the most
//! restrictive of several limits. It knows no I/O.

use std::cmp::Reverse;

use tidegate_core::{Outcome as Verdicts, Retry};
use tidegate_rules::rule::{Action, Class, Mode, Rule};
use tidegate_store::StoreError;

use crate::check::Malformed;
use crate::decision::{Consistency, Deciding, Decision, Judged, Outcome, Trouble};
use crate::meaning::{Kind, Part, Tier};

/// Why the store gave no answer.
#[derive(Debug)]
pub(crate) enum Silence {
    /// It was not asked, because there was nothing to ask; or it did answer.
    NotAsked,
    /// It could not decide.
    Failed(StoreError),
    /// It broke.
    Panicked,
    /// There was no plan to ask about although there should have been one.
    Broken(Trouble),
}

impl Silence {
    /// Whether the fault is the check's own.
    pub(crate) fn as_malformed(&self) -> Result<(), Malformed> {
        match self {
            Self::Failed(StoreError::IdempotencyConflict) => Err(Malformed::IdempotencyConflict),
            _ => Ok(()),
        }
    }
}

/// Makes the decision of one that lets everything pass, under the rules of its domain, and that has the store's answer.
pub(crate) fn settle(decision: &mut Decision, silence: &Silence) {
    match silence {
        Silence::NotAsked if decision.answer.is_some() => answered(decision),
        Silence::NotAsked => decision.meaning.alone.into_iter().for_each(|rule| alone(decision, rule)),
        Silence::Broken(trouble) => broken(decision, *trouble),
        Silence::Failed(_) => undecided(decision, Trouble::Store),
        Silence::Panicked => undecided(decision, Trouble::Panic),
    }
}

/// A rule decides by itself.
#[cold]
fn alone(decision: &mut Decision, rule: u32) {
    let rules = decision.domain.as_deref().map(|domain| &domain.rules);
    if rules.is_some_and(|rules| rules[rule as usize].action == Action::Block) {
        decision.outcome = Outcome::Deny;
    }
    decision.deciding = Some(Deciding::Rule(rule));
}

/// Nobody could decide: by the strictest class that has a say.
#[cold]
fn undecided(decision: &mut Decision, trouble: Trouble) {
    let has_rule = |part: &&Part| part.enforced && !part.is_gate() && part.at.tier != Tier::Override;
    let class_of =
        |part: &Part| Some(effective(decision.domain.as_ref()?.rules.get(part.at.rule as usize)?, part));
    let parts = decision.meaning.parts.iter().filter(has_rule);
    let class = parts.filter_map(class_of).max().unwrap_or_default();
    by_class(decision, class, trouble);
}

/// Nothing is known but the domain: its strictest class has the say.
#[cold]
pub(crate) fn broken(decision: &mut Decision, trouble: Trouble) {
    let class = decision.domain.as_deref().map(|domain| domain.class).unwrap_or_default();
    by_class(decision, class, trouble);
}

fn by_class(decision: &mut Decision, class: Class, trouble: Trouble) {
    let denies = matches!(class, Class::Security | Class::Strict);
    let refusal = if trouble == Trouble::Overload { Outcome::Shed } else { Outcome::Deny };
    decision.outcome = if denies { refusal } else { Outcome::Allow };
    decision.state = Consistency::Open;
    decision.deciding = Some(Deciding::Nobody(trouble));
}

/// What a request costs is let pass for those who pay: requests of a tier that the rule names.
fn effective(rule: &Rule, part: &Part) -> Class {
    let paying = matches!(part.at.tier, Tier::Named(_)) || rule.limits.tiers.is_empty();
    if rule.class == Class::Cost && !paying { Class::Security } else { rule.class }
}

fn answered(decision: &mut Decision) {
    let Some(answer) = &decision.answer else { return };
    let (ticket, replayed) = (answer.ticket, answer.replayed);
    let weighed =
        if decision.meaning.is_plain && answer.allowed() { passed(decision) } else { weigh(decision) };
    decision.id = ticket;
    decision.replayed = replayed;
    decision.outcome = weighed.outcome;
    decision.delay_us = weighed.delay_us;
    decision.holds = weighed.holds;
    decision.deciding = weighed.deciding.and_then(|index| u16::try_from(index).ok()).map(Deciding::Limit);
}

/// What the verdicts come to.
#[derive(Debug, PartialEq, Eq)]
struct Weighed {
    outcome: Outcome,
    delay_us: u64,
    holds: bool,
    /// The place of the part that decided.
    deciding: Option<usize>,
}

/// What [`weigh`] does, in fewer steps, if all rules are plain and so all of them let the request pass.
fn passed(decision: &Decision) -> Weighed {
    let mut weighed = Weighed { outcome: Outcome::Allow, delay_us: 0, holds: false, deciding: None };
    let Some(answer) = &decision.answer else { return weighed };
    let mut least = (1_u64, 0_u64);
    for (place, (part, verdict)) in decision.meaning.parts.iter().zip(&answer.verdicts).enumerate() {
        weighed.holds |= part.kind == Kind::Slots && answer.paid(place);
        let (left, limit) = least;
        if weighed.deciding.is_none() || has_less((verdict.remaining, verdict.limit), (left, limit)) {
            least = (verdict.remaining, verdict.limit);
            weighed.deciding = Some(place);
        }
    }
    weighed.delay_us = answer.delay_us();
    if weighed.delay_us > 0 {
        weighed.outcome = Outcome::Delay;
    }
    weighed
}

#[inline(never)]
fn weigh(decision: &Decision) -> Weighed {
    let rules = decision.domain.as_ref().map_or(&[][..], |domain| &domain.rules);
    let (allowed, delay_us) =
        decision.answer.as_ref().map_or((true, 0), |answer| (answer.allowed(), answer.delay_us()));
    let quota_over = decision.meaning.parts.iter().any(Part::is_of_tree) && quota_over(rules, decision);
    let refused = !allowed || quota_over;
    let degraded = decision.judged().find(|one| !one.allows() && degrades(rules, one)).map(|one| one.place);
    let holds = decision.judged().any(|one| one.paid && one.part.kind == Kind::Slots);
    let outcome = match degraded {
        _ if refused => Outcome::Deny,
        Some(_) => Outcome::Degrade,
        None if delay_us > 0 => Outcome::Delay,
        None => Outcome::Allow,
    };
    let deciding =
        if refused { most_refusing(decision, quota_over) } else { degraded.or_else(|| least_left(decision)) };
    Weighed { outcome, delay_us: if refused { 0 } else { delay_us }, holds: !refused && holds, deciding }
}

fn degrades(rules: &[Rule], one: &Judged<'_>) -> bool {
    let rule = rules.get(one.part.at.rule as usize);
    rule.is_some_and(|rule| rule.action == Action::Degrade && rule.mode == Mode::Enforce)
}

/// Quotas of a tree refuse together: only if every one of them is over.
fn quota_over(rules: &[Rule], decision: &Decision) -> bool {
    let is_quota = |one: &Judged<'_>| {
        let rule = rules.get(one.part.at.rule as usize).filter(|rule| rule.mode == Mode::Enforce);
        rule.and_then(|rule| rule.tree.as_ref()).is_some_and(|tree| tree.quota)
    };
    let mut quotas = decision.judged().filter(is_quota).peekable();
    quotas.peek().is_some() && quotas.all(|one| !one.allows())
}

/// Of several refusals, the one with the longest wait; one that never passes goes before all. Ties in the rules' order.
fn most_refusing(decision: &Decision, quota_over: bool) -> Option<usize> {
    let refusing = decision.judged().filter(|one| (one.part.enforced || quota_over) && !one.allows());
    let wait = |one: &Judged<'_>| match one.verdict.outcome {
        Verdicts::Refused(Retry::Never) => u64::MAX,
        _ => one.blocked_us.max(one.verdict.retry_after_us().unwrap_or(0)),
    };
    refusing.min_by_key(|one| Reverse(wait(one))).map(|one| one.place)
}

/// Of several admissions, the one with the least left of its amount. Ties in the rules' order.
fn least_left(decision: &Decision) -> Option<usize> {
    let amounts = |one: &Judged<'_>| (one.verdict.remaining, one.verdict.limit);
    let enforced = decision.judged().filter(|one| one.part.enforced);
    let least =
        enforced.reduce(|least, one| if has_less(amounts(&one), amounts(&least)) { one } else { least });
    least.map(|one| one.place)
}

/// Whether less is left of one amount than of another.
#[inline]
fn has_less((left, amount): (u64, u64), (other_left, other_amount): (u64, u64)) -> bool {
    u128::from(left) * u128::from(other_amount) < u128::from(other_left) * u128::from(amount)
}

#[cfg(test)]
mod tests;

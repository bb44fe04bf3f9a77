//! The one place that turns the store's word, or its silence, into a decision: shadow, failure policy by class, the most
//! restrictive of several limits. It knows no I/O.

use std::cmp::Reverse;

use smallvec::SmallVec;
use tidegate_core::{Limit, Outcome as Verdicts, Retry, Verdict};
use tidegate_rules::rule::{Action, Class, Mode, Rule};
use tidegate_store::{Answer, StoreError};

use crate::check::Malformed;
use crate::decision::{Consistency, Deciding, Decision, Judged, Outcome, Tier, Trouble};
use crate::resolve::{Part, Resolved};

/// What the store said, if it was asked.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly every word is an answer")]
pub enum Word {
    /// Its answer.
    Answer(Answer),
    /// It could not decide.
    Failed(StoreError),
    /// It broke.
    Panicked,
    /// It was not asked.
    NotAsked,
}

/// Makes the decision of one that lets everything pass, under the rules of its domain.
pub fn settle(decision: &mut Decision, resolved: &Resolved, word: &Word) -> Result<(), Malformed> {
    decision.id = resolved.plan.ticket();
    decision.shadow_alone.extend_from_slice(&resolved.shadow_alone);
    match word {
        _ if resolved.trouble.is_some() => broken(decision, resolved.trouble.unwrap_or(Trouble::Panic)),
        _ if decision.domain.is_none() => {}
        Word::Failed(StoreError::IdempotencyConflict) => return Err(Malformed::IdempotencyConflict),
        Word::Answer(answer) => answered(decision, resolved, answer),
        Word::Failed(_) => undecided(decision, resolved, Trouble::Store),
        Word::Panicked => undecided(decision, resolved, Trouble::Panic),
        Word::NotAsked => resolved.alone.into_iter().for_each(|rule| alone(decision, rule)),
    }
    Ok(())
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
fn undecided(decision: &mut Decision, resolved: &Resolved, trouble: Trouble) {
    let has_rule = |part: &&Part| part.enforced && !part.is_gate && part.at.tier != Tier::Override;
    let class_of =
        |part: &Part| Some(effective(decision.domain.as_ref()?.rules.get(part.at.rule as usize)?, part));
    let class = resolved.parts.iter().filter(has_rule).filter_map(class_of).max().unwrap_or_default();
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

fn answered(decision: &mut Decision, resolved: &Resolved, answer: &Answer) {
    let holds = judge(decision, resolved, answer);
    let (judged, rules) =
        (&*decision.judged, decision.domain.as_ref().map_or(&[][..], |domain| &domain.rules));
    let quota_over = resolved.parts.iter().any(Part::is_of_tree) && quota_over(rules, judged);
    let refused = !answer.allowed() || quota_over;
    let degraded = judged.iter().position(|one| !allows(one) && degrades(rules, one));
    let deciding =
        if refused { most_refusing(judged, quota_over) } else { degraded.or_else(|| least_left(judged)) };
    decision.outcome = match (refused, degraded, answer.delay_us()) {
        (true, ..) => Outcome::Deny,
        (_, Some(_), _) => Outcome::Degrade,
        (_, _, delay_us) if delay_us > 0 => Outcome::Delay,
        _ => Outcome::Allow,
    };
    decision.id = answer.ticket;
    decision.delay_us = if refused { 0 } else { answer.delay_us() };
    decision.replayed = answer.replayed;
    decision.holds = !refused && holds;
    decision.deciding = deciding.and_then(|index| u16::try_from(index).ok()).map(Deciding::Limit);
}

/// A limit each, with what its rule's gate said; whether one of them holds slots.
fn judge(decision: &mut Decision, resolved: &Resolved, answer: &Answer) -> bool {
    let Decision { judged, made, .. } = decision;
    let mut holds = false;
    for (index, ((part, charge), verdict)) in
        resolved.parts.iter().zip(resolved.plan.charges()).zip(&answer.verdicts).enumerate()
    {
        let paid = answer.paid(index);
        if part.is_gate {
            close(judged, part, verdict, paid);
            continue;
        }
        holds |= paid && charge.cost > 0 && charge.limit.term_us().is_some();
        judged.push(Judged {
            at: part.at,
            made: keep_if_made(made, part, charge.limit),
            verdict: *verdict,
            descriptor: part.descriptor,
            cost: charge.cost,
            blocked_us: 0,
            enforced: part.enforced,
            paid,
        });
    }
    holds
}

/// What no rule has is kept with the decision.
fn keep_if_made(made: &mut SmallVec<[Limit; 1]>, part: &Part, limit: &Limit) -> Option<u16> {
    if !limit.is_calendar() && part.at.tier != Tier::Override {
        return None;
    }
    made.push(*limit);
    u16::try_from(made.len() - 1).ok()
}

#[cold]
fn degrades(rules: &[Rule], one: &Judged) -> bool {
    let rule = rules.get(one.at.rule as usize);
    rule.is_some_and(|rule| rule.action == Action::Degrade && rule.mode == Mode::Enforce)
}

/// A gate that refused, or that has just been closed, holds for the limits that it guards.
#[cold]
fn close(judged: &mut [Judged], gate: &Part, verdict: &Verdict, closed_now: bool) {
    let blocked_us = match verdict.outcome {
        Verdicts::Refused(Retry::After(us) | Retry::Within(us)) => us,
        _ if closed_now => verdict.reset_after_us,
        _ => return,
    };
    let guarded = judged
        .iter_mut()
        .rev()
        .take_while(|one| one.at.rule == gate.at.rule && one.descriptor == gate.descriptor);
    guarded.for_each(|one| one.blocked_us = blocked_us);
}

fn allows(one: &Judged) -> bool {
    one.verdict.allowed() && one.blocked_us == 0
}

/// Quotas of a tree refuse together: only if every one of them is over.
#[cold]
fn quota_over(rules: &[Rule], judged: &[Judged]) -> bool {
    let is_quota = |one: &&Judged| {
        let rule = rules.get(one.at.rule as usize).filter(|rule| rule.mode == Mode::Enforce);
        rule.and_then(|rule| rule.tree.as_ref()).is_some_and(|tree| tree.quota)
    };
    let mut quotas = judged.iter().filter(is_quota).peekable();
    quotas.peek().is_some() && quotas.all(|one| !allows(one))
}

/// Of several refusals, the one with the longest wait; one that never passes goes before all. Ties in the rules' order.
#[cold]
fn most_refusing(judged: &[Judged], quota_over: bool) -> Option<usize> {
    let refusing = judged.iter().enumerate().filter(|(_, one)| (one.enforced || quota_over) && !allows(one));
    let wait = |one: &Judged| match one.verdict.outcome {
        Verdicts::Refused(Retry::Never) => u64::MAX,
        _ => one.blocked_us.max(one.verdict.retry_after_us().unwrap_or(0)),
    };
    refusing.min_by_key(|(_, one)| Reverse(wait(one))).map(|(index, _)| index)
}

/// Of several admissions, the one with the least left of its amount. Ties in the rules' order.
fn least_left(judged: &[Judged]) -> Option<usize> {
    let enforced = judged.iter().enumerate().filter(|(_, one)| one.enforced);
    enforced
        .min_by(|(_, a), (_, b)| {
            let share = |one: &Judged, other: &Judged| {
                u128::from(one.verdict.remaining) * u128::from(other.verdict.limit)
            };
            share(a, b).cmp(&share(b, a))
        })
        .map(|(index, _)| index)
}

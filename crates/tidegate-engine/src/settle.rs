//! The one place that turns the store's word, or its silence, into a decision: shadow, failure policy by class, the most
//! restrictive of several limits. It knows no I/O.

use std::cmp::Reverse;
use std::sync::Arc;

use smallvec::SmallVec;
use tidegate_core::{Outcome as Verdicts, Retry, Ticket, Timestamp, Verdict};
use tidegate_rules::Domain;
use tidegate_rules::rule::{Action, Class, Rule};
use tidegate_store::{Answer, StoreError};

use crate::check::Malformed;
use crate::decision::{Consistency, Deciding, Decision, Judged, Outcome, Trouble};
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

/// Makes the decision.
pub fn settle(
    domain: Option<Arc<Domain>>,
    resolved: &Resolved,
    word: &Word,
    at: Timestamp,
) -> Result<Decision, Malformed> {
    let id = resolved.plan.ticket();
    let decision = match (domain, word) {
        (domain, _) if resolved.trouble.is_some() => {
            broken(domain, resolved.trouble.unwrap_or(Trouble::Panic), at)
        }
        (None, _) => free(None, at),
        (Some(_), Word::Failed(StoreError::IdempotencyConflict)) => {
            return Err(Malformed::IdempotencyConflict);
        }
        (Some(domain), Word::Answer(answer)) => answered(domain, resolved, answer, at),
        (Some(domain), Word::Failed(_)) => undecided(domain, resolved, Trouble::Store, at),
        (Some(domain), Word::Panicked) => undecided(domain, resolved, Trouble::Panic, at),
        (Some(domain), Word::NotAsked) => match resolved.alone {
            Some(rule) => alone(domain, rule, at),
            None => free(Some(domain), at),
        },
    };
    let id = if decision.id == Ticket::default() { id } else { decision.id };
    Ok(Decision { id, shadow_alone: resolved.shadow_alone.clone(), ..decision })
}

/// A check of a domain without rules, or of which nothing is left to ask.
pub(crate) fn free(domain: Option<Arc<Domain>>, at: Timestamp) -> Decision {
    Decision {
        outcome: Outcome::Allow,
        id: Ticket::default(),
        at,
        state: Consistency::Exact,
        version: 0,
        delay_us: 0,
        replayed: false,
        holds: false,
        domain,
        judged: SmallVec::new(),
        deciding: None,
        shadow_alone: SmallVec::new(),
    }
}

/// A rule decides by itself.
fn alone(domain: Arc<Domain>, rule: u32, at: Timestamp) -> Decision {
    let blocks = domain.rules[rule as usize].action == Action::Block;
    Decision {
        outcome: if blocks { Outcome::Deny } else { Outcome::Allow },
        deciding: Some(Deciding::Rule(rule)),
        ..free(Some(domain), at)
    }
}

/// Nobody could decide: by the strictest class that has a say.
fn undecided(domain: Arc<Domain>, resolved: &Resolved, trouble: Trouble, at: Timestamp) -> Decision {
    let parts = resolved.parts.iter().filter(|part| part.enforced && !part.is_gate);
    let rules = parts.filter_map(|part| domain.rules.get(part.at.rule as usize));
    let class = rules.map(|rule| effective(rule, resolved)).max().unwrap_or_default();
    by_class(Some(domain), class, trouble, at)
}

/// Nothing is known but the domain: its strictest class has the say.
pub(crate) fn broken(domain: Option<Arc<Domain>>, trouble: Trouble, at: Timestamp) -> Decision {
    let class = domain.as_deref().map(|domain| domain.class).unwrap_or_default();
    by_class(domain, class, trouble, at)
}

fn by_class(domain: Option<Arc<Domain>>, class: Class, trouble: Trouble, at: Timestamp) -> Decision {
    let denies = matches!(class, Class::Security | Class::Strict);
    let refusal = if trouble == Trouble::Overload { Outcome::Shed } else { Outcome::Deny };
    Decision {
        outcome: if denies { refusal } else { Outcome::Allow },
        state: Consistency::Open,
        deciding: Some(Deciding::Nobody(trouble)),
        ..free(domain, at)
    }
}

/// What a request costs is let pass for those who pay: requests of a tier that the rule names.
fn effective(rule: &Rule, resolved: &Resolved) -> Class {
    let paying = resolved.parts.iter().any(|part| matches!(part.at.tier, crate::decision::Tier::Named(_)));
    if rule.class == Class::Cost && !paying && !rule.limits.tiers.is_empty() {
        Class::Security
    } else {
        rule.class
    }
}

fn answered(domain: Arc<Domain>, resolved: &Resolved, answer: &Answer, at: Timestamp) -> Decision {
    let judged = judged(resolved, answer);
    let quota_over = quota_over(&domain, &judged);
    let refused = !answer.allowed() || quota_over;
    let degraded = judged.iter().position(|one| {
        domain.rules.get(one.at.rule as usize).is_some_and(|rule| {
            rule.action == Action::Degrade && rule.mode == tidegate_rules::rule::Mode::Enforce
        }) && !allows(one)
    });
    let deciding =
        if refused { most_refusing(&judged, quota_over) } else { degraded.or_else(|| least_left(&judged)) };
    let holds =
        !refused
            && resolved.plan.charges().zip(0..).any(|(charge, index)| {
                charge.limit.term_us().is_some() && charge.cost > 0 && answer.paid(index)
            });
    Decision {
        outcome: match (refused, degraded, answer.delay_us()) {
            (true, ..) => Outcome::Deny,
            (_, Some(_), _) => Outcome::Degrade,
            (_, _, delay_us) if delay_us > 0 => Outcome::Delay,
            _ => Outcome::Allow,
        },
        id: answer.ticket,
        delay_us: if refused { 0 } else { answer.delay_us() },
        replayed: answer.replayed,
        holds,
        deciding: deciding.and_then(|index| u16::try_from(index).ok()).map(Deciding::Limit),
        judged,
        ..free(Some(domain), at)
    }
}

/// A limit each, with what its rule's gate said.
fn judged(resolved: &Resolved, answer: &Answer) -> SmallVec<[Judged; 4]> {
    let mut judged: SmallVec<[Judged; 4]> = SmallVec::new();
    for (index, part) in resolved.parts.iter().enumerate() {
        let (charge, verdict) = (resolved.plan.get(index), answer.verdicts[index]);
        if part.is_gate {
            close(&mut judged, part, &verdict, answer.paid(index));
            continue;
        }
        judged.push(Judged {
            at: part.at,
            limit: *charge.limit,
            verdict,
            descriptor: part.descriptor,
            cost: charge.cost,
            blocked_us: 0,
            enforced: part.enforced,
            paid: answer.paid(index),
        });
    }
    judged
}

/// A gate that refused, or that has just been closed, holds for the limits that it guards.
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
fn quota_over(domain: &Domain, judged: &[Judged]) -> bool {
    let is_quota = |one: &&Judged| {
        let rule = domain.rules.get(one.at.rule as usize);
        rule.and_then(|rule| rule.tree.as_ref()).is_some_and(|tree| tree.quota)
    };
    let mut quotas = judged.iter().filter(is_quota).peekable();
    quotas.peek().is_some() && quotas.all(|one| !allows(one))
}

/// Of several refusals, the one with the longest wait; one that never passes goes before all. Ties in the rules' order.
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

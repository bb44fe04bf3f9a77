//! The one place that turns the store's word, or its silence, into a decision: shadow, failure policy by class, the most
//! restrictive of several limits. It knows no I/O.

mod trees;

use std::cmp::Reverse;

use tidegate_core::{Limit, Outcome as Verdicts, Retry, Timestamp, Verdict};
use tidegate_rules::rule::{Action, Class, Mode, Rule};
use tidegate_store::Answer;

use crate::decision::{Consistency, Deciding, Decision, Judged, Outcome, Trouble};
use crate::last_resort::Question;
use crate::loaded::LoadedDomain;
use crate::meaning::{Kind, Meaning, Part, Tier};

/// When to come back if nobody could decide.
pub(crate) const UNDECIDED_RETRY_US: u64 = 1_000_000;

/// Why there is no answer of the store.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Silence {
    /// It could not decide.
    Store(Trouble),
    /// There was no plan to ask about although there should have been one.
    NoPlan(Trouble),
}

impl Silence {
    /// Whether a panic is the cause.
    pub(crate) const fn is_panic(self) -> bool {
        matches!(self, Self::Store(Trouble::Panic) | Self::NoPlan(Trouble::Panic))
    }
}

/// Makes the decision of one that lets everything pass, under the rules of its domain, and that has the store's answer; or none,
/// if there was nothing to ask.
#[inline]
pub(crate) fn settle(decision: &mut Decision) {
    if decision.answer.is_some() {
        answered(decision);
    } else {
        decision.meaning.alone.into_iter().for_each(|rule| alone(decision, rule));
    }
}

/// The same where the store should have answered and did not.
#[cold]
pub(crate) fn settle_silence(decision: &mut Decision, silence: Silence, last: &Question<'_>) {
    match silence {
        Silence::Store(trouble) => undecided(decision, trouble, last),
        Silence::NoPlan(trouble) => without_plan(decision, trouble, last),
    }
}

/// A rule decides by itself.
#[cold]
fn alone(decision: &mut Decision, rule: u32) {
    let rules = decision.domain().map(|domain| &domain.rules);
    if rules.is_some_and(|rules| rules[rule as usize].action == Action::Block) {
        decision.outcome = Outcome::Deny;
    }
    decision.deciding = Some(Deciding::Rule(rule));
}

/// Nobody could decide: by the strictest class that has a say.
#[cold]
fn undecided(decision: &mut Decision, trouble: Trouble, last: &Question<'_>) {
    let has_rule = |part: &&Part| part.enforced && !part.is_gate();
    // A limit of 0 refuses whatever the counters say.
    let class_of = |part: &Part| match part.kind {
        Kind::ZeroLimit if part.cost > 0 => Some(Class::Strict),
        _ => Some(effective(decision.rule_of(part)?, part)),
    };
    let parts = decision.meaning.parts.iter().filter(has_rule);
    let class = parts.filter_map(class_of).max().unwrap_or_default();
    by_class(decision, (class, trouble), last);
}

/// Nothing is known but the domain: its strictest class has the say.
#[cold]
pub(crate) fn without_plan(decision: &mut Decision, trouble: Trouble, last: &Question<'_>) {
    let class = decision.domain().map(|domain| domain.class).unwrap_or_default();
    by_class(decision, (class, trouble), last);
}

/// Nobody could count for a limit that its caller brought: it is comfort, and what was used is not known. What does not pass
/// may come again when others may.
#[cold]
pub(crate) fn uncounted(
    limit: &Limit,
    trouble: Trouble,
    last: &Question<'_>,
    now: Timestamp,
) -> (Verdict, Trouble) {
    let (outcome, trouble) = policy((Class::Comfort, trouble), last, (None, now));
    let limit = limit.capacity();
    let verdict = match outcome {
        Outcome::Allow => Verdict {
            outcome: Verdicts::Allowed,
            limit,
            remaining: limit,
            debt: 0,
            reset_after_us: 0,
            next_after_us: 0,
        },
        _ => Verdict {
            outcome: Verdicts::Refused(Retry::After(UNDECIDED_RETRY_US)),
            limit,
            remaining: 0,
            debt: 0,
            reset_after_us: UNDECIDED_RETRY_US,
            next_after_us: 0,
        },
    };
    (verdict, trouble)
}

fn by_class(decision: &mut Decision, (class, trouble): (Class, Trouble), last: &Question<'_>) {
    let (outcome, trouble) = policy((class, trouble), last, (decision.domain.as_deref(), decision.at));
    decision.outcome = outcome;
    decision.state = Consistency::Open;
    decision.deciding = Some(Deciding::Nobody(trouble, class));
}

/// What passes by its class alone is held to the last resort.
fn policy(
    (class, trouble): (Class, Trouble),
    last: &Question<'_>,
    (domain, now): (Option<&LoadedDomain>, Timestamp),
) -> (Outcome, Trouble) {
    match class {
        Class::Security | Class::Strict if trouble == Trouble::Overload => (Outcome::Shed, trouble),
        Class::Security | Class::Strict => (Outcome::Deny, trouble),
        _ if last.has_room(domain, now) => (Outcome::Allow, trouble),
        _ => (Outcome::Shed, Trouble::LastResort),
    }
}

/// What a request costs is let pass for those who pay: requests of a tier that the rule names.
fn effective(rule: &Rule, part: &Part) -> Class {
    let paying = matches!(part.at.tier, Tier::Named(_)) || rule.limits.tiers.is_empty();
    if part.class == Class::Cost && !paying { Class::Security } else { part.class }
}

fn answered(decision: &mut Decision) {
    let Some(answer) = &decision.answer else { return };
    if answer.replayed | answer.local {
        unusual(decision);
    }
    if decision.meaning.has_tree {
        trees::settle(decision);
    }
    let Some(answer) = &decision.answer else { return };
    if let Some(Clear { holds, least_left }) = clear(&decision.meaning, answer) {
        decision.is_clear = true;
        decision.holds = holds;
        decision.deciding = Some(Deciding::Limit(least_left));
    } else {
        contested(decision);
    }
}

/// An answer that was given before, under the id that it had then; or by this node alone.
#[cold]
fn unusual(decision: &mut Decision) {
    let Some(answer) = &decision.answer else { return };
    decision.id = answer.ticket;
    decision.replayed = answer.replayed;
    if answer.local {
        decision.state = Consistency::Local;
    }
}

/// The common case: there are limits and nothing else, and each lets the request pass at once.
#[derive(Debug, PartialEq, Eq)]
struct Clear {
    holds: bool,
    least_left: u16,
}

fn clear(meaning: &Meaning, answer: &Answer) -> Option<Clear> {
    if meaning.has_gates || meaning.has_tree || !answer.allowed() {
        return None;
    }
    let (mut holds, mut least) = (false, None);
    for (place, (part, verdict)) in (0_u16..).zip(meaning.parts.iter().zip(&answer.verdicts)) {
        if verdict.outcome != Verdicts::Allowed {
            return None;
        }
        if part.kind == Kind::Slots {
            holds |= answer.paid(usize::from(place));
        }
        if part.enforced && least.is_none_or(|(_, least)| has_less(verdict, least)) {
            least = Some((place, verdict));
        }
    }
    least.map(|(least_left, _)| Clear { holds, least_left })
}

/// What [`clear`] finds, and all that it does not.
#[inline(never)]
fn contested(decision: &mut Decision) {
    let Some(answer) = &decision.answer else { return };
    let (weighed, delay_us) = (weigh(decision), answer.delay_us());
    let refused = !answer.allowed() || weighed.exceeded || weighed.quotas_over == Some(true);
    let (outcome, deciding) = match weighed.degraded {
        _ if refused => (Outcome::Deny, most_refusing(decision, weighed.quotas_over == Some(true))),
        Some(place) => (Outcome::Degrade, Some(place)),
        None if delay_us > 0 => (Outcome::Delay, weighed.least_left),
        None => (Outcome::Allow, weighed.least_left),
    };
    decision.outcome = outcome;
    decision.delay_us = if refused { 0 } else { delay_us };
    decision.holds = !refused && weighed.holds;
    decision.deciding = deciding.and_then(|place| u16::try_from(place).ok()).map(Deciding::Limit);
}

/// What the verdicts come to. Parts are named by their places.
#[derive(Default)]
struct Weighed {
    /// Whether slots are held.
    holds: bool,
    /// The first that lets the request pass with less.
    degraded: Option<usize>,
    /// Whether a limit that was only looked at is exceeded: the store knows nothing of that.
    exceeded: bool,
    /// Quotas of a tree refuse together: only if every one of them is over.
    quotas_over: Option<bool>,
    /// Of several admissions, the one with the least left of its amount. Ties in the rules' order.
    least_left: Option<usize>,
}

fn weigh(decision: &Decision) -> Weighed {
    let mut weighed = Weighed::default();
    let mut least = None;
    for one in decision.judged() {
        weighed.holds |= one.paid && one.part.kind == Kind::Slots;
        if weighed.degraded.is_none() && !one.allows() && degrades(decision, &one) {
            weighed.degraded = Some(one.place);
        }
        weighed.exceeded |= one.part.kind == Kind::Peek && one.part.enforced && !one.allows();
        if one.part.is_of_tree()
            && let Some(mode) = quota_mode(decision, one.part)
        {
            // A quota in shadow mode always has room, as in envoyproxy/ratelimit.
            let is_over = mode == Mode::Enforce && !one.allows();
            weighed.quotas_over = Some(weighed.quotas_over.unwrap_or(true) && is_over);
        }
        if one.part.enforced && least.is_none_or(|least| has_less(one.verdict, least)) {
            (weighed.least_left, least) = (Some(one.place), Some(one.verdict));
        }
    }
    weighed
}

#[cold]
fn degrades(decision: &Decision, one: &Judged<'_>) -> bool {
    let rule = decision.rule_of(one.part);
    rule.is_some_and(|rule| rule.action == Action::Degrade && rule.mode == Mode::Enforce)
}

/// The mode of a quota of a descriptor tree; `None` for all other limits.
#[inline(never)]
fn quota_mode(decision: &Decision, part: &Part) -> Option<Mode> {
    let rule = decision.rule_of(part)?;
    rule.tree.as_ref().filter(|tree| tree.quota).map(|_| rule.mode)
}

fn is_quota(decision: &Decision, one: &Judged<'_>) -> bool {
    quota_mode(decision, one.part) == Some(Mode::Enforce)
}

/// Of several refusals, the one with the longest wait; one that never passes goes before all. Ties in the rules' order.
#[cold]
fn most_refusing(decision: &Decision, quotas_over: bool) -> Option<usize> {
    let has_say = |one: &Judged<'_>| one.part.enforced || (quotas_over && is_quota(decision, one));
    let refusing = decision.judged().filter(|one| !one.allows() && has_say(one));
    let wait = |one: &Judged<'_>| match one.verdict.outcome {
        Verdicts::Refused(Retry::Never) => u64::MAX,
        _ => one.blocked_us.max(one.verdict.retry_after_us().unwrap_or(0)),
    };
    refusing.min_by_key(|one| Reverse(wait(one))).map(|one| one.place)
}

/// Whether less is left of one limit than of another, each measured by its amount.
#[inline]
fn has_less(one: &Verdict, other: &Verdict) -> bool {
    u128::from(one.remaining) * u128::from(other.limit) < u128::from(other.remaining) * u128::from(one.limit)
}

#[cfg(test)]
mod tests;

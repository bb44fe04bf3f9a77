//! Rules that apply to no request, to fewer than their `match` promises, or no longer.

use std::collections::HashSet;

use tidegate_core::Timestamp;

use super::excludes::exclude;
use super::implies::implies;
use super::warning;
use crate::condition::{Condition, Test};
use crate::conditions::mentions;
use crate::diagnostic::Diagnostic;
use crate::rule::{By, Rule};
use crate::snapshot::Domain;

/// A rule that matches only requests without what it counts by: an error, because it can never limit anything.
pub(super) fn never(domain: &Domain, rule: &Rule, said: &mut Vec<Diagnostic>) {
    let absent = |by: &&By| {
        let mut attributes = by.attributes();
        attributes.all(|attribute| exclude(&rule.applies, &Condition::Is(attribute, Test::Present)))
    };
    if let Some(by) = rule.by.iter().find(absent) {
        let name = by.attributes().next().map_or("", |attribute| domain.names.name(attribute));
        let message =
            format!("the rule can never apply: it matches requests without `{name}` and counts by it");
        let help = "count by something that such requests have, such as ip";
        said.push(Diagnostic::error("never-applies", rule.origin.span, message).help(help));
    }
}

/// Warns of a value that stands twice in `by`: it makes no narrower counter.
pub(super) fn repeated(domain: &Domain, rule: &Rule, said: &mut Vec<Diagnostic>) {
    let mut seen = HashSet::new();
    let twice = domain.by(rule).into_iter().find(|name| !seen.insert(name.clone()));
    if let Some(name) = twice {
        let message = format!("the rule counts by `{name}` twice, which is the same as once");
        said.push(warning(rule, "duplicate-by", message).help("remove one of them"));
    }
}

/// `match` that asks for one tier, so that the limits of all others are never used.
pub(super) fn one_tier(domain: &Domain, rule: &Rule, said: &mut Vec<Diagnostic>) {
    let Some(tier_by) = rule.limits.tier_by.filter(|tier_by| mentions(&rule.applies, *tier_by)) else {
        return;
    };
    let name = domain.names.name(tier_by);
    let never =
        rule.limits.tiers.iter().find(|(tier, _)| {
            exclude(&rule.applies, &Condition::Is(tier_by, Test::OneOf(vec![tier.clone()])))
        });
    let values = rule.limits.tiers.iter().map(|(tier, _)| tier.clone()).collect();
    if never.is_none() && implies(&rule.applies, &Condition::Is(tier_by, Test::OneOf(values))) {
        let message =
            format!("the rule's own limit is never used: `match` asks for a `{name}` that has a tier");
        let help = format!("remove `{name}` from `match`, or the tiers");
        said.push(warning(rule, "tier-match", message).help(help));
    }
    if let Some((tier, _)) = never {
        let message =
            format!("the tier `{tier}` is never used: `match` excludes requests with that `{name}`");
        let help = format!(
            "remove `{name}` from `match`: requests of a tier that is not listed have the rule's own limit"
        );
        said.push(warning(rule, "tier-match", message).help(help));
    }
}

pub(super) fn expired(rule: &Rule, now: Timestamp, said: &mut Vec<Diagnostic>) {
    if rule.expires_at.is_some_and(|end| end <= now) {
        let message = "the rule has expired: `expires_at` is in the past";
        said.push(warning(rule, "expired", message).help("remove the rule, or write a later instant"));
    }
    if rule.schedule.as_ref().is_some_and(|schedule| schedule.is_over(now)) {
        let message = "the rule never applies again: all `dates` of its `when` are in the past";
        said.push(warning(rule, "expired", message).help("remove the rule, or write later dates"));
    }
}

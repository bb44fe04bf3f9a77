//! `atomic: required`: rules that can match one request must have one home, so that a Cluster charges them in one step.
//!
//! A pair of rules can match together unless their form says otherwise: both are in force in one group, of which one
//! applies; or their `match` (with `count`, and with what `by` needs to be there) excludes each other, by values, absence,
//! prefixes or the literal beginnings of globs. Rules that are off are not asked about; those in the shadow are. When rules
//! apply (`when`, `expires_at`) is not looked at, and a rule of a descriptor tree can match together with every other. It is
//! about requests that say one thing of each attribute: descriptors that disagree are several requests in one.

use super::excludes::exclude;
use super::say;
use crate::compile::File;
use crate::condition::{Condition, Test};
use crate::diagnostic::Diagnostic;
use crate::home::Owner;
use crate::rule::{By, Mode, Rule};
use crate::snapshot::Domain;

/// Pairs that are looked at in a domain. Beyond, rules are taken to match together: rather an error too many.
const MOST_PAIRS: usize = 1_000_000;

/// A rule that counts, and what a request has that it counts.
struct Counting<'d> {
    rule: &'d Rule,
    charged: Condition,
}

/// Adds an error for each rule that must share its home with all that can match with it, and does not.
pub(super) fn check(domain: &Domain, files: &mut [File]) {
    if !domain.atomic && !domain.rules.iter().any(|rule| rule.atomic) {
        return;
    }
    let counting: Vec<Counting<'_>> = domain.counting().map(Counting::of).collect();
    let mut pairs = MOST_PAIRS;
    for one in &counting {
        // Of two that live apart in a domain, the one is told that lives by itself.
        let must = one.rule.atomic || (domain.atomic && one.rule.home.owner == Owner::Themselves);
        let other = counting.iter().filter(|_| must).find(|other| one.is_apart_from(other, &mut pairs));
        if let Some(other) = other {
            say(files, one.rule, vec![apart(domain, one.rule, other.rule)]);
        }
    }
}

impl<'d> Counting<'d> {
    fn of(rule: &'d Rule) -> Self {
        let held = rule.applies.clone();
        let found = match &rule.counts {
            Some(counts) => Condition::Any(vec![held, counts.clone()]),
            None => held,
        };
        let present = |by: &By| {
            Condition::Any(by.attributes().map(|attribute| Condition::Is(attribute, Test::Present)).collect())
        };
        let there = rule.by.iter().map(present);
        Self { rule, charged: Condition::All(std::iter::once(found).chain(there).collect()) }
    }

    /// Whether another can match together with it and lives elsewhere.
    fn is_apart_from(&self, other: &Self, pairs: &mut usize) -> bool {
        let (own, others) = (self.rule, other.rule);
        if own.name == others.name || is_one_home(own, others) || is_one_group(own, others) {
            return false;
        }
        *pairs = pairs.saturating_sub(1);
        *pairs == 0 || !exclude(&self.charged, &other.charged)
    }
}

fn is_one_home(one: &Rule, other: &Rule) -> bool {
    [one, other].iter().all(|rule| rule.home.owner != Owner::Themselves)
}

/// One that only counts a request without holding it leaves the group to another, and counts all the same.
fn is_one_group(one: &Rule, other: &Rule) -> bool {
    let group = |rule: &Rule| {
        let takes = rule.mode == Mode::Enforce && rule.counts.is_none();
        rule.group.filter(|_| takes).map(|rank| rank.group)
    };
    group(one).is_some_and(|own| group(other) == Some(own))
}

fn apart(domain: &Domain, rule: &Rule, other: &Rule) -> Diagnostic {
    let whose = if rule.atomic { "" } else { " of the domain" };
    let message = format!(
        "`atomic: required`{whose}, but `{}` ({}:{}) can match the same request and has another home on a Cluster",
        other.name, other.origin.file, other.origin.line
    );
    let label = match rule.home.owner {
        Owner::Themselves => "lives at its own values",
        _ => "lives with the tenant",
    };
    Diagnostic::error("atomic", rule.origin.span, message).label(label).help(fix(domain, rule, other))
}

/// What to write, so that both have one home or never meet.
fn fix(domain: &Domain, rule: &Rule, other: &Rule) -> String {
    let Some(tenant) = domain.tenant.map(|tenant| domain.names.name(tenant)) else {
        return "write `tenant: org` (whatever attribute owns the counters) at the top of the file: rules of one tenant \
                have one home; or put both into one `group`"
            .to_owned();
    };
    let alone: Vec<&Rule> =
        [rule, other].into_iter().filter(|rule| rule.home.owner == Owner::Themselves).collect();
    let trees = alone.iter().any(|rule| rule.tree.is_some());
    let names: Vec<String> = alone.iter().map(|rule| format!("`{}`", rule.name)).collect();
    let names = names.join(" and ");
    if trees {
        format!(
            "let the descriptors of {names} have an entry `{tenant}`, or move them to a domain of their own"
        )
    } else {
        format!(
            "write `scope: tenant` for {names}, put both rules into one `group`, or let their `match` exclude each other"
        )
    }
}

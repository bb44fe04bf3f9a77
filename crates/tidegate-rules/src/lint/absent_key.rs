//! Requests that no rule limits, because they lack what the rules count by.

use std::collections::HashSet;

use super::implies::implies;
use super::warning;
use crate::condition::{Condition, Test};
use crate::diagnostic::Diagnostic;
use crate::name::AttributeId;
use crate::rule::{By, Mode, Rule};
use crate::snapshot::Domain;

/// What a client leaves out at will. A declared attribute is stated by the operator's own code.
const OPTIONAL: [&str; 4] = ["api_key", "user", "org", "plan"];
const FAMILIES: [&str; 2] = ["header.", "query."];

/// Pairs of rules that are looked at in a domain. Beyond, nothing is said.
const MOST_PAIRS: usize = 100_000;

/// A rule that may limit what another one leaves out, and what it matches of HTTP requests.
struct Cover<'d> {
    rule: &'d Rule,
    applies: Condition,
}

/// The rules with such a key that no other rule makes up for: one for each attribute.
pub(super) fn find(domain: &Domain) -> Vec<(&Rule, Diagnostic)> {
    let covering = domain.rules.iter().filter(|rule| is_limiting(rule) || decides(rule));
    let covers: Vec<Cover<'_>> =
        covering.map(|rule| Cover { rule, applies: relaxed(domain, &rule.applies) }).collect();
    let (mut seen, mut found, mut pairs) = (HashSet::new(), Vec::new(), MOST_PAIRS);
    for rule in domain.rules.iter().filter(|rule| is_limiting(rule)) {
        for attribute in rule.by.iter().filter_map(|by| optional(domain, by)) {
            if !seen.contains(&attribute) && !is_made_up_for(&covers, rule, attribute, &mut pairs) {
                seen.insert(attribute);
                found.push((rule, said(domain, rule, attribute)));
            }
        }
    }
    found
}

fn optional(domain: &Domain, by: &By) -> Option<AttributeId> {
    let By::Attribute(attribute) = by else { return None };
    let name = domain.names.name(*attribute);
    let is_optional = OPTIONAL.contains(&name) || FAMILIES.iter().any(|family| name.starts_with(family));
    is_optional.then_some(*attribute)
}

/// Whether the rule takes only requests that have it, or another rule limits those that lack it.
fn is_made_up_for(covers: &[Cover<'_>], rule: &Rule, attribute: AttributeId, pairs: &mut usize) -> bool {
    let lacking = Condition::All(vec![rule.applies.clone(), Condition::Is(attribute, Test::Absent)]);
    let covers_it = |cover: &Cover<'_>| {
        *pairs = pairs.saturating_sub(1);
        let needs_it = cover.rule.by.iter().any(|by| by.attributes().any(|own| own == attribute));
        *pairs == 0 || (!needs_it && implies(&lacking, &cover.applies))
    };
    implies(&rule.applies, &Condition::Is(attribute, Test::Present)) || covers.iter().any(covers_it)
}

/// The condition without the tests that every HTTP request passes, such as `path: /**`.
fn relaxed(domain: &Domain, condition: &Condition) -> Condition {
    let all = |parts: &[Condition]| parts.iter().map(|part| relaxed(domain, part)).collect();
    match condition {
        Condition::All(parts) => Condition::All(all(parts)),
        Condition::Any(parts) => Condition::Any(all(parts)),
        Condition::Is(attribute, test) if is_always_passed(domain.names.name(*attribute), test) => {
            Condition::All(Vec::new())
        }
        condition => condition.clone(),
    }
}

fn is_always_passed(name: &str, test: &Test) -> bool {
    match test {
        Test::Glob(glob) => name == "path" && matches!(glob.to_string().as_str(), "/**" | "**"),
        Test::Prefix(prefix) => name == "path" && matches!(&**prefix, "/" | ""),
        Test::Present => ["path", "method", "ip"].contains(&name),
        _ => false,
    }
}

fn decides(rule: &Rule) -> bool {
    rule.decides_alone() && rule.mode == Mode::Enforce
}

fn is_limiting(rule: &Rule) -> bool {
    rule.tree.is_none() && rule.mode == Mode::Enforce && rule.limits.all().next().is_some()
}

fn said(domain: &Domain, rule: &Rule, attribute: AttributeId) -> Diagnostic {
    let name = domain.names.name(attribute);
    let message = format!("a request without `{name}` is not limited by this rule, and by no other");
    let help = format!(
        "add a rule with `match: {{ {name}: {{ absent: true }} }}` and `by: [ip]` or `action: block`; if no such \
         request comes, write `match: {{ {name}: {{ present: true }} }}`"
    );
    warning(rule, "absent-key", message).help(help)
}

//! Why, in lines for people: as the command line prints it.

use tidegate_engine::explain::{Charged, Explained, Explanation, Part};
use tidegate_rules::rule::Mode;

/// The lines of an explanation, with rules in shadow mode if they are told.
pub(super) fn lines(explanation: &Explanation, tell_shadow: bool) -> Vec<String> {
    if !explanation.known_domain {
        return vec!["the rules have no such domain: every request passes".to_owned()];
    }
    let tenant = explanation.tenant.iter().map(|tenant| format!("tenant: {tenant}"));
    let derived = explanation.derived.iter().map(|(name, value)| format!("derived: {name} = {value}"));
    let rules = explanation.rules.iter().filter(|rule| tell_shadow || rule.mode != Mode::Shadow);
    tenant.chain(derived).chain(rules.flat_map(rule)).collect()
}

fn rule(rule: &Explained) -> Vec<String> {
    let switched = rule.switched_to.map(|mode| format!(" [switched to {}]", mode.word()));
    let head = format!("{} ({}){}", rule.rule, rule.origin, switched.unwrap_or_default());
    match &rule.part {
        Part::Alone => vec![format!("! {head}: decides by itself")],
        Part::Not(why) => vec![format!("- {head}: {why}")],
        Part::Applies { decides, charges } => {
            let role = if *decides { "decides" } else { "is only reported" };
            let first = format!("+ {head}: applies and {role}");
            std::iter::once(first).chain(charges.iter().map(charge)).collect()
        }
    }
}

fn charge(charge: &Charged) -> String {
    let tier = charge.tier.as_ref().map(|tier| format!(" (tier {tier})")).unwrap_or_default();
    let Charged { policy, limit, cost, counter, .. } = charge;
    format!("    {policy} {limit}{tier}: {cost} from the counter of {counter}")
}

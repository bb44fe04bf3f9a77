//! Explanations as JSON: what the admin door and the command line answer.

use serde_json::{Map, Value, json};
use tidegate_engine::explain::{Charged, Explained, Explanation, Part};

/// Which rules a check meets, and why not the others.
pub fn to_json(explanation: &Explanation) -> Value {
    let derived: Map<String, Value> =
        explanation.derived.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    json!({
        "known_domain": explanation.known_domain,
        "tenant": explanation.tenant,
        "derived": derived,
        "alone": explanation.alone,
        "rules": explanation.rules.iter().map(rule).collect::<Vec<_>>(),
    })
}

fn rule(rule: &Explained) -> Value {
    let switched_to = rule.switched_to.map(tidegate_rules::rule::Mode::word);
    let mut said = json!({ "rule": rule.rule, "origin": rule.origin, "switched_to": switched_to });
    match &rule.part {
        Part::Applies { decides, charges } => {
            said["part"] = json!("applies");
            said["decides"] = json!(decides);
            said["charges"] = charges.iter().map(charged).collect();
        }
        Part::Alone => said["part"] = json!("alone"),
        Part::Not(why) => {
            said["part"] = json!("not");
            said["why"] = json!(why);
        }
    }
    said
}

fn charged(charged: &Charged) -> Value {
    json!({
        "policy": charged.policy,
        "limit": charged.limit,
        "tier": charged.tier,
        "cost": charged.cost,
        "counter": charged.counter,
    })
}

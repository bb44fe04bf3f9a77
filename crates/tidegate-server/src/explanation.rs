//! Explanations as JSON: what the admin door and the command line answer.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use tidegate_engine::explain::{Charged, Explained, Explanation, Part};
use tidegate_rules::Snapshot;
use tidegate_rules::diagnostic::nearest;
use tidegate_rules::rule::Mode;

/// Which rules a check meets, and why not the others.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Explanation")]
pub(crate) struct Told {
    /// The domain that was asked about.
    domain: String,
    /// Whether the rules have the domain.
    known_domain: bool,
    /// The domain of the rules with the nearest name, if they do not have that one.
    nearest_domain: Option<String>,
    /// The tenant that counters live with, if the domain has one and the request names it.
    tenant: Option<String>,
    /// What followed from what the request said.
    derived: BTreeMap<String, String>,
    /// The rule that decides by itself, if there is one.
    alone: Option<String>,
    /// Every rule of the domain, in order.
    rules: Vec<RuleTold>,
}

/// A rule's part.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ExplainedRule")]
struct RuleTold {
    rule: String,
    /// Where it was written.
    origin: String,
    /// The mode that a switch has set for it, if one has.
    switched_to: Option<&'static str>,
    #[serde(flatten)]
    part: PartTold,
}

/// What a rule has to say.
#[derive(JsonSchema, Serialize)]
#[serde(tag = "part", rename_all = "lowercase")]
enum PartTold {
    /// It applies.
    Applies {
        /// Whether its word decides, or is only reported.
        decides: bool,
        /// What is charged.
        charges: Vec<ChargeTold>,
    },
    /// It decides by itself.
    Alone,
    /// It does not apply.
    Not {
        /// Why not.
        why: String,
    },
}

/// What is charged to one limit.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Charge")]
struct ChargeTold {
    /// The limit's name.
    policy: String,
    /// The limit in short.
    limit: String,
    /// The tier that it is of, if it is of one.
    tier: Option<String>,
    /// Units.
    cost: u64,
    /// The counter: whose, and by which values.
    counter: String,
}

/// An explanation for a domain under some rules, as JSON.
#[expect(clippy::missing_panics_doc, reason = "what cannot fail needs no warning")]
pub fn to_json(explanation: &Explanation, domain: &str, snapshot: &Snapshot) -> Value {
    serde_json::to_value(Told::of(explanation, domain, snapshot))
        .expect("texts and numbers under text names are always JSON")
}

impl Told {
    fn of(explanation: &Explanation, domain: &str, snapshot: &Snapshot) -> Self {
        let known = || snapshot.domains().map(|domain| &*domain.name);
        let nearest = if explanation.known_domain { None } else { nearest(domain, known()) };
        Self {
            domain: domain.to_owned(),
            known_domain: explanation.known_domain,
            nearest_domain: nearest.map(str::to_owned),
            tenant: explanation.tenant.clone(),
            derived: explanation.derived.iter().cloned().collect(),
            alone: explanation.alone.clone(),
            rules: explanation.rules.iter().map(RuleTold::of).collect(),
        }
    }
}

impl RuleTold {
    fn of(rule: &Explained) -> Self {
        let part = match &rule.part {
            Part::Applies { decides, charges } => {
                let charges = charges.iter().map(ChargeTold::of).collect();
                PartTold::Applies { decides: *decides, charges }
            }
            Part::Alone => PartTold::Alone,
            Part::Not(why) => PartTold::Not { why: why.clone() },
        };
        let switched_to = rule.switched_to.map(Mode::word);
        Self { rule: rule.rule.clone(), origin: rule.origin.clone(), switched_to, part }
    }
}

impl ChargeTold {
    fn of(charged: &Charged) -> Self {
        Self {
            policy: charged.policy.clone(),
            limit: charged.limit.clone(),
            tier: charged.tier.clone(),
            cost: charged.cost,
            counter: charged.counter.clone(),
        }
    }
}

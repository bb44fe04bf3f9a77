//! What Envoy's other filters and its logs may know of a decision.

use serde_json::{Map, Value, json};
use tidegate_engine::Decision;
use tidegate_rules::yaml::{Node, Value as Written};

use super::request::{Request, Turn};
use super::statuses::{Status, tree_rule};
use crate::door::decision_id;

/// The decision, and under `metadata` what the rules say of the descriptors that passed.
pub(super) fn metadata(request: &Request, decision: &Decision, statuses: &[Status]) -> Value {
    let mut fields = json!({
        "decision": decision.outcome.word(),
        "id": decision_id(decision),
        "domain": request.domain,
        "reason": decision.reason(),
        "state": decision.state.word(),
        "snapshot": decision.version,
    });
    if let Some(rule) = decision.deciding_rule() {
        fields["rule"] = json!(rule.name);
    }
    let passed = of_the_passed(request, decision, statuses);
    if !passed.is_empty() {
        fields["metadata"] = Value::Object(passed);
    }
    fields
}

fn of_the_passed(request: &Request, decision: &Decision, statuses: &[Status]) -> Map<String, Value> {
    let asked = request.descriptors.iter().filter(|asked| asked.turn() != Turn::Refund);
    let replaced: Vec<&str> = asked
        .filter_map(|asked| tree_rule(asked, decision)?.tree.as_deref())
        .flat_map(|tree| tree.replaces.iter().map(|name| &**name))
        .collect();
    let mut merged = Map::new();
    for (asked, status) in request.descriptors.iter().zip(statuses) {
        if status.over || asked.turn() == Turn::Refund {
            continue;
        }
        let Some(tree) = tree_rule(asked, decision).and_then(|rule| rule.tree.as_deref()) else { continue };
        if tree.limit_name.as_deref().is_some_and(|name| replaced.contains(&name)) {
            continue;
        }
        if let Some(Written::Map(entries)) = tree.metadata.as_deref() {
            merge(&mut merged, object(entries));
        }
    }
    merged
}

/// The first word on a field counts; objects are merged.
fn merge(into: &mut Map<String, Value>, more: Map<String, Value>) {
    for (name, value) in more {
        match (into.get_mut(&name), value) {
            (Some(Value::Object(known)), Value::Object(more)) => merge(known, more),
            (Some(_), _) => {}
            (None, value) => {
                into.insert(name, value);
            }
        }
    }
}

fn object(entries: &[(tidegate_rules::yaml::Key, Node)]) -> Map<String, Value> {
    entries.iter().map(|(key, node)| (key.name.clone(), value(&node.value))).collect()
}

fn value(written: &Written) -> Value {
    match written {
        Written::Null => Value::Null,
        Written::Bool(truth) => json!(truth),
        Written::Integer(number) => json!(number),
        Written::Text(text) => json!(text),
        Written::List(nodes) => nodes.iter().map(|node| value(&node.value)).collect(),
        Written::Map(entries) => Value::Object(object(entries)),
    }
}

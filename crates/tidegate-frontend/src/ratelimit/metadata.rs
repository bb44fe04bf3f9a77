//! Dynamic metadata from a decision and from what the rules say of descriptors.

use serde_json::{Map, Value, json};
use tidegate_engine::Decision;
use tidegate_rules::yaml::{Node, Value as Written};
use tidegate_wire::decision_id::DecisionId;
use tidegate_wire::envoy::{
    DescriptorStatus, HitsMode, MetadataDecision, RateLimitRequest, ResponseMetadata,
};

use super::statuses::{replaced, tree_rule};

pub(super) fn metadata<'d>(
    request: &'d RateLimitRequest<'_>,
    decision: &'d Decision,
    statuses: &[DescriptorStatus<'_>],
) -> ResponseMetadata<'d> {
    let decided = MetadataDecision {
        outcome: decision.outcome.word(),
        id: DecisionId::new(decision.id.0),
        state: decision.state.word(),
        rule: decision.deciding_rule().map(|rule| &*rule.name),
        snapshot: decision.version,
    };
    ResponseMetadata {
        decided: Some(decided),
        domain: request.domain,
        reason: decision.reason(),
        passed: of_the_passed(request, decision, statuses),
        request: Map::new(),
    }
}

fn of_the_passed(
    request: &RateLimitRequest<'_>,
    decision: &Decision,
    statuses: &[DescriptorStatus<'_>],
) -> Map<String, Value> {
    if !decision.domain().is_some_and(|domain| domain.tree.has_metadata()) {
        return Map::new();
    }
    let replaced = replaced(request, decision);
    let mut merged = Map::new();
    for (asked, status) in request.descriptors.iter().zip(statuses) {
        if status.over || asked.hits_mode() == HitsMode::Refund {
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

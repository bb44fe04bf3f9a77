//! What Envoy's other filters and its logs may know of a decision.

use std::borrow::Cow;

use serde_json::{Map, Value, json};
use tidegate_engine::Decision;
use tidegate_rules::yaml::{Node, Value as Written};

use super::request::{Asked, Request, Turn};
use super::statuses::{Status, replaced, tree_rule};
use crate::door::DecisionId;

/// The decision, and what the rules say of the descriptors that passed.
#[derive(Debug, Default)]
pub(crate) struct Metadata<'d> {
    /// What was decided, if anything was.
    pub(crate) decided: Option<Decided<'d>>,
    /// Where it was asked.
    pub(crate) domain: &'d str,
    /// Why it was decided so.
    pub(crate) reason: Cow<'static, str>,
    /// What the rules say.
    pub(crate) passed: Map<String, Value>,
    /// The request as it was asked, if metadata repeats it.
    pub(crate) asked: Map<String, Value>,
}

/// A decision in words.
#[derive(Debug)]
pub(crate) struct Decided<'d> {
    pub(crate) outcome: &'static str,
    pub(crate) id: DecisionId,
    pub(crate) state: &'static str,
    /// The rule that decided, if one did.
    pub(crate) rule: Option<&'d str>,
    /// The version of the rules.
    pub(crate) snapshot: u64,
}

impl<'d> Metadata<'d> {
    pub(super) fn new(request: &'d Request<'_>, decision: &'d Decision, statuses: &[Status<'_>]) -> Self {
        let decided = Decided {
            outcome: decision.outcome.word(),
            id: DecisionId::of(decision),
            state: decision.state.word(),
            rule: decision.deciding_rule().map(|rule| &*rule.name),
            snapshot: decision.version,
        };
        Self {
            decided: Some(decided),
            domain: request.domain,
            reason: decision.reason(),
            passed: of_the_passed(request, decision, statuses),
            asked: Map::new(),
        }
    }

    /// Repeats the request, under the names that envoyproxy/ratelimit has for it.
    pub(super) fn repeating(mut self, request: &Request<'_>) -> Self {
        let descriptors: Vec<Value> = request.descriptors.iter().map(repeated).collect();
        self.asked.insert("descriptors".to_owned(), Value::Array(descriptors));
        if request.hits > 0 {
            self.asked.insert("hitsAddend".to_owned(), json!(request.hits));
        }
        self
    }

    /// Of a question that no rule was asked about.
    #[cfg(feature = "rls")]
    pub(super) fn of_refusal(request: &'d Request<'_>) -> Self {
        Self { domain: request.domain, reason: Cow::Borrowed("malformed"), ..Self::default() }
    }

    /// What it says in words, by their names.
    pub(crate) fn words(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let decided = self.decided.as_ref();
        let words = [
            ("decision", decided.map(|decided| decided.outcome)),
            ("id", decided.map(|decided| decided.id.as_str())),
            ("domain", Some(self.domain)),
            ("reason", Some(&*self.reason)),
            ("state", decided.map(|decided| decided.state)),
            ("rule", decided.and_then(|decided| decided.rule)),
        ];
        words.into_iter().filter_map(|(name, word)| Some((name, word?)))
    }

    /// The version of the rules that decided.
    pub(crate) fn snapshot(&self) -> Option<u64> {
        self.decided.as_ref().map(|decided| decided.snapshot)
    }

    /// As JSON: what the rules say stands under `metadata`.
    #[cfg(feature = "http")]
    pub(crate) fn to_json(&self) -> Value {
        let words = self.words().map(|(name, word)| (name.to_owned(), json!(word)));
        let mut fields: Map<String, Value> = words.collect();
        fields.extend(self.asked.clone());
        fields.extend(self.snapshot().map(|snapshot| ("snapshot".to_owned(), json!(snapshot))));
        if !self.passed.is_empty() {
            fields.insert("metadata".to_owned(), Value::Object(self.passed.clone()));
        }
        Value::Object(fields)
    }
}

fn of_the_passed(request: &Request<'_>, decision: &Decision, statuses: &[Status<'_>]) -> Map<String, Value> {
    if !decision.domain().is_some_and(|domain| domain.tree.has_metadata()) {
        return Map::new();
    }
    let replaced = replaced(request, decision);
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

fn repeated(asked: &Asked<'_>) -> Value {
    let entries: Vec<String> = asked.entries.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let mut fields = Map::from_iter([("entries".to_owned(), json!(entries))]);
    if let Some(limit) = asked.limit {
        // The text format of protobuf leaves out a 0.
        let amount = Some(limit.amount).filter(|amount| *amount > 0);
        let amount = amount.map(|amount| format!("requests_per_unit:{amount} ")).unwrap_or_default();
        fields.insert("limit".to_owned(), json!(format!("{amount}unit:{}", limit.unit.name())));
    }
    if let Some(hits) = asked.hits {
        fields.insert("hitsAddend".to_owned(), json!(hits));
    }
    Value::Object(fields)
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

//! What Envoy's other filters and its logs may know of a decision.

use std::borrow::Cow;

use serde_json::{Map, Value, json};
use smallvec::SmallVec;
use tidegate_engine::Decision;
use tidegate_rules::yaml::{Node, Value as Written};

use super::request::{Request, Turn};
use super::statuses::{Status, tree_rule};
use crate::door::decision_id;

/// The decision, and what the rules say of the descriptors that passed.
#[derive(Debug, Default)]
pub(crate) struct Metadata<'d> {
    /// Words about the decision by their names.
    pub(crate) words: SmallVec<[(&'static str, Cow<'d, str>); 6]>,
    /// The version of the rules that decided.
    pub(crate) snapshot: Option<u64>,
    /// What the rules say.
    pub(crate) passed: Map<String, Value>,
}

impl<'d> Metadata<'d> {
    pub(super) fn new(request: &'d Request<'_>, decision: &'d Decision, statuses: &[Status<'_>]) -> Self {
        let mut words = SmallVec::from_buf([
            ("decision", Cow::Borrowed(decision.outcome.word())),
            ("id", Cow::Owned(decision_id(decision))),
            ("domain", Cow::Borrowed(request.domain)),
            ("reason", decision.reason()),
            ("state", Cow::Borrowed(decision.state.word())),
            ("rule", Cow::Borrowed("")),
        ]);
        match decision.deciding_rule() {
            Some(rule) => words[5].1 = Cow::Borrowed(&*rule.name),
            None => words.truncate(5),
        }
        Self { words, snapshot: Some(decision.version), passed: of_the_passed(request, decision, statuses) }
    }

    /// Of a question that no rule was asked about.
    #[cfg(feature = "rls")]
    pub(super) fn of_refusal(request: &'d Request<'_>) -> Self {
        let words = [("domain", Cow::Borrowed(request.domain)), ("reason", Cow::Borrowed("malformed"))];
        Self { words: words.into_iter().collect(), ..Self::default() }
    }

    /// As JSON: what the rules say stands under `metadata`.
    #[cfg(feature = "http")]
    pub(crate) fn to_json(&self) -> Value {
        let words = self.words.iter().map(|(name, word)| ((*name).to_owned(), json!(word)));
        let mut fields: Map<String, Value> = words.collect();
        fields.extend(self.snapshot.map(|snapshot| ("snapshot".to_owned(), json!(snapshot))));
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

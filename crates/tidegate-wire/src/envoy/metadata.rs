//! Dynamic metadata: what Envoy's other filters and its logs may know of a decision.

use std::borrow::Cow;
use std::fmt;

use serde_json::{Map, Value, json};

use super::{RateLimitRequest, RequestDescriptor};
use crate::decision_id::DecisionId;

/// The decision, and what the rules say of the descriptors that passed.
#[derive(Default)]
pub struct ResponseMetadata<'d> {
    /// What was decided, if anything was.
    pub decided: Option<MetadataDecision<'d>>,
    /// The domain of the request.
    pub domain: &'d str,
    /// Why it was decided so.
    pub reason: Cow<'static, str>,
    /// What the rules say of the descriptors that passed.
    pub passed: Map<String, Value>,
    /// The request as it was sent, if metadata repeats it.
    pub request: Map<String, Value>,
}

/// A decision in words.
#[derive(Debug)]
pub struct MetadataDecision<'d> {
    /// The word for the outcome.
    pub outcome: &'static str,
    /// The id of the decision.
    pub id: DecisionId,
    /// The word for how exact it is.
    pub state: &'static str,
    /// The rule that decided, if one did.
    pub rule: Option<&'d str>,
    /// The version of the rules.
    pub snapshot: u64,
}

/// The request may hold secrets.
impl fmt::Debug for ResponseMetadata<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseMetadata")
            .field("decided", &self.decided)
            .field("domain", &self.domain)
            .field("reason", &self.reason)
            .finish_non_exhaustive()
    }
}

impl<'d> ResponseMetadata<'d> {
    /// Repeats the request, under the names that envoyproxy/ratelimit has for it.
    #[must_use]
    pub fn repeating(mut self, request: &RateLimitRequest<'_>) -> Self {
        let descriptors: Vec<Value> = request.descriptors.iter().map(repeated).collect();
        self.request.insert("descriptors".to_owned(), Value::Array(descriptors));
        if request.hits > 0 {
            self.request.insert("hitsAddend".to_owned(), json!(request.hits));
        }
        self
    }

    /// Of a request that the engine was not asked about.
    pub(super) fn of_refusal(request: &'d RateLimitRequest<'_>) -> Self {
        Self { domain: request.domain, reason: Cow::Borrowed("malformed"), ..Self::default() }
    }

    /// Its words by their names.
    pub(super) fn words(&self) -> impl Iterator<Item = (&'static str, &str)> {
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
    pub(super) fn snapshot(&self) -> Option<u64> {
        self.decided.as_ref().map(|decided| decided.snapshot)
    }

    /// As JSON: what the rules say stands under `metadata`.
    pub fn to_json(&self) -> Value {
        let words = self.words().map(|(name, word)| (name.to_owned(), json!(word)));
        let mut fields: Map<String, Value> = words.collect();
        fields.extend(self.request.clone());
        fields.extend(self.snapshot().map(|snapshot| ("snapshot".to_owned(), json!(snapshot))));
        if !self.passed.is_empty() {
            fields.insert("metadata".to_owned(), Value::Object(self.passed.clone()));
        }
        Value::Object(fields)
    }
}

fn repeated(descriptor: &RequestDescriptor<'_>) -> Value {
    let entries: Vec<String> =
        descriptor.entries.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let mut fields = Map::from_iter([("entries".to_owned(), json!(entries))]);
    if let Some(limit) = descriptor.limit {
        // The text format of protobuf leaves out a 0.
        let amount = Some(limit.amount).filter(|amount| *amount > 0);
        let amount = amount.map(|amount| format!("requests_per_unit:{amount} ")).unwrap_or_default();
        fields.insert("limit".to_owned(), json!(format!("{amount}unit:{}", limit.unit.name())));
    }
    if let Some(hits) = descriptor.hits {
        fields.insert("hitsAddend".to_owned(), json!(hits));
    }
    Value::Object(fields)
}

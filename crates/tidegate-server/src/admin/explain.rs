//! `POST /admin/v1/explain`: which rules in force a request meets, what it would be charged where, and why not the others.

use std::borrow::Cow;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value};
use tidegate_engine::check::{MAX_ATTRIBUTES, MAX_NAME_BYTES, MAX_VALUE_BYTES};
use tidegate_engine::explain::explain;
use tidegate_engine::{Check, Descriptor};

use super::Admin;
use crate::explanation;
use crate::http::{json_body, problem};

const SHAPE: &str = r#"write {"domain": "api", "attributes": {"path": "/x"}, "descriptors": [[["key", "value"]]], "at": "2026-12-24T18:00:00Z"}"#;

/// Instants in their plainest form.
const AT: &str = "^(19[7-9][0-9]|20[0-9]{2})-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z$";

/// The body that asks.
pub(crate) struct Explain;

impl JsonSchema for Explain {
    fn schema_name() -> Cow<'static, str> {
        "ExplainRequest".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "domain": {
                    "description": "It may be left out if the rules have just one.",
                    "type": "string",
                    "minLength": 1,
                    "maxLength": MAX_NAME_BYTES,
                },
                "attributes": {
                    "type": "object",
                    "maxProperties": MAX_ATTRIBUTES,
                    "propertyNames": { "maxLength": MAX_NAME_BYTES },
                    "additionalProperties": { "type": ["string", "number", "boolean"], "maxLength": MAX_VALUE_BYTES },
                },
                "descriptors": {
                    "description": "Lists of entries, each a key and a value, as in a check.",
                    "type": "array",
                    "items": {
                        "type": "array",
                        "items": { "type": "array", "items": { "type": "string" }, "minItems": 2, "maxItems": 2 },
                    },
                },
                "at": {
                    "description": "When; now unless it is said. Any date and time of RFC 3339 since 1970 will do.",
                    "type": "string",
                    "pattern": AT,
                    "examples": ["2026-12-24T18:00:00Z"],
                },
            },
        })
    }
}

/// A question as it came.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    /// The rules may have only one domain, which then need not be named.
    domain: Option<String>,
    attributes: Pairs,
    descriptors: Vec<Pairs>,
    at: Option<String>,
}

type Pairs = Vec<(String, String)>;

pub(super) async fn explain_check(State(admin): State<Arc<Admin>>, body: Bytes) -> Response {
    let Some(asked) = Asked::read(&body) else { return problem(StatusCode::BAD_REQUEST, SHAPE) };
    let snapshot = admin.metrics.engine.snapshot();
    let sole = || snapshot.sole_domain().map(|domain| domain.name.to_string());
    let Some(domain) = asked.domain.clone().or_else(sole) else {
        return problem(StatusCode::BAD_REQUEST, "name the `domain`: the rules do not have just one");
    };
    let at = match asked.at.as_deref().map(tidegate_rules::schedule::instant) {
        Some(Err(error)) => return problem(StatusCode::BAD_REQUEST, &error.to_string()),
        Some(Ok(at)) => at,
        None => admin.metrics.clock.now(),
    };
    let attributes = borrowed(&asked.attributes);
    let entries: Vec<_> = asked.descriptors.iter().map(|entries| borrowed(entries)).collect();
    let descriptors: Vec<_> = entries.iter().map(|entries| Descriptor::new(entries)).collect();
    let check = Check { attributes: &attributes, descriptors: &descriptors, ..Check::new(&domain) };
    match explain(&check, &snapshot, at) {
        Ok(said) => json_body(StatusCode::OK, &explanation::to_json(&said, &domain, &snapshot)),
        Err(malformed) => problem(StatusCode::BAD_REQUEST, &malformed.to_string()),
    }
}

impl Asked {
    fn read(body: &[u8]) -> Option<Self> {
        let Ok(Value::Object(body)) = serde_json::from_slice(body) else { return None };
        let known = ["domain", "attributes", "descriptors", "at"];
        if body.keys().any(|key| !known.contains(&key.as_str())) {
            return None;
        }
        let text_at = |name: &str| match body.get(name) {
            Some(value) => value.as_str().map(|text| Some(text.to_owned())),
            None => Some(None),
        };
        Some(Self {
            domain: text_at("domain")?,
            attributes: attributes(&body)?,
            descriptors: descriptors(&body)?,
            at: text_at("at")?,
        })
    }
}

fn attributes(body: &Map<String, Value>) -> Option<Pairs> {
    let Some(attributes) = body.get("attributes") else { return Some(Vec::new()) };
    attributes.as_object()?.iter().map(|(name, value)| Some((name.clone(), text(value)?))).collect()
}

/// `[[["key", "value"], …], …]`, as in a check.
fn descriptors(body: &Map<String, Value>) -> Option<Vec<Pairs>> {
    let Some(descriptors) = body.get("descriptors") else { return Some(Vec::new()) };
    let entry = |entry: &Value| match entry.as_array()?.as_slice() {
        [Value::String(key), value] => Some((key.clone(), text(value)?)),
        _ => None,
    };
    let descriptor = |descriptor: &Value| descriptor.as_array()?.iter().map(entry).collect();
    descriptors.as_array()?.iter().map(descriptor).collect()
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

fn borrowed(pairs: &Pairs) -> Vec<(&str, &str)> {
    pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_descriptors_and_attributes() {
        let body = r#"{"attributes": {"n": 1}, "descriptors": [[["key", "value"], ["n", 2]], []]}"#;
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let expected = Asked {
            domain: None,
            attributes: vec![pair("n", "1")],
            descriptors: vec![vec![pair("key", "value"), pair("n", "2")], vec![]],
            at: None,
        };
        assert_eq!(Asked::read(body.as_bytes()), Some(expected));
        for wrong in [
            "",
            "[]",
            r#"{"domain": 1}"#,
            r#"{"at": 1}"#,
            r#"{"descriptor": []}"#,
            r#"{"descriptors": [["key", "value"]]}"#,
            r#"{"descriptors": [[["key"]]]}"#,
        ] {
            assert_eq!(Asked::read(wrong.as_bytes()), None, "{wrong}");
        }
    }
}

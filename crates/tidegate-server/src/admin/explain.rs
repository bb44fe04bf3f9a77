//! `POST /admin/v1/explain`: which rules in force a request meets, what it would be charged where, and why not the others.

use std::borrow::Cow;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value};
use tidegate_engine::Check;
use tidegate_engine::check::{MAX_ATTRIBUTES, MAX_NAME_BYTES, MAX_VALUE_BYTES};
use tidegate_engine::explain::explain;

use super::Admin;
use crate::explanation;
use crate::http::{json_body, problem};

const SHAPE: &str = r#"write {"domain": "api", "attributes": {"path": "/x"}, "at": "2026-12-24T18:00:00Z"}"#;

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
            "required": ["domain"],
            "additionalProperties": false,
            "properties": {
                "domain": { "type": "string", "minLength": 1, "maxLength": MAX_NAME_BYTES },
                "attributes": {
                    "type": "object",
                    "maxProperties": MAX_ATTRIBUTES,
                    "propertyNames": { "maxLength": MAX_NAME_BYTES },
                    "additionalProperties": { "type": ["string", "number", "boolean"], "maxLength": MAX_VALUE_BYTES },
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

pub(super) async fn explain_check(State(admin): State<Arc<Admin>>, body: Bytes) -> Response {
    let Ok(Value::Object(body)) = serde_json::from_slice(&body) else {
        return problem(StatusCode::BAD_REQUEST, SHAPE);
    };
    if body.keys().any(|key| !["domain", "attributes", "at"].contains(&key.as_str())) {
        return problem(StatusCode::BAD_REQUEST, SHAPE);
    }
    let (Some(domain), Some(attributes)) = (body.get("domain").and_then(Value::as_str), attributes(&body))
    else {
        return problem(StatusCode::BAD_REQUEST, SHAPE);
    };
    let at = match body.get("at").map(|at| at.as_str().and_then(tidegate_rules::schedule::instant)) {
        Some(None) => return problem(StatusCode::BAD_REQUEST, SHAPE),
        Some(Some(at)) => at,
        None => admin.metrics.clock.now(),
    };
    let pairs: Vec<(&str, &str)> =
        attributes.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let check = Check { attributes: &pairs, ..Check::new(domain) };
    match explain(&check, &admin.metrics.engine.snapshot(), at) {
        Ok(said) => json_body(StatusCode::OK, &explanation::to_json(&said)),
        Err(malformed) => problem(StatusCode::BAD_REQUEST, &malformed.to_string()),
    }
}

fn attributes(body: &Map<String, Value>) -> Option<Vec<(String, String)>> {
    let Some(attributes) = body.get("attributes") else { return Some(Vec::new()) };
    let pair = |(name, value): (&String, &Value)| {
        let value = match value {
            Value::String(text) => text.clone(),
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            _ => return None,
        };
        Some((name.clone(), value))
    };
    attributes.as_object()?.iter().map(pair).collect()
}

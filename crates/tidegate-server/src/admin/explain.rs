//! `POST /admin/v1/explain`: which rules in force a request meets, what it would be charged where, and why not the others.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Map, Value};
use tidegate_engine::Check;
use tidegate_engine::explain::explain;

use super::Admin;
use crate::http::{json_body, problem};
use crate::{clock, explanation};

const SHAPE: &str = r#"write {"domain": "api", "attributes": {"path": "/x"}, "at": "2026-12-24T18:00:00Z"}"#;

pub(super) async fn explain_check(State(admin): State<Arc<Admin>>, body: Bytes) -> Response {
    let Ok(Value::Object(body)) = serde_json::from_slice(&body) else {
        return problem(StatusCode::BAD_REQUEST, SHAPE);
    };
    let (Some(domain), Some(attributes)) = (body.get("domain").and_then(Value::as_str), attributes(&body))
    else {
        return problem(StatusCode::BAD_REQUEST, SHAPE);
    };
    let at = match body.get("at").map(|at| at.as_str().and_then(tidegate_rules::schedule::instant)) {
        Some(None) => return problem(StatusCode::BAD_REQUEST, SHAPE),
        Some(Some(at)) => at,
        None => clock::system()(),
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

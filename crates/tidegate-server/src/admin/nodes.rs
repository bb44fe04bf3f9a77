//! `GET /admin/v1/nodes`: who counts together, as this node last heard it.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::Admin;
use crate::http::json_body;

/// Who counts together.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Nodes")]
pub(crate) struct Members {
    /// `memory` or `redis`.
    store: &'static str,
    /// Whether that was heard lately.
    fresh: bool,
    nodes: Vec<Node>,
}

/// One of them.
#[derive(JsonSchema, Serialize)]
struct Node {
    id: String,
    /// How long ago it was heard of.
    age_ms: u64,
    /// What it tells about itself.
    told: Value,
}

pub(super) async fn nodes(State(admin): State<Arc<Admin>>) -> Response {
    let Some(heard) = &admin.metrics.heard else {
        return json_body(StatusCode::OK, &Members { store: "memory", fresh: true, nodes: Vec::new() });
    };
    let news = heard.get();
    let nodes = news.members.iter().map(|member| Node {
        id: member.id.clone(),
        age_ms: u64::try_from(member.age.as_millis()).unwrap_or(u64::MAX),
        // Whoever writes to the store writes this: what is no JSON is shown as a text.
        told: serde_json::from_str(&member.told).unwrap_or_else(|_| Value::String(member.told.clone())),
    });
    json_body(StatusCode::OK, &Members { store: "redis", fresh: news.is_fresh, nodes: nodes.collect() })
}

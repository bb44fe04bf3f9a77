//! `GET /admin/v1/nodes`: who counts together, as this node last heard it.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Value, json};

use super::Admin;
use crate::http::json_body;

pub(super) async fn nodes(State(admin): State<Arc<Admin>>) -> Response {
    let Some(heard) = &admin.metrics.heard else {
        return json_body(StatusCode::OK, &json!({ "store": "memory", "fresh": true, "nodes": [] }));
    };
    let news = heard.get();
    let nodes: Vec<Value> = news
        .members
        .iter()
        .map(|member| {
            // Whoever writes to the store writes this: what is no JSON is shown as a text.
            let told = serde_json::from_str(&member.told).unwrap_or_else(|_| Value::String(member.told.clone()));
            json!({ "id": member.id, "age_ms": u64::try_from(member.age.as_millis()).unwrap_or(u64::MAX), "told": told })
        })
        .collect();
    json_body(StatusCode::OK, &json!({ "store": "redis", "fresh": news.is_fresh, "nodes": nodes }))
}

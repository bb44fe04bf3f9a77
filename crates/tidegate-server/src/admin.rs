//! The admin door: metrics, the rules in force, and reading them again. It answers this machine only.

mod rules;
mod explain;
mod guard;
mod nodes;

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{Html, IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Router, middleware};
use serde_json::json;
use tokio::sync::{mpsc, oneshot};

use crate::health::Health;
use crate::http::{json_body, problem, readiness};
use crate::metrics::{self, Metrics};
use crate::rules::Trigger;

/// What the door needs to answer.
pub(crate) struct Admin {
    pub(crate) metrics: Metrics,
    pub(crate) health: Arc<Health>,
    pub(crate) reload: mpsc::Sender<Trigger>,
}

/// Everything that the door answers.
pub(crate) fn app(admin: Arc<Admin>) -> Router {
    Router::new()
        .route("/", get(index))
        .route("/metrics", get(render))
        .route("/healthz", get(|| async { "alive\n" }))
        .route("/readyz", get(|State(admin): State<Arc<Admin>>| async move { readiness(&admin.health) }))
        .route("/admin/v1/rules", get(rules::rules))
        .route("/admin/v1/snapshot", get(rules::snapshot))
        .route("/admin/v1/nodes", get(nodes::nodes))
        .route("/admin/v1/reload", post(reload))
        .route("/admin/v1/explain", post(explain::explain_check))
        .fallback(|| async { problem(StatusCode::NOT_FOUND, "there is nothing at this path; see /") })
        .with_state(admin)
        .layer(middleware::from_fn(guard::only_this_machine))
}

async fn index() -> Html<&'static str> {
    Html(include_str!("admin/index.html"))
}

async fn render(State(admin): State<Arc<Admin>>) -> Response {
    ([(CONTENT_TYPE, metrics::CONTENT_TYPE)], admin.metrics.render()).into_response()
}

/// Reads the rules again and says what came of it: 200 if all of them are in force as written, 422 if not.
async fn reload(State(admin): State<Arc<Admin>>) -> Response {
    let (answer, answered) = oneshot::channel();
    let sent = admin.reload.try_send(Trigger { why: "admin", answer: Some(answer) });
    let Some(outcome) = (match sent {
        Ok(()) => answered.await.ok(),
        Err(_) => None,
    }) else {
        return problem(StatusCode::SERVICE_UNAVAILABLE, "the rules are being read already; try again");
    };
    let status = if outcome.is_success() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    let mut body = rules::status(&admin.metrics.status.get());
    body["result"] = json!(outcome.word());
    json_body(status, &body)
}

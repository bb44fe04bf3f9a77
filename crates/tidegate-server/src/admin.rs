//! The admin door: metrics, the rules in force, reading them again and switching them. It answers this machine only, or whoever
//! knows its token or has shown a certificate.

mod rules;
mod switches;
mod explain;
mod guard;
mod nodes;

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{Html, IntoResponse as _, Response};
use axum::routing::{get, post, put};
use axum::{Router, middleware};
use schemars::JsonSchema;
use serde::Serialize;
use tidegate_control::ControlHandle;
use tidegate_frontend::http::wrong_method;
use tidegate_net::secret::BearerToken;

use crate::health::Health;
use crate::http::{described, json_body, problem, readiness};
use crate::metrics::{self, Metrics};
use crate::openapi;

pub(crate) use crate::explanation::Told as Explanation;
pub(crate) use explain::Explain;
pub(crate) use nodes::Members;
pub(crate) use rules::{Rules, Summary};
pub(crate) use switches::{Listed, Set};

/// What the door needs to answer.
pub(crate) struct Admin {
    pub(crate) metrics: Metrics,
    pub(crate) health: Arc<Health>,
    pub(crate) control: ControlHandle,
}

/// By what those who ask are known.
pub(crate) enum Known {
    /// They know this token.
    Token(BearerToken),
    /// They have shown a certificate, or there would be no connection.
    Certificate,
    /// They are on this machine.
    ThisMachine,
}

/// Everything that the door answers.
pub(crate) fn app(admin: Arc<Admin>, known: Known) -> Router {
    let document = openapi::admin(openapi::token(matches!(known, Known::Token(_))));
    let router = Router::new()
        .route("/", get(index))
        .route("/metrics", get(render))
        .route("/healthz", get(|| async { "alive\n" }))
        .route("/readyz", get(|State(admin): State<Arc<Admin>>| async move { readiness(&admin.health) }))
        .route("/admin/v1/rules", get(rules::rules))
        .route("/admin/v1/snapshot", get(rules::snapshot))
        .route("/admin/v1/nodes", get(nodes::nodes))
        .route("/admin/v1/reload", post(reload))
        .route(
            "/admin/v1/switches",
            get(switches::list).put(switches::set_all).delete(switches::take_back_all),
        )
        .route("/admin/v1/switches/{domain}", put(switches::set_domain).delete(switches::take_back_domain))
        .route("/admin/v1/switches/{domain}/{rule}", put(switches::set_rule).delete(switches::take_back_rule))
        .route("/admin/v1/explain", post(explain::explain_check))
        .route(openapi::ADMIN_PATH, described(&document))
        .method_not_allowed_fallback(wrong_method)
        .fallback(|| async { problem(StatusCode::NOT_FOUND, "there is nothing at this path; see /") })
        .with_state(admin);
    match known {
        Known::Token(token) => {
            let guard = move |request, next| guard::only_with(token.clone(), request, next);
            router.layer(middleware::from_fn(guard))
        }
        Known::Certificate => router.layer(middleware::from_fn(guard::only_own_pages)),
        Known::ThisMachine => router.layer(middleware::from_fn(guard::only_this_machine)),
    }
}

async fn index() -> Html<&'static str> {
    Html(include_str!("admin/index.html"))
}

async fn render(State(admin): State<Arc<Admin>>) -> Response {
    ([(CONTENT_TYPE, metrics::CONTENT_TYPE)], admin.metrics.render()).into_response()
}

/// What came of reading the rules again.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Reloaded {
    result: &'static str,
    #[serde(flatten)]
    status: rules::Status,
}

/// Reads the rules again and says what came of it: 200 if all of them are in force as written, 422 if not.
async fn reload(State(admin): State<Arc<Admin>>) -> Response {
    let outcome = match admin.control.reload("admin").await {
        Ok(outcome) => outcome,
        Err(busy) => return problem(StatusCode::SERVICE_UNAVAILABLE, &busy.to_string()),
    };
    let status = if outcome.is_success() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    let body = Reloaded { result: outcome.word(), status: rules::Status::of(&admin.metrics.status.rules()) };
    json_body(status, &body)
}

//! The HTTP door: the API and the health routes.

use std::sync::Arc;

use axum::body::Bytes;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodRouter, get};
use axum::{Router, middleware};
use serde::Serialize;
use serde_json::{Value, json};
use tidegate_frontend::door::Door;
use tidegate_frontend::http;
use tidegate_net::secret::BearerToken;

use crate::callers;
use crate::health::Health;
use crate::openapi;
use crate::routed::Fallbacks;
use crate::stack::Stack;

/// Everything that the door answers. The API wants its token, if it has one; how the server is, everybody may know.
pub(crate) fn app(door: Door<Stack>, health: &Arc<Health>, token: Option<BearerToken>) -> Router {
    let (ready, check) = (Arc::clone(health), Arc::clone(health));
    let document = openapi::http(openapi::token(token.is_some()));
    let api = http::router(door);
    let api = match token {
        None => api,
        Some(token) => {
            let guard = move |request, next| callers::only_with(token.clone(), request, next);
            api.layer(middleware::from_fn(guard))
        }
    };
    api.route("/healthz", get(|| async { "alive\n" }))
        .route("/readyz", get(move || async move { readiness(&ready) }))
        .route("/healthcheck", get(move || async move { healthcheck(&check) }))
        .route(openapi::HTTP_PATH, described(&document))
        .method_not_allowed_fallback(http::wrong_method)
        .fallback(|| async { problem(StatusCode::NOT_FOUND, "there is nothing at this path") })
}

/// A route that answers with a document.
pub(crate) fn described<S: Clone + Send + Sync + 'static>(document: &Value) -> MethodRouter<S> {
    let bytes = Bytes::from(document.to_string());
    get(move || async move { ([(CONTENT_TYPE, "application/json")], bytes) })
}

/// Whether new requests are welcome.
pub(crate) fn readiness(health: &Health) -> Response {
    if health.is_ready() {
        "ready\n".into_response()
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "stopping\n").into_response()
    }
}

/// As envoyproxy/ratelimit answers it.
fn healthcheck(health: &Health) -> Response {
    if health.is_ready() { "OK".into_response() } else { StatusCode::INTERNAL_SERVER_ERROR.into_response() }
}

/// An answer in JSON.
pub(crate) fn json_body(status: StatusCode, body: &impl Serialize) -> Response {
    let json = serde_json::to_vec(body).expect("texts and numbers under text names are always JSON");
    (status, [(CONTENT_TYPE, "application/json")], json).into_response()
}

/// A problem that is not about a limit.
pub(crate) fn problem(status: StatusCode, detail: &str) -> Response {
    let body = json!({
        "type": "about:blank",
        "title": status.canonical_reason(),
        "status": status.as_u16(),
        "detail": detail,
    });
    (status, [(CONTENT_TYPE, "application/problem+json")], body.to_string()).into_response()
}

/// How this listener answers where its routes cannot.
pub(crate) const FALLBACKS: Fallbacks = Fallbacks { timed_out, panicked, busy };

/// The answer to a request that took too long.
fn timed_out() -> Response {
    problem(StatusCode::REQUEST_TIMEOUT, "the request took too long to arrive or to be answered")
}

/// The answer to a request that is too long while others are, or whose answer is.
fn busy() -> Response {
    let mut response = problem(StatusCode::SERVICE_UNAVAILABLE, "too much is held at once; retry in 1 s");
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

/// The answer to a request that broke something.
fn panicked() -> Response {
    problem(StatusCode::INTERNAL_SERVER_ERROR, "something broke on the way")
}

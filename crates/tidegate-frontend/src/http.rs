//! The HTTP door: questions and answers in JSON.
//!
//! | route | takes | gives |
//! |---|---|---|
//! | `POST /v1/check`, `/v1/peek` | a check, `{"checks": […]}` or `[…]` | the decision, or `{"results": […]}` |
//! | `POST /v1/reserve` | a check with `hold_ms` and `at_end` | the decision |
//! | `POST /v1/commit` | `{"id", "cost"}` | `{"settled": true}` |
//! | `POST /v1/cancel`, `/v1/release`, `/v1/renew` | `{"id"}` | `{"settled": true}` |
//! | `POST /v1/refund` | a check with `charged_at_ms` | the decision |
//! | `/v1/authorize` by any method | how to ask in its query, and the headers of a request | 200 if that request may pass |
//! | `POST /json` | Envoy's `RateLimitRequest` | its `RateLimitResponse` |
//!
//! What is refused, and what cannot be understood, is answered with problem details (RFC 9457) that repeat no value of the
//! request. Health routes, time-outs and what else belongs to a listener are the server's.

mod domain;
mod body;
mod question;
mod reply;
mod answer;
mod decide;
mod settle;
mod authorize;
mod protojson;
mod describe;
#[cfg(test)]
mod tests;

use axum::Router;
use axum::body::{Bytes, HttpBody};
use axum::response::Response;
use axum::routing::{self, post};
use http::Request;
use tidegate_store::Store;

use crate::door::Door;
use crate::door::question::Ask;
use tidegate_wire::trust::Peer;

pub use body::wrong_method;
pub use decide::Begun;
pub use describe::describe;

/// The routes of the door.
pub fn router<S: Store>(door: Door<S>) -> Router {
    Router::new()
        .route(CHECK, post(decide::check::<S>))
        .route("/v1/peek", post(decide::peek::<S>))
        .route("/v1/reserve", post(decide::reserve::<S>))
        .route("/v1/refund", post(decide::refund::<S>))
        .route("/v1/commit", post(settle::commit::<S>))
        .route("/v1/cancel", post(settle::cancel::<S>))
        .route("/v1/release", post(settle::release::<S>))
        .route("/v1/renew", post(settle::renew::<S>))
        .route("/v1/authorize", routing::any(authorize::authorize::<S>))
        .route("/json", post(protojson::should_rate_limit::<S>))
        .method_not_allowed_fallback(body::wrong_method)
        .with_state(door)
}

/// Where a check is asked about.
pub const CHECK: &str = "/v1/check";

/// `POST /v1/check` by itself, for whoever knows that it was asked and need not look for a route: what is known at once is done
/// at once, and little is carried about until the check is answered. Clones are the same.
#[derive(Debug)]
pub struct Checks<S> {
    door: Door<S>,
}

impl<S: Store> Checks<S> {
    /// Checks through that door.
    pub const fn new(door: Door<S>) -> Self {
        Self { door }
    }

    /// Begins to answer a check from there: reads its head, and keeps what is needed of it.
    pub fn begin<B>(&self, request: Request<B>, peer: Option<&Peer>) -> Begun<B> {
        let (head, body) = request.into_parts();
        decide::begin(&self.door, (&head.headers, peer), body, Ask::Check)
    }

    /// Answers it.
    pub async fn finish<B>(&self, begun: Begun<B>) -> Response
    where
        B: HttpBody<Data = Bytes> + Unpin,
    {
        decide::finish(&self.door, begun).await
    }
}

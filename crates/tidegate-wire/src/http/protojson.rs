//! `POST /json`, as envoyproxy/ratelimit has it: its messages in protobuf's JSON.

use axum::extract::{Request, State};
use axum::response::Response;
use http::StatusCode;
use tidegate_store::Store;

use super::body;
use crate::door::Door;
use crate::problem::Problem;

pub(super) async fn should_rate_limit<S: Store + 'static>(
    State(_door): State<Door<S>>,
    _request: Request,
) -> Response {
    body::respond(&Problem::of_request(StatusCode::NOT_IMPLEMENTED, "not yet"))
}

//! Bodies as they come in, and what is said of those that cannot be used.

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use http::header::{ALLOW, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::Value;
use serde_json::error::Category;

use super::fields::Wrong;
use crate::problem::{self, Problem};

/// Whose content type is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ContentType {
    /// It must be JSON's, or not be there.
    Json,
    /// Whatever it says.
    Any,
}

/// The body as JSON.
pub(super) async fn read(request: Request, content_type: ContentType, most: usize) -> Result<Value, Problem> {
    if content_type == ContentType::Json && !is_json(request.headers()) {
        return Err(Problem::of_request(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "the body should be JSON; send content-type: application/json",
        ));
    }
    if announced(request.headers()).is_some_and(|bytes| bytes > most) {
        return Err(too_large(most));
    }
    let bytes =
        axum::body::to_bytes(request.into_body(), most).await.map_err(|error| broken_off(&error, most))?;
    serde_json::from_slice(&bytes).map_err(|error| not_json(&error))
}

/// The answer to all methods that a route does not have.
pub(super) async fn wrong_method() -> Response {
    let mut response =
        respond(&Problem::of_request(StatusCode::METHOD_NOT_ALLOWED, "this route takes POST only"));
    response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
    response
}

/// A problem as an answer.
pub(super) fn respond(problem: &Problem) -> Response {
    with_type(problem.status(), problem::CONTENT_TYPE, problem.to_json())
}

/// A body of that type as an answer.
pub(super) fn with_type(status: StatusCode, content_type: &'static str, body: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

impl From<Wrong> for Problem {
    fn from(wrong: Wrong) -> Self {
        Self::of_request(StatusCode::BAD_REQUEST, wrong.0)
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let Some(value) = headers.get(CONTENT_TYPE) else { return true };
    let value = value.to_str().unwrap_or_default();
    let media_type = value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    media_type == "application/json"
        || (media_type.starts_with("application/") && media_type.ends_with("+json"))
}

fn announced(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn too_large(most: usize) -> Problem {
    Problem::of_request(StatusCode::PAYLOAD_TOO_LARGE, format!("the body may have {most} bytes at most"))
}

/// The limit is the only error that the reader makes itself; all others come from the connection.
fn broken_off(error: &axum::Error, most: usize) -> Problem {
    let limited =
        std::error::Error::source(error).is_some_and(|source| source.to_string().contains("length limit"));
    if limited { too_large(most) } else { Problem::of_request(StatusCode::BAD_REQUEST, "the body broke off") }
}

/// Where it stops being JSON. The place is enough: the reader's own words may repeat what stands there.
fn not_json(error: &serde_json::Error) -> Problem {
    let detail = match error.classify() {
        Category::Eof if error.column() == 0 => "the body is empty; send a JSON object".to_owned(),
        Category::Eof => "the body ends in the middle of the JSON".to_owned(),
        _ if error.to_string().starts_with("recursion limit") => "the JSON is nested too deeply".to_owned(),
        _ => format!("the body is not JSON from line {} column {} on", error.line(), error.column()),
    };
    Problem::of_request(StatusCode::BAD_REQUEST, detail)
}

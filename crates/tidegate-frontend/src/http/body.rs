//! Bodies as they come in, and what is said of those that cannot be used.

use axum::body::{Bytes, HttpBody};
use axum::extract::Request;
use axum::response::{IntoResponse as _, Response};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, StatusCode};
use serde_json::Value;
use serde_json::error::Category;
use tidegate_net::body::{BodyError as Stopped, collect};
use tidegate_store::Store;

use super::reply::Reply;
use crate::door::{Door, Share};
use tidegate_wire::headers::names::RETRY_AFTER;
use tidegate_wire::json::UniqueKeys;
use tidegate_wire::problem::{self, Kind, Problem};

/// Whose content type is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ContentType {
    /// It must be JSON's, or not be there.
    Json,
    /// Whatever it says.
    Any,
}

/// The body as JSON, and the share of the door's budget that it takes: to be kept as long as the JSON is.
pub(super) async fn read<S: Store>(
    door: &Door<S>,
    request: Request,
    content_type: ContentType,
) -> Result<(Value, Share<'_>), Problem> {
    if let Some(problem) = unwelcome(request.headers(), content_type, door.settings().max_body_bytes) {
        return Err(problem);
    }
    let (bytes, share) = bytes(door, request.into_body()).await?;
    json(&bytes).map(|value| (value, share)).map_err(|problem| *problem)
}

/// Why a body is not read at all, as far as the head says.
pub(super) fn unwelcome(headers: &HeaderMap, content_type: ContentType, most: usize) -> Option<Problem> {
    // A body without a content type may be JSON.
    let is_other = headers.get(CONTENT_TYPE).is_some_and(|value| !is_json(value.as_bytes()));
    if content_type == ContentType::Json && is_other {
        let detail = "the body should be JSON; send content-type: application/json";
        return Some(Problem::of_request(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail));
    }
    announced(headers).filter(|bytes| *bytes > most).map(|_| too_large(most))
}

/// The bytes of a body, and the share that they take.
pub(super) async fn bytes<S, B>(door: &Door<S>, body: B) -> Result<(Bytes, Share<'_>), Problem>
where
    S: Store,
    B: HttpBody<Data = Bytes> + Unpin,
{
    let most = door.settings().max_body_bytes;
    collect(body, most, door.bodies()).await.map_err(|stopped| match stopped {
        Stopped::TooLarge => too_large(most),
        Stopped::NoRoom => busy("too many bodies are being read at once; retry in 1 s"),
        Stopped::BrokenOff => Problem::of_request(StatusCode::BAD_REQUEST, "the body broke off"),
    })
}

pub(super) fn json(bytes: &[u8]) -> Result<Value, Box<Problem>> {
    let read = serde_json::from_slice::<UniqueKeys>(bytes);
    read.map(|UniqueKeys(value)| value).map_err(|error| Box::new(not_json(&error)))
}

/// The answer to all methods that a route does not have. The router adds which it has.
pub async fn wrong_method() -> Response {
    let detail = "this route does not take that method; `Allow` says which it takes";
    respond(&Problem::of_request(StatusCode::METHOD_NOT_ALLOWED, detail)).into_response()
}

/// A problem that has nothing to do with the request; a second later it may be gone.
pub(super) fn busy(detail: &str) -> Problem {
    Problem::new(Kind::ReducedCapacity, detail).retry_after_s(1)
}

/// A problem as an answer. If it says when to come back, a header does too.
pub(super) fn respond(problem: &Problem) -> Reply {
    let mut reply = Reply::new(problem.status(), problem::CONTENT_TYPE, problem.to_json());
    if let Some(seconds) = problem.retry_after() {
        reply.headers.number(RETRY_AFTER, seconds);
    }
    reply
}

/// The answer to what could not be asked, and a count of it if that was the caller's doing.
pub(super) fn refuse<S: Store>(door: &Door<S>, problem: &Problem) -> Reply {
    if problem.kind() == Kind::BadRequest {
        door.note_malformed();
    }
    respond(problem)
}

fn is_json(content_type: &[u8]) -> bool {
    if content_type == b"application/json" {
        return true;
    }
    let value = str::from_utf8(content_type).unwrap_or_default();
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

/// Where it stops being JSON. The place is enough: the reader's own words may repeat what stands there.
fn not_json(error: &serde_json::Error) -> Problem {
    let detail = match error.classify() {
        Category::Eof if error.column() == 0 => "the body is empty; send a JSON object".to_owned(),
        Category::Data => {
            let (line, column) = (error.line(), error.column());
            format!("a name is there twice in the JSON, at line {line} column {column}; send it once")
        }
        Category::Eof => "the body ends in the middle of the JSON".to_owned(),
        _ if error.to_string().starts_with("recursion limit") => "the JSON is nested too deeply".to_owned(),
        _ => format!("the body is not JSON from line {} column {} on", error.line(), error.column()),
    };
    Problem::of_request(StatusCode::BAD_REQUEST, detail)
}

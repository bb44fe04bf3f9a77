//! What a refused caller gets: problem details over HTTP, a status over gRPC.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Response, StatusCode};
use tidegate_core::PlanError;
use tidegate_wire::headers::{HeaderLines, Summary};
use tidegate_wire::problem::{self, Kind, Problem};

use crate::Error;
use crate::tower::key::Head;

/// gRPC's RESOURCE_EXHAUSTED, UNAVAILABLE, INVALID_ARGUMENT and INTERNAL.
const EXHAUSTED: HeaderValue = HeaderValue::from_static("8");
const UNAVAILABLE: HeaderValue = HeaderValue::from_static("14");
const INVALID: HeaderValue = HeaderValue::from_static("3");
const INTERNAL: HeaderValue = HeaderValue::from_static("13");

/// Refused by the client's limits, or, if none of those refused, by one that protects the service.
pub(super) fn of_summary(summary: &Summary<'_>, headers: &HeaderLines, head: &Head<'_>) -> Response<Bytes> {
    let overload = summary.denied_by().is_none();
    let problem = if overload {
        Problem::new(Kind::ReducedCapacity, "the service is at its capacity; try again shortly")
    } else {
        Problem::from_summary(Kind::QuotaExceeded, summary)
    };
    let mut response = if let Some(kind) = grpc_type(head) {
        grpc(kind, if overload { UNAVAILABLE } else { EXHAUSTED }, problem.detail())
    } else {
        http(problem.status(), problem.to_json())
    };
    headers.put_into(response.headers_mut());
    response
}

/// Could not be asked: the request's key is too long, or there are more rules than a check can hold.
pub(super) fn of_error(error: &Error, head: &Head<'_>) -> Response<Bytes> {
    let (status, grpc_status, detail) = match error {
        Error::Plan(PlanError::Key(_)) => {
            (StatusCode::BAD_REQUEST, INVALID, "a value that requests are counted by is too long")
        }
        _ => (StatusCode::INTERNAL_SERVER_ERROR, INTERNAL, "the limits of this service could not be checked"),
    };
    if let Some(kind) = grpc_type(head) {
        return grpc(kind, grpc_status, detail);
    }
    let body = format!(r#"{{"type":"about:blank","status":{},"detail":"{detail}"}}"#, status.as_u16());
    http(status, body.into_bytes())
}

/// The content type of a gRPC request, of whatever flavour.
fn grpc_type<'a>(head: &Head<'a>) -> Option<&'a HeaderValue> {
    head.headers.get(CONTENT_TYPE).filter(|value| value.as_bytes().starts_with(b"application/grpc"))
}

fn http(status: StatusCode, body: Vec<u8>) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(problem::CONTENT_TYPE));
    response
}

/// A response of trailers only, as gRPC calls it: the status comes with the headers, and there is no body.
fn grpc(kind: &HeaderValue, status: HeaderValue, message: &str) -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, kind.clone());
    headers.insert("grpc-status", status);
    // Details are ours and plain ASCII without `%`, so that nothing needs encoding.
    if let Ok(message) = HeaderValue::from_str(message) {
        headers.insert("grpc-message", message);
    }
    response
}

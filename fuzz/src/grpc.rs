//! The gRPC door: bytes of a request, to Envoy's service or to our own, as tonic gets them from a connection.
//!
//! Several calls stand behind one another: a byte that says to which method, two bytes of length, and a message. If the highest bit
//! of the first is set it is the whole body, and otherwise it is put into a frame. Where 32 times `I` stands, the id of the last
//! decision does.

use axum::body::Body;
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_response::Code;
use envoy_types::pb::envoy::service::ratelimit::v3::{RateLimitRequest, RateLimitResponse};
use http::{HeaderMap, Request};
use http_body_util::BodyExt as _;
use prost::Message;
use tidegate_frontend::door::Door;
use tidegate_frontend::v1::proto;
use tidegate_frontend::{rls, v1};
use tidegate_store::Reference;
use tower::ServiceExt as _;

use crate::pieces::Pieces;
use crate::told::headers_are_sound;
use crate::world::{self, SECRET};

const METHODS: [&str; 10] = [
    "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit",
    "/tidegate.v1.Limits/Check",
    "/tidegate.v1.Limits/CheckMany",
    "/tidegate.v1.Limits/Peek",
    "/tidegate.v1.Limits/Reserve",
    "/tidegate.v1.Limits/Refund",
    "/tidegate.v1.Limits/Commit",
    "/tidegate.v1.Limits/Cancel",
    "/tidegate.v1.Limits/Release",
    "/tidegate.v1.Limits/Renew",
];

/// What a call may come to: fine, malformed, gone, used for another, past a bound, not understood or not there.
const STATUSES: [&str; 7] = ["0", "3", "5", "9", "11", "12", "13"];

/// The most calls of one input.
const MOST_CALLS: usize = 6;

/// What stands for the id of the last decision.
const ID: &[u8; 32] = b"IIIIIIIIIIIIIIIIIIIIIIIIIIIIIIII";

/// What came back.
struct Back {
    status: String,
    message: String,
    body: Vec<u8>,
}

/// What is asked.
struct Call {
    method: &'static str,
    message: Vec<u8>,
    is_framed: bool,
}

pub(crate) fn run(bytes: &[u8]) {
    let mut pieces = Pieces::new(bytes);
    let door = world::door();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    runtime.expect("a runtime can be made").block_on(async {
        let mut id = "0".repeat(ID.len());
        for _ in 0..MOST_CALLS {
            let call = call(&mut pieces, &id);
            let back = send(&door, &call).await;
            if let Some(new) = is_sound(&back, &call) {
                id = new;
            }
            if pieces.is_empty() {
                break;
            }
        }
    });
    world::is_at_rest(&door, bytes);
}

fn call(pieces: &mut Pieces<'_>, id: &str) -> Call {
    let first = pieces.byte();
    let length = usize::from(pieces.byte()) << 8 | usize::from(pieces.byte());
    let mut message = pieces.bytes(length).to_vec();
    while let Some(at) = message.windows(ID.len()).position(|window| window == ID) {
        message[at..at + ID.len()].copy_from_slice(id.as_bytes());
    }
    Call { method: METHODS[usize::from(first & 0x7f) % METHODS.len()], message, is_framed: first < 0x80 }
}

/// A message in a frame: not compressed, its length, itself.
fn framed(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).expect("inputs are short");
    [&[0], length.to_be_bytes().as_slice(), message].concat()
}

async fn send(door: &Door<Reference>, call: &Call) -> Back {
    let Call { method, message, is_framed } = call;
    let body = if *is_framed { framed(message) } else { message.clone() };
    let request = Request::post(*method).header("content-type", "application/grpc").header("te", "trailers");
    let request = request.body(Body::from(body)).expect("it is a request");
    let response = if *method == METHODS[0] {
        rls::service(door.clone()).oneshot(request).await.map(|response| response.map(Body::new))
    } else {
        v1::service(door.clone()).oneshot(request).await.map(|response| response.map(Body::new))
    };
    let Ok(response) = response;
    let (parts, body) = response.into_parts();
    assert_eq!(parts.status, 200, "gRPC says its statuses in trailers");
    let body = body.collect().await.expect("the body is in memory");
    let trailers = body.trailers().cloned().unwrap_or_default();
    let said = |name: &str| said(&trailers, name).or_else(|| said(&parts.headers, name));
    let (status, message) = (said("grpc-status"), said("grpc-message"));
    Back {
        status: status.expect("there is a status"),
        message: message.unwrap_or_default(),
        body: body.to_bytes().to_vec(),
    }
}

fn said(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name).map(|value| value.to_str().expect("it is ASCII").to_owned())
}

/// Looks at what came back; the id of the decision, if it is one.
fn is_sound(back: &Back, call: &Call) -> Option<String> {
    let (Back { status, message: words, body }, method) = (back, call.method);
    assert!(STATUSES.contains(&status.as_str()), "{method} is answered {status}: {words}");
    assert!(!words.contains(SECRET), "{words} repeats what was sent");
    if status != "0" {
        assert!(body.is_empty(), "{status} with a body");
        return None;
    }
    let body = body.get(5..).expect("there is a frame");
    if method == METHODS[0] {
        let response = RateLimitResponse::decode(body).expect("it is an answer");
        envoy_is_told(&response, call.is_framed.then(|| asked(&call.message)).flatten().as_ref());
    }
    if !["Check", "Peek", "Reserve", "Refund"].iter().any(|name| method.ends_with(name)) {
        return None;
    }
    let decision = proto::Decision::decode(body).expect("it is a decision");
    decision_is_sound(&decision);
    Some(decision.id)
}

/// What an answer was to; nothing if a value is no text, which the generated code does not read.
fn asked(message: &[u8]) -> Option<RateLimitRequest> {
    let asked = RateLimitRequest::decode(message);
    if let Err(error) = &asked {
        assert!(error.to_string().contains("UTF-8"), "it was answered: {error}");
    }
    asked.ok()
}

/// There is a status for each descriptor, and the request is over the limit if one of them is.
fn envoy_is_told(response: &RateLimitResponse, asked: Option<&RateLimitRequest>) {
    if let Some(asked) = asked {
        assert_eq!(response.statuses.len(), asked.descriptors.len());
    }
    let over = |status: i32| match Code::try_from(status) {
        Ok(Code::OverLimit) => true,
        Ok(Code::Ok) => false,
        other => panic!("{other:?} is no answer"),
    };
    let any = response.statuses.iter().any(|status| over(status.code));
    assert!(over(response.overall_code) || !any, "one is over the limit and all are not");
    assert_eq!(over(response.overall_code), !response.raw_body.is_empty(), "only refusals have bodies");
    let told = response.response_headers_to_add.iter();
    headers_are_sound(&headers(told.map(|header| (header.key.as_str(), header.value.as_str()))));
}

fn decision_is_sound(decision: &proto::Decision) {
    let is_odd = |limit: &proto::Limit| limit.remaining > limit.limit;
    assert!(!decision.limits.iter().any(is_odd), "more is left than there is");
    assert_eq!(decision.id.len(), ID.len());
    assert_eq!(decision.allowed, decision.status == 200, "{}", decision.status);
    let told = decision.headers.iter().map(|header| (header.name.as_str(), header.value.as_str()));
    headers_are_sound(&headers(told));
}

fn headers<'h>(told: impl Iterator<Item = (&'h str, &'h str)>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in told {
        let name = http::HeaderName::try_from(name).expect("it is a name of a header");
        headers.append(name, value.parse().expect("it is a value of a header"));
    }
    headers
}

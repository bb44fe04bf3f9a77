//! The HTTP door: requests as text, to the routes without a socket.
//!
//! Several requests stand behind one another, divided by a line of `~`. Each is a line of method and address, headers, an empty
//! line, and the body. The header `peer` is where it comes from. `$ID` is the id of the last decision.

use std::net::SocketAddr;

use axum::body::Body;
use http::{HeaderName, HeaderValue, Method, Request, StatusCode, Uri};
use http_body_util::BodyExt as _;
use serde_json::Value;
use tidegate_frontend::door::Door;
use tidegate_store::Reference;
use tidegate_wire::trust::Peer;
use tower::ServiceExt as _;

use crate::told::{headers_are_sound, is_undecided, problem_is_sound};
use crate::world::{self, SECRET, wait};

/// The most requests of one input.
const MOST_REQUESTS: usize = 6;

pub(crate) fn run(bytes: &[u8]) {
    let door = world::door();
    let mut id = String::new();
    for text in divided(bytes).take(MOST_REQUESTS) {
        let text = replaced(text, id.as_bytes());
        let Some(request) = request(&text) else { continue };
        if let Some(new) = wait(ask(&door, request)) {
            id = new;
        }
    }
    world::is_at_rest(&door, bytes);
}

fn divided(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(bytes);
    std::iter::from_fn(move || {
        let bytes = rest.take()?;
        let Some(at) = find(bytes, b"\n~\n") else { return Some(bytes) };
        rest = Some(&bytes[at + 3..]);
        Some(&bytes[..at])
    })
}

/// The same with the id wherever it is asked for.
fn replaced(mut text: &[u8], id: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    while let Some(at) = find(text, b"$ID") {
        out.extend_from_slice(&text[..at]);
        out.extend_from_slice(id);
        text = &text[at + 3..];
    }
    out.extend_from_slice(text);
    out
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

/// The request, as far as a server would take it for one.
fn request(text: &[u8]) -> Option<Request<Body>> {
    let (head, body) = find(text, b"\n\n").map_or((text, &[][..]), |at| (&text[..at], &text[at + 2..]));
    let mut lines = head.split(|byte| *byte == b'\n');
    let first = lines.next()?;
    let at = first.iter().position(|byte| *byte == b' ')?;
    let mut request = Request::new(Body::from(body.to_vec()));
    *request.method_mut() = Method::from_bytes(&first[..at]).ok()?;
    *request.uri_mut() = Uri::try_from(&first[at + 1..]).ok()?;
    for line in lines {
        let at = line.iter().position(|byte| *byte == b':')?;
        let (name, value) = (&line[..at], line[at + 1..].trim_ascii());
        if name == b"peer" {
            let peer: SocketAddr = std::str::from_utf8(value).ok()?.parse().ok()?;
            request.extensions_mut().insert(Peer::at(peer));
            continue;
        }
        let (name, value) = (HeaderName::from_bytes(name).ok()?, HeaderValue::from_bytes(value).ok()?);
        request.headers_mut().append(name, value);
    }
    Some(request)
}

/// The id of the decision, if there is one.
async fn ask(door: &Door<Reference>, request: Request<Body>) -> Option<String> {
    let (path, is_head) = (request.uri().path().to_owned(), request.method() == Method::HEAD);
    // A proxy may ask for whatever status it passes on.
    let is_chosen = request.uri().query().is_some_and(|query| query.contains("deny_status="));
    let Ok(response) = tidegate_frontend::http::router(door.clone()).oneshot(request).await;
    let (parts, body) = response.into_parts();
    let body = body.collect().await.expect("the body is in memory").to_bytes();
    headers_are_sound(&parts.headers);
    let kind = parts.headers.get("content-type").map(|value| value.to_str().expect("it is ASCII"));
    if kind.is_none() || is_head {
        assert!(body.is_empty(), "{path} has a body that nobody expects");
        assert!(is_chosen || !parts.status.is_server_error(), "{path} is answered {}", parts.status);
        return None;
    }
    let body: Value = serde_json::from_slice(&body).expect("what has a type is JSON");
    let is_expected = is_chosen || is_undecided(&body);
    assert!(is_expected || !parts.status.is_server_error(), "{path} is answered {}", parts.status);
    if kind == Some("application/problem+json") {
        problem_is_sound(parts.status.as_u16(), &parts.headers, &body);
        is_discreet(&body);
    } else {
        assert!(
            parts.status == StatusCode::OK || path == "/json",
            "{path} is {} without a problem",
            parts.status
        );
    }
    batch_is_sound(&body);
    body["id"].as_str().map(str::to_owned)
}

/// No problem repeats what callers sent, but for the name of a field that it does not know.
fn is_discreet(problem: &Value) {
    let is_about_a_name = problem["detail"].as_str().is_some_and(|detail| detail.contains("unknown field"));
    assert!(is_about_a_name || !problem.to_string().contains(SECRET), "{problem}");
}

/// Each result of a batch is a decision or a problem by itself.
fn batch_is_sound(body: &Value) {
    for result in body["results"].as_array().into_iter().flatten() {
        let status = result["status"].as_u64().expect("each has a status");
        assert!(is_undecided(result) || (200..500).contains(&status), "{result}");
        assert!(result["decision"].is_string() || result["title"].is_string(), "{result}");
    }
}

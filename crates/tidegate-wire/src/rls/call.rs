//! One call, by the shortest way: the bytes of a message in, those of a message out.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body::Body;
use tidegate_store::Store;
use tonic::Status;

use super::body::{self, Reply};
use super::{deadline, decode, encode};
use crate::door::{Door, Patience};
use crate::ratelimit::{self, Failure};
use crate::trust::Caller;

const GRPC: HeaderValue = HeaderValue::from_static("application/grpc");

pub(super) async fn answer<S, B>(door: &Door<S>, request: Request<B>) -> Response<Reply>
where
    S: Store + 'static,
    B: Body<Data = Bytes> + Unpin,
{
    if let Some(no_call) = no_call(&request) {
        return no_call;
    }
    match call(door, request).await {
        Ok(message) => {
            let mut response = Response::new(Reply::new(message));
            response.headers_mut().insert(CONTENT_TYPE, GRPC);
            response
        }
        Err(status) => status.into_http(),
    }
}

/// The answer to what does not speak gRPC, if it does not.
fn no_call<B>(request: &Request<B>) -> Option<Response<Reply>> {
    let mut response = Response::new(Reply::default());
    if request.method() != Method::POST {
        *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
        return Some(response);
    }
    let content = request.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    if content.is_none_or(|content| !content.starts_with(GRPC.as_bytes())) {
        *response.status_mut() = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        return Some(response);
    }
    None
}

async fn call<S, B>(door: &Door<S>, request: Request<B>) -> Result<Bytes, Status>
where
    S: Store + 'static,
    B: Body<Data = Bytes> + Unpin,
{
    let (head, body) = request.into_parts();
    plain(&head.headers)?;
    let deadline = deadline::of(&head.headers);
    let asker = Asker {
        patience: door.patience(deadline),
        caller: door.settings().trust.caller(&head.extensions, &head.headers),
    };
    // What is large must not be kept while the message is waited for.
    drop(head);
    let mut share = door.bodies().share();
    let message = body::read(body, door.settings().max_body_bytes, &mut share).await?;
    if door.engine().store().answers_at_once() {
        at_once(door, &asker, &message)
    } else {
        within(deadline, door, &asker, &message).await
    }
}

/// Who asks.
struct Asker {
    patience: Patience,
    caller: Caller,
}

fn plain(headers: &HeaderMap) -> Result<(), Status> {
    match headers.get("grpc-encoding") {
        Some(encoding) if encoding != "identity" => {
            let mut status = Status::unimplemented("messages must not be compressed");
            let accepted = tonic::metadata::MetadataValue::from_static("identity");
            status.metadata_mut().insert("grpc-accept-encoding", accepted);
            Err(status)
        }
        _ => Ok(()),
    }
}

/// Asks a store that answers at once. What is large about it stays on the stack.
#[inline(never)]
fn at_once<S: Store + 'static>(door: &Door<S>, asker: &Asker, message: &[u8]) -> Result<Bytes, Status> {
    match pin!(ask(door, asker, message)).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => Err(Status::unavailable("the store did not answer")),
    }
}

/// Asks a store that makes callers wait, as long as this one does.
async fn within<S: Store + 'static>(
    deadline: Option<Duration>,
    door: &Door<S>,
    asker: &Asker,
    message: &[u8],
) -> Result<Bytes, Status> {
    deadline::within(deadline, Box::pin(ask(door, asker, message))).await?
}

async fn ask<S: Store + 'static>(door: &Door<S>, asker: &Asker, message: &[u8]) -> Result<Bytes, Status> {
    let request = decode::request(message, asker.patience);
    let mut request = request.map_err(|unreadable| {
        door.note_malformed();
        Status::invalid_argument(format!("the message cannot be read: {unreadable}"))
    })?;
    request.keep_what_counts(&door.settings().trust, asker.caller);
    match ratelimit::answer(door, &request, |response| encode::response(&response)).await {
        Ok(message) => Ok(message),
        Err(Failure::Sent(said)) => Ok(encode::response(&ratelimit::refusal(&request, said))),
        Err(Failure::Malformed(message)) => Err(Status::invalid_argument(message)),
        Err(Failure::Undecided) => {
            Err(Status::unavailable("it could not be decided whether the request may pass"))
        }
    }
}

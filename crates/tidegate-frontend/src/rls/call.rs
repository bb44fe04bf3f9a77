//! One call, by the shortest way: the bytes of a message in, those of a message out.

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body::Body;
use tidegate_engine::check::{MAX_DESCRIPTORS, MAX_ENTRIES, MAX_VALUE_BYTES};
use tidegate_net::budget::FREE_BYTES;
use tidegate_store::Store;
use tidegate_wire::envoy::{self, MessageBounds, RateLimitRequest, Texts, decode_request, encode_response};
use tidegate_wire::timeout;
use tonic::{Code, Status};

use super::body::{self, COMPRESSED, NO_ROOM, Reply};
use crate::door::{Door, Patience};
use crate::ratelimit::{self, EnvoyQuestion, Failure};
use tidegate_wire::trust::{Caller, Peer};

/// The bounds of a check.
const BOUNDS: MessageBounds = MessageBounds { descriptors: MAX_DESCRIPTORS, entries: MAX_ENTRIES };

const GRPC: HeaderValue = HeaderValue::from_static("application/grpc");
const ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");

/// A call whose head is read.
#[derive(Debug)]
pub struct Begun<B> {
    body: B,
    /// Who asks; or the answer, if nothing has to be asked.
    asker: Result<Asker, Box<Response<Reply>>>,
}

pub(super) fn begin<S: Store, B>(door: &Door<S>, request: Request<B>, peer: Option<&Peer>) -> Begun<B> {
    let (head, body) = request.into_parts();
    let said = Said::by(&head.headers);
    let asker = refused(&head.method, &said).map_or_else(
        || {
            let deadline = said.timeout.and_then(timeout::grpc_value);
            let caller = door.settings().trust.caller(peer, &head.headers);
            Ok(Asker { patience: door.patience(deadline), caller })
        },
        |answer| Err(Box::new(answer)),
    );
    Begun { body, asker }
}

/// What the head of a call says about it.
#[derive(Default)]
struct Said<'h> {
    content: Option<&'h HeaderValue>,
    encoding: Option<&'h HeaderValue>,
    timeout: Option<&'h HeaderValue>,
}

impl<'h> Said<'h> {
    /// Goes through the head once: there is little in it, and to look for a name costs more than to see it. The first of a name counts.
    fn by(headers: &'h HeaderMap) -> Self {
        let mut said = Self::default();
        for (name, value) in headers {
            let place = match name {
                name if *name == CONTENT_TYPE => &mut said.content,
                name if *name == ENCODING => &mut said.encoding,
                name if *name == timeout::GRPC_TIMEOUT => &mut said.timeout,
                _ => continue,
            };
            place.get_or_insert(value);
        }
        said
    }
}

/// Whoever waits carries this about, so that there should be little of it: what is large is used where it lies, or is put apart.
#[expect(clippy::manual_async_fn, reason = "an async function would keep what it is given twice")]
pub(super) fn finish<S, B>(door: &Door<S>, mut begun: Begun<B>) -> impl Future<Output = Response<Reply>>
where
    S: Store,
    B: Body<Data = Bytes> + Unpin,
{
    async move {
        let asker = match begun.asker {
            Ok(ref asker) => asker,
            Err(answer) => return *answer,
        };
        let read = body::read(&mut begun.body, door.settings().max_body_bytes, door.bodies()).await;
        let answer = match read {
            // Boxed to keep this future small while the body is read.
            Ok((message, _share)) => Box::pin(ask(door, asker, &message)).await,
            // What is configured is short: only what a client sent can be so long.
            Err(status) if status.code() == Code::OutOfRange => {
                door.note_malformed();
                Ok(refusal(&RateLimitRequest::default(), status.message().to_owned()))
            }
            Err(status) => Err(status),
        };
        match answer {
            Ok(message) => {
                let mut response = Response::new(Reply::new(message));
                response.headers_mut().insert(CONTENT_TYPE, GRPC);
                response
            }
            Err(status) => status.into_http(),
        }
    }
}

/// The answer to what does not speak gRPC as we do, if it does not.
fn refused(method: &Method, said: &Said<'_>) -> Option<Response<Reply>> {
    if *method != Method::POST {
        let mut response = no_call(StatusCode::METHOD_NOT_ALLOWED);
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
        Some(response)
    } else if said.content.is_none_or(|content| !content.as_bytes().starts_with(GRPC.as_bytes())) {
        Some(no_call(StatusCode::UNSUPPORTED_MEDIA_TYPE))
    } else if said.encoding.is_some_and(|encoding| encoding != "identity") {
        let mut response: Response<Reply> = Status::unimplemented(COMPRESSED).into_http();
        response.headers_mut().insert("grpc-accept-encoding", HeaderValue::from_static("identity"));
        Some(response)
    } else {
        None
    }
}

fn no_call(status: StatusCode) -> Response<Reply> {
    let mut response = Response::new(Reply::default());
    *response.status_mut() = status;
    response
}

/// Who asks.
#[derive(Debug)]
struct Asker {
    patience: Patience,
    caller: Caller,
}

async fn ask<S: Store>(door: &Door<S>, asker: &Asker, message: &[u8]) -> Result<Vec<u8>, Status> {
    let texts = Texts::new(MAX_VALUE_BYTES);
    let mut question = EnvoyQuestion { patience: asker.patience, ..EnvoyQuestion::default() };
    decode_request(message, &texts, BOUNDS, &mut question.request).map_err(|wrong| {
        door.note_malformed();
        Status::invalid_argument(wrong.to_string())
    })?;
    let mut share = door.bodies().share();
    if texts.bytes() > FREE_BYTES && !share.grow(texts.bytes()) {
        return Err(Status::resource_exhausted(NO_ROOM));
    }
    question.request.keep_trusted(&door.settings().trust, asker.caller);
    match ratelimit::answer(door, &question, |response| encode_response(&response)).await {
        Ok(message) => Ok(message),
        Err(Failure::Sent(said)) => Ok(refusal(&question.request, said)),
        Err(Failure::Malformed(message)) => Err(Status::invalid_argument(message)),
        Err(Failure::Undecided) => {
            Err(Status::unavailable("it could not be decided whether the request may pass"))
        }
    }
}

fn refusal(request: &RateLimitRequest<'_>, reason: String) -> Vec<u8> {
    encode_response(&envoy::refusal(request, reason))
}

//! An application that reads bodies and answers them with their length.

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;

use crate::Peer;
use crate::http::{CallerRefused, HttpApp, RequestKind};

/// Answers every path; `/openapi.json` with a long document.
pub(super) struct TestApp {
    pub(super) drops_heads: bool,
}

/// A request whose head has been read.
pub(super) struct BegunRequest {
    path: String,
    body: Incoming,
}

/// The bytes of a long answer.
const DOCUMENT_BYTES: usize = 32 << 10;

fn failure(status: StatusCode) -> Response<Full<Bytes>> {
    Response::builder().status(status).body(Full::default()).unwrap()
}

impl HttpApp for TestApp {
    type Connection = ();
    type Begun = BegunRequest;
    type Body = Full<Bytes>;

    fn connect(&self, _: Peer) {}

    fn kind(&self, _: &Request<Incoming>) -> RequestKind {
        if self.drops_heads { RequestKind::HeadDropped } else { RequestKind::HeadKept }
    }

    fn begin(&self, request: Request<Incoming>, (): &()) -> BegunRequest {
        BegunRequest { path: request.uri().path().to_owned(), body: request.into_body() }
    }

    async fn finish(&self, begun: BegunRequest) -> Response<Full<Bytes>> {
        match begun.path.as_str() {
            "/openapi.json" => Response::new(vec![b' '; DOCUMENT_BYTES].into()),
            "/healthz" => Response::new("alive\n".into()),
            "/panic" => panic!("on purpose"),
            "/unauthorized" => {
                let mut response = failure(StatusCode::UNAUTHORIZED);
                response.extensions_mut().insert(CallerRefused);
                response
            }
            "/401" => failure(StatusCode::UNAUTHORIZED),
            _ => match begun.body.collect().await {
                Ok(body) => Response::new(body.to_bytes().len().to_string().into()),
                Err(_) => failure(StatusCode::BAD_REQUEST),
            },
        }
    }

    fn timed_out(&self) -> Response<Full<Bytes>> {
        failure(StatusCode::REQUEST_TIMEOUT)
    }

    fn panicked(&self) -> Response<Full<Bytes>> {
        failure(StatusCode::INTERNAL_SERVER_ERROR)
    }

    fn busy(&self) -> Response<Full<Bytes>> {
        failure(StatusCode::SERVICE_UNAVAILABLE)
    }
}

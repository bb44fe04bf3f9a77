//! What an application has to say to be served over HTTP.

use std::error::Error;
use std::future::Future;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;

use crate::Peer;

/// Any error of a body.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// How the memory of a request and of its answer is accounted for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequestKind {
    /// [`HttpApp::begin`] reads the head and drops it.
    HeadDropped,
    /// The head lives until the response: a long one takes its bytes from the listener's budget.
    #[default]
    HeadKept,
    /// The same, and the answer is a stream without a known end, such as server-sent events. A
    /// connection has at most [`MAX_STREAMS`](super::MAX_STREAMS) of these at once.
    Stream,
}

/// An application that answers HTTP requests.
///
/// A request is answered in two steps. [`begin`](Self::begin) runs before the first poll and keeps
/// only what the answer needs; [`finish`](Self::finish) reads the body and waits. So a request that
/// waits for its body holds little memory.
///
/// ```
/// use std::net::IpAddr;
///
/// use bytes::Bytes;
/// use http_body_util::Full;
/// use hyper::body::Incoming;
/// use hyper::{Request, Response};
/// use tidegate_net::Peer;
/// use tidegate_net::http::HttpApp;
///
/// /// Tells its callers their addresses.
/// struct WhoAmI;
///
/// impl HttpApp for WhoAmI {
///     type Connection = IpAddr;
///     type Begun = IpAddr;
///     type Body = Full<Bytes>;
///
///     fn connect(&self, peer: Peer) -> IpAddr {
///         peer.address.ip()
///     }
///
///     fn begin(&self, _: Request<Incoming>, address: &IpAddr) -> IpAddr {
///         *address
///     }
///
///     async fn finish(&self, address: IpAddr) -> Response<Full<Bytes>> {
///         Response::new(address.to_string().into())
///     }
///
///     fn timed_out(&self) -> Response<Full<Bytes>> {
///         Response::builder().status(408).body(Full::default()).expect("a valid head")
///     }
///
///     fn panicked(&self) -> Response<Full<Bytes>> {
///         Response::builder().status(500).body(Full::default()).expect("a valid head")
///     }
///
///     fn busy(&self) -> Response<Full<Bytes>> {
///         Response::builder().status(503).body(Full::default()).expect("a valid head")
///     }
/// }
/// ```
pub trait HttpApp: Send + Sync + 'static {
    /// What all requests of a connection share.
    type Connection: Send + Sync + 'static;
    /// A request whose head has been read.
    type Begun: Send + 'static;
    /// The body of a response. The lower bound of its size hint is taken from the listener's budget.
    type Body: Body<Data = Bytes, Error: Into<BoxError>> + Unpin + Send + 'static;

    /// A new connection; called once, before its first request.
    fn connect(&self, peer: Peer) -> Self::Connection;

    /// How a request is accounted for; called before [`begin`](Self::begin).
    fn kind(&self, request: &Request<Incoming>) -> RequestKind {
        let _ = request;
        RequestKind::default()
    }

    /// Begins a request: does everything that only needs its head.
    fn begin(&self, request: Request<Incoming>, connection: &Self::Connection) -> Self::Begun;

    /// Answers it. The future is dropped when the request times out, and a panic is contained.
    fn finish(&self, begun: Self::Begun) -> impl Future<Output = Response<Self::Body>> + Send;

    /// Takes a body that is one owned buffer, which then needs no allocation to be sent. Frames that
    /// follow, such as trailers, still come from the body.
    fn take_buffer(body: &mut Self::Body) -> Option<Vec<u8>> {
        let _ = body;
        None
    }

    /// The response to a request that took longer than its timeout.
    fn timed_out(&self) -> Response<Self::Body>;

    /// The response to a request whose answer panicked.
    fn panicked(&self) -> Response<Self::Body>;

    /// The response when there are no bytes left for a head or an answer, or no more streams allowed.
    fn busy(&self) -> Response<Self::Body>;
}

/// Marks a response, by its extensions, as a refusal of a caller that did not prove who it is. Such responses are counted.
#[derive(Clone, Copy, Debug)]
pub struct CallerRefused;

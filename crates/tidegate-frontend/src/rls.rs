//! Envoy's rate limit service (`envoy.service.ratelimit.v3`) over gRPC: decode, ask, encode.
//!
//! A question that is none is INVALID_ARGUMENT, with words that repeat no value. If nobody could decide and the class of
//! the rules refuses, [`Undecided`](crate::door::Undecided) says what Envoy is told. After nine tenths of the caller's deadline
//! (`grpc-timeout`) the class decides without the store; what the store was asked by then may still be charged. The store
//! has an earlier deadline, so that a fallback answers in time.
//!
//! There is one method with one message each way, and it is what a gateway waits for: messages are read where they lie and
//! written by hand, with no layer in between.

mod body;
mod call;
mod reflection;
#[cfg(test)]
mod tests;

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use tidegate_store::Store;
use tonic::Status;
use tonic::server::NamedService;

use crate::door::Door;
use tidegate_wire::trust::Peer;

pub use body::Reply;
pub(crate) use body::{at_least, framed};
pub use call::Begun;
pub use reflection::file_descriptor_set;

/// The name of the service, as Envoy calls it.
pub const SERVICE_NAME: &str = "envoy.service.ratelimit.v3.RateLimitService";

/// Where its one method is called.
pub const PATH: &str = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

/// Answers Envoy through a door: by [`Service::begin`] and [`Service::finish`], or as a service among those of a tonic server. Clones are the same.
pub struct Service<S> {
    door: Door<S>,
}

/// The service. Its messages are bounded by the door's largest body.
pub const fn service<S: Store>(door: Door<S>) -> Service<S> {
    Service { door }
}

impl<S: Store> Service<S> {
    /// Begins to answer a call from there: reads its head, and keeps what is needed of it.
    pub fn begin<B>(&self, request: Request<B>, peer: Option<&Peer>) -> Begun<B> {
        call::begin(&self.door, request, peer)
    }

    /// Answers it.
    pub fn finish<B>(&self, begun: Begun<B>) -> impl Future<Output = Response<Reply>>
    where
        B: Body<Data = Bytes> + Unpin,
    {
        call::finish(&self.door, begun)
    }
}

impl<S: Store, B> tower_service::Service<Request<B>> for Service<S>
where
    B: Body<Data = Bytes> + Send + Unpin + 'static,
{
    type Response = Response<Reply>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Reply>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        if request.uri().path() != PATH {
            return Box::pin(async { Ok(Status::unimplemented("there is no such method").into_http()) });
        }
        let peer = request.extensions().get::<Peer>().cloned();
        let (service, begun) = (self.clone(), self.begin(request, peer.as_ref()));
        Box::pin(async move { Ok(service.finish(begun).await) })
    }
}

impl<S> NamedService for Service<S> {
    const NAME: &'static str = SERVICE_NAME;
}

impl<S> Clone for Service<S> {
    fn clone(&self) -> Self {
        Self { door: self.door.clone() }
    }
}

impl<S> fmt::Debug for Service<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service").field("door", &self.door).finish()
    }
}

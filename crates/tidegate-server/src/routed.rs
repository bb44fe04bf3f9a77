//! The application behind the HTTP and gRPC listeners: routes of axum, and shortcuts past them for
//! the requests that most callers send.

mod body;
#[cfg(test)]
mod tests;

use std::future::Future;
use std::pin::Pin;

use axum::Router;
use axum::extract::Request;
use axum::http::{self, Method};
use axum::response::Response;
use hyper::body::Incoming;
use tidegate_frontend::{http as http_api, rls};
use tidegate_net::http::{HttpApp, RequestKind};
use tidegate_net::{Certificate, Peer};
use tidegate_wire::trust;
use tower_service::Service as _;

use crate::stack::Stack;
use body::ReplyBody;

/// The application of a listener.
pub(crate) struct RoutedApp {
    /// What answers the most common request.
    pub(crate) shortcut: Option<Shortcut>,
    /// What answers all others.
    pub(crate) router: Router,
    /// Whether requests carry their peer.
    pub(crate) needs_peer: bool,
    /// Whether the answer at a path is a stream.
    pub(crate) is_stream: fn(&str) -> bool,
    /// What is answered where the router cannot answer.
    pub(crate) fallbacks: Fallbacks,
}

/// Responses of a listener in its own protocol.
#[derive(Clone, Copy)]
pub(crate) struct Fallbacks {
    pub(crate) timed_out: fn() -> Response,
    pub(crate) panicked: fn() -> Response,
    pub(crate) busy: fn() -> Response,
}

/// A service that is asked without looking for a route.
pub(crate) enum Shortcut {
    /// Envoy's call.
    Call(rls::Service<Stack>),
    /// `POST /v1/check`.
    Check(http_api::Checks<Stack>),
}

/// A request whose head has been read.
pub(crate) enum BegunRequest {
    Call(rls::Begun<Incoming>),
    Check(http_api::Begun<Incoming>),
    /// Boxed to keep the other variants small: routes need much more room.
    Routed(Pin<Box<dyn Future<Output = Response> + Send>>),
}

/// The other end of a connection, as rules of trust want it.
pub(crate) fn trust_peer(Peer { address, certificate }: Peer) -> trust::Peer {
    let certificate =
        certificate.map(|Certificate { names, fingerprint }| trust::Certificate { names, fingerprint });
    trust::Peer::showing(address, certificate)
}

impl Shortcut {
    fn takes(&self, request: &http::Request<Incoming>) -> bool {
        let path = request.uri().path();
        match self {
            Self::Call(_) => path == rls::PATH,
            Self::Check(_) => path == http_api::CHECK && request.method() == Method::POST,
        }
    }
}

impl RoutedApp {
    fn route(&self, mut request: Request<Incoming>, peer: Option<&trust::Peer>) -> BegunRequest {
        if let Some(peer) = peer {
            request.extensions_mut().insert(peer.clone());
        }
        let response = self.router.clone().call(request);
        BegunRequest::Routed(Box::pin(async move {
            let Ok(response) = response.await;
            response
        }))
    }
}

impl HttpApp for RoutedApp {
    type Connection = Option<trust::Peer>;
    type Begun = BegunRequest;
    type Body = ReplyBody;

    fn connect(&self, peer: Peer) -> Option<trust::Peer> {
        self.needs_peer.then(|| trust_peer(peer))
    }

    fn kind(&self, request: &Request<Incoming>) -> RequestKind {
        if self.shortcut.as_ref().is_some_and(|shortcut| shortcut.takes(request)) {
            RequestKind::HeadDropped
        } else if (self.is_stream)(request.uri().path()) {
            RequestKind::Stream
        } else {
            RequestKind::HeadKept
        }
    }

    fn begin(&self, request: Request<Incoming>, peer: &Option<trust::Peer>) -> BegunRequest {
        let peer = peer.as_ref();
        match self.shortcut.as_ref().filter(|shortcut| shortcut.takes(&request)) {
            Some(Shortcut::Call(calls)) => BegunRequest::Call(calls.begin(request, peer)),
            Some(Shortcut::Check(checks)) => BegunRequest::Check(checks.begin(request, peer)),
            None => self.route(request, peer),
        }
    }

    async fn finish(&self, begun: BegunRequest) -> Response<ReplyBody> {
        match (begun, &self.shortcut) {
            (BegunRequest::Call(begun), Some(Shortcut::Call(calls))) => {
                calls.finish(begun).await.map(ReplyBody::Call)
            }
            (BegunRequest::Check(begun), Some(Shortcut::Check(checks))) => {
                Box::pin(checks.finish(begun)).await.map(ReplyBody::Routed)
            }
            (BegunRequest::Routed(response), _) => response.await.map(ReplyBody::Routed),
            // `begin` makes a call or a check only with the shortcut that finishes it.
            (BegunRequest::Call(_) | BegunRequest::Check(_), _) => self.panicked(),
        }
    }

    fn take_buffer(body: &mut ReplyBody) -> Option<Vec<u8>> {
        match body {
            ReplyBody::Routed(_) => None,
            ReplyBody::Call(reply) => reply.take(),
        }
    }

    fn timed_out(&self) -> Response<ReplyBody> {
        (self.fallbacks.timed_out)().map(ReplyBody::Routed)
    }

    fn panicked(&self) -> Response<ReplyBody> {
        (self.fallbacks.panicked)().map(ReplyBody::Routed)
    }

    fn busy(&self) -> Response<ReplyBody> {
        (self.fallbacks.busy)().map(ReplyBody::Routed)
    }
}

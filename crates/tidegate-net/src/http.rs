//! HTTP/1.1 and HTTP/2 over hyper, for any application.
//!
//! The server owns deadlines, budgets, back-pressure and graceful stop; an [`HttpApp`] turns a
//! request into a response. A request passes the modules in this order: `connection` reads it,
//! `batches` starts it, `answer` awaits the application, `answer_body` accounts for the bytes.

mod app;
mod connection;
mod batches;
mod coalesce;
mod activity;
mod answer;
mod answer_body;
#[cfg(test)]
mod tests;

use std::future::Future;
use std::sync::Arc;

use tokio::sync::watch;

use crate::budget::ListenerBudget;
use crate::tls::Alpn;
use crate::{ByteStream, ConnectionHandler, ListenerConfig, Peer, Phase};

pub use activity::MAX_STREAMS;
pub use app::{BoxError, CallerRefused, HttpApp, RequestKind};

/// A listener for HTTP/1.1 and HTTP/2.
#[derive(Debug)]
pub struct HttpListener<A> {
    /// Its name, limits, counters and certificate.
    pub listener: ListenerConfig,
    /// Whether it speaks HTTP/2 only, as for gRPC.
    pub http2_only: bool,
    /// The budget of long heads and answers. Bodies are the application's: it reads them.
    pub budget: ListenerBudget,
    /// The application.
    pub app: A,
}

impl<A: HttpApp> ConnectionHandler for HttpListener<A> {
    fn listener(&self) -> &ListenerConfig {
        &self.listener
    }

    fn alpn(&self) -> Alpn {
        if self.http2_only { Alpn::Http2 } else { Alpn::Http }
    }

    fn handle<S: ByteStream>(
        self: Arc<Self>,
        stream: S,
        peer: Peer,
        phase: watch::Receiver<Phase>,
    ) -> impl Future<Output = ()> + Send {
        connection::drive(stream, peer, self, phase)
    }
}

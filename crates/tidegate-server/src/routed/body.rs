//! The body of a response, from a route or from Envoy's call.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use http_body::{Frame, SizeHint};
use tidegate_frontend::rls;

/// The body of a response.
pub(crate) enum ReplyBody {
    /// From a route, or from a check over HTTP.
    Routed(Body),
    /// From Envoy's call.
    Call(rls::Reply),
}

impl http_body::Body for ReplyBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        match self.get_mut() {
            Self::Routed(body) => Pin::new(body).poll_frame(context),
            Self::Call(reply) => match Pin::new(reply).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => Poll::Ready(Some(Ok(frame))),
                Poll::Ready(None) => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            },
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Routed(body) => body.is_end_stream(),
            Self::Call(reply) => reply.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Routed(body) => body.size_hint(),
            Self::Call(reply) => reply.size_hint(),
        }
    }
}

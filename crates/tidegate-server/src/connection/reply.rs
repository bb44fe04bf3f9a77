//! The body of an answer, by whichever way it came.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use http_body::{Frame, SizeHint};
use tidegate_wire::rls;

/// What is sent back.
pub(crate) enum Reply {
    /// From whoever a request was routed to.
    Routed(Body),
    /// From Envoy's call, which is answered by the shortest way.
    Call(rls::Reply),
}

impl http_body::Body for Reply {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        match &mut *self {
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

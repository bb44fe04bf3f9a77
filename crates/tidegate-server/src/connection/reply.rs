//! The body of an answer, by whichever way it came, and what it takes until it is sent.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use http_body::{Body as _, Frame, SizeHint};
use tidegate_wire::door::{Held, Room};
use tidegate_wire::rls;

use super::activity::UnderWay;

/// Bytes of a head or of an answer that need no room of the door's: there are as many as requests under way.
pub(super) const FREE_BYTES: usize = 4 << 10;

/// What is sent back.
pub(crate) enum Content {
    /// From whoever a request was routed to.
    Routed(Body),
    /// From Envoy's call, which is answered by the shortest way.
    Call(rls::Reply),
}

/// What is sent back, and what that holds.
pub(crate) struct Reply {
    content: Content,
    /// The room of a long one, as long as anybody has its bytes.
    held: Option<Arc<Held>>,
    _under_way: UnderWay,
}

/// Bytes that are nobody's any more when they were sent.
struct Kept {
    bytes: Bytes,
    _held: Arc<Held>,
}

impl Content {
    /// With the room that it takes, if it is long; `None` if there is none.
    pub(super) fn hold(self, room: &Room) -> Option<(Self, Option<Arc<Held>>)> {
        let bytes = usize::try_from(self.size_hint().lower()).unwrap_or(usize::MAX);
        if bytes <= FREE_BYTES {
            return Some((self, None));
        }
        room.hold(bytes).map(|held| (self, Some(Arc::new(held))))
    }

    fn poll_frame(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        match self {
            Self::Routed(body) => Pin::new(body).poll_frame(context),
            Self::Call(reply) => match Pin::new(reply).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => Poll::Ready(Some(Ok(frame))),
                Poll::Ready(None) => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            },
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Routed(body) => body.size_hint(),
            Self::Call(reply) => reply.size_hint(),
        }
    }
}

impl Reply {
    pub(super) fn new((content, held): (Content, Option<Arc<Held>>), under_way: UnderWay) -> Self {
        Self { content, held, _under_way: under_way.answered() }
    }
}

impl AsRef<[u8]> for Kept {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl http_body::Body for Reply {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = self.content.poll_frame(context);
        let Some(held) = &self.held else { return frame };
        // Whoever sends keeps the bytes longer than this.
        let keep = |bytes| Bytes::from_owner(Kept { bytes, _held: Arc::clone(held) });
        frame.map(|frame| frame.map(|frame| frame.map(|frame| frame.map_data(keep))))
    }

    fn is_end_stream(&self) -> bool {
        match &self.content {
            Content::Routed(body) => body.is_end_stream(),
            Content::Call(reply) => reply.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        self.content.size_hint()
    }
}

//! The body of an answer, by whichever way it came, and what it takes until it is sent.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use http_body::{Body as _, Frame, SizeHint};
use tidegate_frontend::door::{FREE_BYTES, Held, Room};
use tidegate_frontend::rls;

use super::activity::{Asked, Stream, Untaken};

/// What is sent back.
pub(crate) enum Content {
    /// From whoever a request was routed to.
    Routed(Body),
    /// From Envoy's call, which is answered by the shortest way.
    Call(rls::Reply),
}

/// What is sent back, and what its bytes take.
pub(crate) struct Reply {
    content: Content,
    pays: Pays,
}

/// How an answer pays.
enum Pays {
    /// It comes in one piece, to which this goes.
    Once(Option<Takes>),
    /// Each piece for itself: nobody knows how many there will be.
    ByPiece(Stream, Room),
}

/// What bytes take until they are nobody's any more.
#[derive(Default)]
struct Takes {
    _room: Option<Held>,
    _untaken: Option<Untaken>,
}

/// Bytes with what they take. Whoever sends has them longer than there is an answer.
struct Kept<B> {
    bytes: B,
    _takes: Takes,
}

/// There is no room for it.
#[derive(Debug, thiserror::Error)]
#[error("too much is held at once")]
pub(super) struct NoRoom;

impl Content {
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

impl Reply {
    /// An answer that has its length, with the room that it takes; or, if there is none, what it was to answer.
    pub(super) fn new(content: Content, asked: Asked, room: &Room) -> Result<Self, Asked> {
        let bytes = usize::try_from(content.size_hint().lower()).unwrap_or(usize::MAX);
        match hold(bytes, room) {
            Ok(held) => Ok(Self::whole(content, asked, held)),
            Err(NoRoom) => Err(asked),
        }
    }

    /// One that is short.
    pub(super) fn short(content: Content, asked: Asked) -> Self {
        Self::whole(content, asked, None)
    }

    /// One that goes on.
    pub(super) fn stream(content: Content, stream: Stream, room: &Room) -> Self {
        Self { content, pays: Pays::ByPiece(stream, room.clone()) }
    }

    fn whole(content: Content, asked: Asked, held: Option<Held>) -> Self {
        Self { content, pays: Pays::Once(Some(Takes { _room: held, _untaken: asked.answered() })) }
    }
}

impl Pays {
    /// A piece with what it takes; an error if there is no room for it.
    fn keep<B>(&mut self, bytes: B) -> Result<Bytes, NoRoom>
    where
        B: AsRef<[u8]> + Send + 'static,
    {
        let takes = match self {
            Self::Once(takes) => takes.take().unwrap_or_default(),
            Self::ByPiece(stream, room) => {
                Takes { _room: hold(bytes.as_ref().len(), room)?, _untaken: Some(stream.more()) }
            }
        };
        Ok(Bytes::from_owner(Kept { bytes, _takes: takes }))
    }
}

/// The room for so many bytes, if they need any.
pub(super) fn hold(bytes: usize, room: &Room) -> Result<Option<Held>, NoRoom> {
    if bytes <= FREE_BYTES { Ok(None) } else { room.hold(bytes).map(Some).ok_or(NoRoom) }
}

impl<B: AsRef<[u8]>> AsRef<[u8]> for Kept<B> {
    fn as_ref(&self) -> &[u8] {
        self.bytes.as_ref()
    }
}

impl http_body::Body for Reply {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Self { content, pays } = &mut *self;
        // It is sent as it was written.
        if let Content::Call(reply) = content
            && let Some(message) = reply.take()
        {
            return Poll::Ready(Some(pays.keep(message).map(Frame::data).map_err(axum::Error::new)));
        }
        let keep = |frame: Frame<Bytes>| match frame.into_data() {
            Ok(bytes) => pays.keep(bytes).map(Frame::data).map_err(axum::Error::new),
            Err(trailers) => Ok(trailers),
        };
        content.poll_frame(context).map(|frame| frame.map(|frame| frame.and_then(keep)))
    }

    fn is_end_stream(&self) -> bool {
        self.content.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.content.size_hint()
    }
}

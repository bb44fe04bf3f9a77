//! The body of a response: the service's own, or the refusal's.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use crate::clock::{Clock, SystemClock};
use crate::guard::Guard;

pin_project! {
    /// Passes the service's body on and holds the request's slots until it has ended or was dropped. As long as it moves,
    /// the slots are renewed.
    #[derive(Debug)]
    pub struct LimitedBody<B, C: Clock = SystemClock> {
        #[pin]
        content: Content<B>,
        guard: Option<Guard<C>>,
    }
}

pin_project! {
    #[project = ContentProjection]
    #[derive(Debug)]
    enum Content<B> {
        Inner { #[pin] body: B },
        Refusal { bytes: Option<Bytes> },
    }
}

impl<B, C: Clock> LimitedBody<B, C> {
    pub(super) fn inner(body: B, guard: Guard<C>) -> Self {
        Self { content: Content::Inner { body }, guard: Some(guard) }
    }

    pub(super) fn refusal(bytes: Bytes) -> Self {
        Self {
            content: Content::Refusal { bytes: Some(bytes).filter(|bytes| !bytes.is_empty()) },
            guard: None,
        }
    }
}

impl<B: Body<Data = Bytes>, C: Clock> Body for LimitedBody<B, C> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = self.project();
        let frame = match this.content.project() {
            ContentProjection::Inner { body } => ready!(body.poll_frame(context)),
            ContentProjection::Refusal { bytes } => bytes.take().map(|bytes| Ok(Frame::data(bytes))),
        };
        match (&frame, this.guard.as_mut()) {
            (Some(Ok(_)), Some(guard)) => {
                guard.renew_if_due();
            }
            _ => drop(this.guard.take()),
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        match &self.content {
            Content::Inner { body } => body.is_end_stream(),
            Content::Refusal { bytes } => bytes.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Inner { body } => body.size_hint(),
            Content::Refusal { bytes } => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
        }
    }
}

//! The one message of a call, and that of its answer.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue};
use http_body::{Body, Frame, SizeHint};
use tonic::Status;

use super::encode::FRAME;
use crate::door::Share;

/// What whoever compresses is told.
pub(super) const COMPRESSED: &str = "messages must not be compressed";

const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");
const OK: HeaderValue = HeaderValue::from_static("0");

/// Reads the message of a call: at most so many bytes, and as many as the share can grow by.
pub(super) async fn read<B>(mut body: B, most: usize, share: &mut Share<'_>) -> Result<Bytes, Status>
where
    B: Body<Data = Bytes> + Unpin,
{
    let mut parts = Parts::default();
    while !body.is_end_stream() {
        let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await else { break };
        let frame = frame.map_err(|_| Status::cancelled("the call broke off"))?;
        let Ok(data) = frame.into_data() else { continue };
        if !share.grow(data.len()) {
            return Err(Status::resource_exhausted("too many bytes of calls are held; retry in 1 s"));
        }
        parts.push(data);
        parts.check(most)?;
    }
    parts.message()
}

/// What has come so far.
#[derive(Default)]
struct Parts {
    first: Bytes,
    more: BytesMut,
}

impl Parts {
    fn push(&mut self, data: Bytes) {
        if self.first.is_empty() && self.more.is_empty() {
            self.first = data;
            return;
        }
        if self.more.is_empty() {
            self.more.extend_from_slice(&self.first);
        }
        self.more.extend_from_slice(&data);
    }

    fn read(&self) -> &[u8] {
        if self.more.is_empty() { &self.first } else { &self.more }
    }

    /// Looks at the frame as soon as it is there.
    fn check(&self, most: usize) -> Result<(), Status> {
        let Some((frame, message)) = self.read().split_first_chunk::<FRAME>() else { return Ok(()) };
        let [compressed, length @ ..] = *frame;
        let length = u32::from_be_bytes(length) as usize;
        if compressed != 0 {
            Err(Status::unimplemented(COMPRESSED))
        } else if length > most {
            Err(Status::out_of_range(format!("the message has {length} bytes and the most is {most}")))
        } else if message.len() > length {
            Err(Status::invalid_argument("the call has more than one message"))
        } else {
            Ok(())
        }
    }

    fn message(self) -> Result<Bytes, Status> {
        let mut read = if self.more.is_empty() { self.first } else { self.more.freeze() };
        let whole = read
            .split_first_chunk::<FRAME>()
            .is_some_and(|([_, length @ ..], message)| message.len() == u32::from_be_bytes(*length) as usize);
        if !whole {
            return Err(Status::invalid_argument("the call ends before its message"));
        }
        Ok(read.split_off(FRAME))
    }
}

/// The body of an answer: a message and how the call ended, or nothing if its head says all.
#[derive(Debug)]
pub struct Reply {
    message: Option<Bytes>,
    ended: bool,
}

impl Reply {
    pub(super) fn new(message: Bytes) -> Self {
        Self { message: Some(message), ended: false }
    }
}

/// Nothing: how the call ended stands in the head.
impl Default for Reply {
    fn default() -> Self {
        Self { message: None, ended: true }
    }
}

impl Body for Reply {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(message) = self.message.take() {
            return Poll::Ready(Some(Ok(Frame::data(message))));
        }
        if self.is_end_stream() {
            return Poll::Ready(None);
        }
        self.ended = true;
        let trailers = HeaderMap::from_iter([(GRPC_STATUS, OK)]);
        Poll::Ready(Some(Ok(Frame::trailers(trailers))))
    }

    fn is_end_stream(&self) -> bool {
        self.ended
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}

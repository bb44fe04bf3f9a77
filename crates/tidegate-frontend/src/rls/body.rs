//! The one message of a call, and that of its answer.

use std::cmp::Ordering;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use http_body::{Body, Frame, SizeHint};
use tidegate_net::body::{BodyError as Stopped, collect};
use tonic::Status;

use crate::door::{Budget, Share};
use tidegate_wire::envoy::FRAME_BYTES as FRAME;

/// What is told when there is no room.
pub(super) const NO_ROOM: &str = "too many bytes of calls are held; retry in 1 s";

/// What whoever compresses is told.
pub(super) const COMPRESSED: &str = "messages must not be compressed";

const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");
const OK: HeaderValue = HeaderValue::from_static("0");

/// The message of a call, and the share that it takes.
pub(super) async fn read<B>(body: B, most: usize, budget: &Budget) -> Result<(Bytes, Share<'_>), Status>
where
    B: Body<Data = Bytes> + Unpin,
{
    let (mut bytes, share) = framed(body, most, budget).await?;
    Ok((bytes.split_off(FRAME), share))
}

/// The same with the frame around it, which says that it is not compressed, and how long it is.
pub(crate) async fn framed<B>(body: B, most: usize, budget: &Budget) -> Result<(Bytes, Share<'_>), Status>
where
    B: Body<Data = Bytes> + Unpin,
{
    let too_large = || Status::out_of_range(format!("the message may have {most} bytes at most"));
    let (bytes, share) = collect(body, most + FRAME, budget).await.map_err(|stopped| match stopped {
        Stopped::TooLarge => too_large(),
        Stopped::NoRoom => Status::resource_exhausted(NO_ROOM),
        Stopped::BrokenOff => Status::cancelled("the call broke off"),
    })?;
    check(&bytes)?;
    Ok((bytes, share))
}

/// Whether the frame is that of the one message behind it.
fn check(bytes: &[u8]) -> Result<(), Status> {
    let Some(([compressed, length @ ..], message)) = bytes.split_first_chunk::<FRAME>() else {
        return Err(Status::invalid_argument("the call ends before its message"));
    };
    if *compressed != 0 {
        return Err(Status::unimplemented(COMPRESSED));
    }
    match message.len().cmp(&(u32::from_be_bytes(*length) as usize)) {
        Ordering::Less => Err(Status::invalid_argument("the call ends before its message")),
        Ordering::Greater => Err(Status::invalid_argument("the call has more than one message")),
        Ordering::Equal => Ok(()),
    }
}

/// The body of an answer: a message and how the call ended, or nothing if its head says all.
#[derive(Debug)]
pub struct Reply {
    message: Option<Vec<u8>>,
    ended: bool,
}

impl Reply {
    pub(super) fn new(message: Vec<u8>) -> Self {
        Self { message: Some(message), ended: false }
    }

    /// The message as it was written, for whoever sends it otherwise than as a body. How the call ended is still to be sent.
    pub fn take(&mut self) -> Option<Vec<u8>> {
        self.message.take()
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
        if let Some(message) = self.take() {
            return Poll::Ready(Some(Ok(Frame::data(message.into()))));
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
        at_least(self.message.as_ref().map_or(0, Vec::len))
    }
}

/// How long an answer is, for whoever keeps it. That there is no more is not said: it would be told in the head, where gRPC has no place
/// for it.
pub(crate) fn at_least(bytes: usize) -> SizeHint {
    let mut hint = SizeHint::default();
    hint.set_lower(bytes as u64);
    hint
}

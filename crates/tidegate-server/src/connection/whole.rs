//! Bytes that go out in one piece, and those that came before.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes that are read in one turn of a connection: whoever never pauses gets no more than others.
const MOST_PER_TURN: usize = 64 << 10;

/// A connection that says that it takes no lists of pieces to write. HTTP/2 hands over every body of some size as a piece of its own if
/// it can, and then asks the system once for each answer; what goes out in one piece is put together first, so that answers that
/// are ready together go out together. Ours are short: to copy them costs less than to ask.
pub(super) struct Whole<S> {
    /// What was read before, and is read again; and how much of it was.
    first: Vec<u8>,
    read: usize,
    /// How much was read in this turn.
    in_turn: usize,
    stream: S,
}

impl<S> Whole<S> {
    /// A connection from which these bytes have come so far.
    pub(super) const fn new(first: Vec<u8>, stream: S) -> Self {
        Self { first, read: 0, in_turn: 0, stream }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Whole<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { first, read, in_turn, stream } = &mut *self;
        if first.is_empty() {
            if *in_turn >= MOST_PER_TURN {
                *in_turn = 0;
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            let before = into.filled().len();
            let came = Pin::new(stream).poll_read(context, into);
            *in_turn = if came.is_pending() { 0 } else { *in_turn + into.filled().len() - before };
            return came;
        }
        let next = &first[*read..];
        let next = &next[..next.len().min(into.remaining())];
        into.put_slice(next);
        *read += next.len();
        if *read == first.len() {
            *first = Vec::new();
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Whole<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    /// For HTTP/1, which does not ask.
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, pieces)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

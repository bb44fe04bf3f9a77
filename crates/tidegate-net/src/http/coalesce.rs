//! The bytes of a connection: reads are bounded per turn, and answers are written in one piece.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::activity::ConnectionActivity;

/// A stream that does not offer vectored writes. With them, hyper would make one system call per
/// HTTP/2 answer; without, it copies the answers of a turn into one buffer. Answers are short, so the
/// copy costs less than the call.
pub(super) struct CoalescingStream<S> {
    stream: S,
    activity: Arc<ConnectionActivity>,
}

impl<S> CoalescingStream<S> {
    pub(super) fn new(stream: S, activity: &Arc<ConnectionActivity>) -> Self {
        Self { stream, activity: Arc::clone(activity) }
    }

    fn note_sent(&self, bytes: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(bytes)) = bytes {
            self.activity.note_sent(bytes);
        }
        bytes
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for CoalescingStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // hyper may read several times in a turn.
        if !self.activity.may_read() {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let before = into.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, into);
        self.activity.note_read(into.filled().len() - before);
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for CoalescingStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let sent = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.note_sent(sent)
    }

    /// For HTTP/1, which is set to write vectors whatever the stream offers.
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let sent = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.note_sent(sent)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::super::activity::MAX_READ_PER_TURN;
    use super::*;

    /// The bytes until a read waits, or the bound is far exceeded.
    fn read_all(from: &mut CoalescingStream<tokio::io::Repeat>) -> usize {
        let (mut buffer, mut read) = ([0; 4 << 10], 0);
        while read < 10 * MAX_READ_PER_TURN {
            let mut into = ReadBuf::new(&mut buffer);
            if Pin::new(&mut *from).poll_read(&mut Context::from_waker(Waker::noop()), &mut into).is_pending()
            {
                break;
            }
            read += into.filled().len();
        }
        read
    }

    #[test]
    fn reads_are_bounded_per_turn() {
        let activity = Arc::new(ConnectionActivity::new());
        let mut stream = CoalescingStream::new(tokio::io::repeat(b'x'), &activity);
        for _ in 0..2 {
            activity.begin_turn();
            assert_eq!((read_all(&mut stream), read_all(&mut stream)), (MAX_READ_PER_TURN, 0));
        }
    }
}

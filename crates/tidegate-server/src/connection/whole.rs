//! The bytes of a connection: reads are bounded per turn, and answers go out in one piece.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::activity::Activity;
use super::hour;

/// Bytes that are read in one turn of a connection: whoever never pauses gets no more than others.
const MOST_PER_TURN: usize = 64 << 10;

/// A connection that says that it takes no lists of pieces to write. HTTP/2 hands over every body of some size as a piece of its own if
/// it can, and then asks the system once for each answer; what goes out in one piece is put together first, so that answers that
/// are ready together go out together. Ours are short: to copy them costs less than to ask.
pub(super) struct Whole<S> {
    /// How much was read in which turn.
    in_turn: (usize, Option<u64>),
    stream: S,
    /// Who is told how much is sent.
    activity: Arc<Activity>,
}

impl<S> Whole<S> {
    pub(super) fn new(stream: S, activity: &Arc<Activity>) -> Self {
        Self { in_turn: (0, None), stream, activity: Arc::clone(activity) }
    }

    fn sent(&self, bytes: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(bytes)) = bytes {
            self.activity.send(bytes);
        }
        bytes
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Whole<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { in_turn, stream, .. } = &mut *self;
        // Whoever reads may ask more than once in a turn, and outside of turns it is nobody else's.
        let turn = hour::turn();
        if in_turn.1 != turn || turn.is_none() {
            *in_turn = (0, turn);
        }
        if in_turn.0 >= MOST_PER_TURN {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let before = into.filled().len();
        let came = Pin::new(stream).poll_read(context, into);
        in_turn.0 += into.filled().len() - before;
        came
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Whole<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let sent = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.sent(sent)
    }

    /// For HTTP/1, which does not ask.
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let sent = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.sent(sent)
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

    use super::super::hour::Turn;
    use super::*;

    /// How many bytes come until none do, or the bound is far exceeded.
    fn comes(from: &mut Whole<tokio::io::Repeat>) -> usize {
        let (mut room, mut came) = ([0; 4 << 10], 0);
        while came < 10 * MOST_PER_TURN {
            let mut into = ReadBuf::new(&mut room);
            if Pin::new(&mut *from).poll_read(&mut Context::from_waker(Waker::noop()), &mut into).is_pending()
            {
                break;
            }
            came += into.filled().len();
        }
        came
    }

    #[test]
    fn so_much_is_read_in_a_turn_however_often_it_is_asked() {
        let mut whole = Whole::new(tokio::io::repeat(b'x'), &Arc::new(Activity::new()));
        for _ in 0..2 {
            let _turn = Turn::begin();
            assert_eq!((comes(&mut whole), comes(&mut whole)), (MOST_PER_TURN, 0));
        }
        assert!(comes(&mut whole) > MOST_PER_TURN, "outside of turns nobody else has one");
    }
}

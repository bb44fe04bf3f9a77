//! The bytes of a body as they come, bounded for each body and, by the door's budget, for all that are held at once.

use std::future::poll_fn;
use std::pin::Pin;

use bytes::Bytes;
use http_body::Body;

use super::{Budget, FREE_BYTES, Share};

/// Why a body was not read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// It is larger than a body may be.
    TooLarge,
    /// Others take too much room.
    NoRoom,
    /// The connection did not bring the rest.
    BrokenOff,
}

/// The whole body, and the share that it takes for as long as that is kept, beyond what is free. Nearly all come in one piece, which is
/// not copied.
pub(crate) async fn collect<B>(
    mut body: B,
    most: usize,
    budget: &Budget,
) -> Result<(Bytes, Share<'_>), Stopped>
where
    B: Body<Data = Bytes> + Unpin,
{
    let mut read = Read { first: Bytes::new(), bytes: Vec::new(), share: budget.share(), most };
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let ended = body.is_end_stream();
        // What is no data are trailers, which nobody reads.
        if let Ok(data) = frame.map_err(|_| Stopped::BrokenOff)?.into_data() {
            read.push(data)?;
        }
        if ended {
            break;
        }
        read.own();
    }
    Ok((if read.bytes.is_empty() { read.first } else { read.bytes.into() }, read.share))
}

/// What was read so far: one piece as it came, or all of them in a row.
struct Read<'b> {
    first: Bytes,
    bytes: Vec<u8>,
    share: Share<'b>,
    most: usize,
}

impl Read<'_> {
    fn push(&mut self, data: Bytes) -> Result<(), Stopped> {
        if self.first.is_empty() && self.bytes.is_empty() {
            self.make_room(0, data.len(), data.len())?;
            self.first = data;
            return Ok(());
        }
        let first = std::mem::take(&mut self.first);
        let (paid, needed) =
            (first.len().max(self.bytes.capacity()), first.len() + self.bytes.len() + data.len());
        // Grows by doubling, as vectors do, but not so that what would be free has to be paid for.
        let most = if needed <= FREE_BYTES { self.most.min(FREE_BYTES) } else { self.most };
        let capacity = needed.max(paid.saturating_mul(2).min(most));
        self.make_room(paid, needed, if needed <= paid { paid } else { capacity })?;
        self.bytes.extend_from_slice(&first);
        self.bytes.extend_from_slice(&data);
        Ok(())
    }

    /// Copies what came first: while the rest is waited for, a few bytes would keep all that was read with them.
    fn own(&mut self) {
        if self.bytes.is_empty() {
            self.bytes = std::mem::take(&mut self.first).to_vec();
        }
    }

    /// Pays for so much room before it is taken, but for what is paid for or free.
    fn make_room(&mut self, paid: usize, needed: usize, capacity: usize) -> Result<(), Stopped> {
        if needed > self.most {
            return Err(Stopped::TooLarge);
        }
        let due = capacity.saturating_sub(paid.max(FREE_BYTES));
        if due > 0 && !self.share.grow(due) {
            return Err(Stopped::NoRoom);
        }
        if paid > 0 {
            self.bytes.reserve_exact(capacity - self.bytes.len());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::convert::Infallible;
    use std::task::{Context, Poll};

    use http_body::Frame;
    use proptest::prelude::*;

    use super::super::tests::wait;
    use super::*;

    struct Pieces(VecDeque<Bytes>);

    impl Body for Pieces {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            Poll::Ready(self.0.pop_front().map(|piece| Ok(Frame::data(piece))))
        }
    }

    proptest! {
        /// However it is cut up, and although the budget holds one body of the largest size, less what is free, and no more.
        #[test]
        fn a_body_is_whole_or_too_large(
            lengths in prop::collection::vec(0..3000_usize, 0..8), most in 1..15_000_usize,
        ) {
            let piece = |(byte, length): (u8, usize)| vec![byte; length];
            let pieces: Vec<Vec<u8>> = (0..).zip(lengths).map(piece).collect();
            let (budget, whole) = (Budget::new(most.saturating_sub(FREE_BYTES)), pieces.concat());
            let body = Pieces(pieces.into_iter().map(Bytes::from).collect());
            match wait(collect(body, most, &budget)) {
                Ok((bytes, share)) => {
                    prop_assert!(bytes == whole && whole.len() <= most);
                    prop_assert!(budget.taken() >= whole.len().saturating_sub(FREE_BYTES));
                    drop(share);
                }
                Err(stopped) => prop_assert!(stopped == Stopped::TooLarge && whole.len() > most),
            }
            prop_assert_eq!(budget.taken(), 0);
        }
    }

    #[test]
    fn what_others_take_is_not_there() {
        let (budget, most) = (Budget::new(10), FREE_BYTES + 10);
        let mut other = budget.share();
        assert!(other.grow(5));
        let body = |last: &'static str| {
            Pieces([Bytes::from_static(&[b'a'; FREE_BYTES - 3]), Bytes::from_static(last.as_bytes())].into())
        };
        assert_eq!(wait(collect(body("abcdef123"), most, &budget)).unwrap_err(), Stopped::NoRoom);
        assert!(wait(collect(body("abc"), most, &budget)).is_ok(), "whoever needs little is served");
        drop(other);
        assert!(wait(collect(body("abcdef123"), most, &budget)).unwrap().0.ends_with(b"aabcdef123"));
    }
}

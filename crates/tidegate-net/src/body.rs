//! Reads a whole body, bounded by itself and, by a budget, together with all others.

use std::future::poll_fn;
use std::pin::Pin;

use bytes::Bytes;
use http_body::Body;

use crate::budget::{BudgetShare, ByteBudget, FREE_BYTES};

/// Why a body could not be read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyError {
    /// It is larger than a body may be.
    TooLarge,
    /// The budget is exhausted.
    NoRoom,
    /// The connection broke before its end.
    BrokenOff,
}

/// Reads a body of at most `max` bytes. Returns it with its share of the budget, which covers what is
/// beyond [`FREE_BYTES`]. A body in one piece, as nearly all are, is not copied.
pub async fn collect<B>(
    mut body: B,
    max: usize,
    budget: &ByteBudget,
) -> Result<(Bytes, BudgetShare<'_>), BodyError>
where
    B: Body<Data = Bytes> + Unpin,
{
    let mut read = PartialBody { first: Bytes::new(), bytes: Vec::new(), share: budget.share(), max };
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let ended = body.is_end_stream();
        // Trailers are ignored.
        if let Ok(data) = frame.map_err(|_| BodyError::BrokenOff)?.into_data() {
            read.push(data)?;
        }
        if ended {
            break;
        }
        read.copy_first();
    }
    Ok((if read.bytes.is_empty() { read.first } else { read.bytes.into() }, read.share))
}

/// The bytes so far. Invariant: either `first` or `bytes` is empty, and the share covers the capacity
/// of the other beyond [`FREE_BYTES`].
struct PartialBody<'b> {
    first: Bytes,
    bytes: Vec<u8>,
    share: BudgetShare<'b>,
    max: usize,
}

impl PartialBody<'_> {
    fn push(&mut self, data: Bytes) -> Result<(), BodyError> {
        if self.first.is_empty() && self.bytes.is_empty() {
            self.pay_for(0, data.len(), data.len())?;
            self.first = data;
            return Ok(());
        }
        let first = std::mem::take(&mut self.first);
        let (paid, needed) =
            (first.len().max(self.bytes.capacity()), first.len() + self.bytes.len() + data.len());
        // Doubles, as vectors do, but stays free of charge as long as the bytes fit in the free ones.
        let max = if needed <= FREE_BYTES { self.max.min(FREE_BYTES) } else { self.max };
        let capacity = needed.max(paid.saturating_mul(2).min(max));
        self.pay_for(paid, needed, if needed <= paid { paid } else { capacity })?;
        self.bytes.extend_from_slice(&first);
        self.bytes.extend_from_slice(&data);
        Ok(())
    }

    /// Copies the first piece: while the rest is awaited, it would keep the whole read buffer alive.
    fn copy_first(&mut self) {
        if self.bytes.is_empty() {
            self.bytes = std::mem::take(&mut self.first).to_vec();
        }
    }

    /// Takes the bytes from the budget before they are allocated, less those paid for or free.
    fn pay_for(&mut self, paid: usize, needed: usize, capacity: usize) -> Result<(), BodyError> {
        if needed > self.max {
            return Err(BodyError::TooLarge);
        }
        let due = capacity.saturating_sub(paid.max(FREE_BYTES));
        if due > 0 && !self.share.grow(due) {
            return Err(BodyError::NoRoom);
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
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use http_body::Frame;
    use proptest::prelude::*;

    use super::*;

    /// The output of a future that never waits.
    fn ready<F: Future>(future: F) -> F::Output {
        match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(output) => output,
            Poll::Pending => panic!("it waits"),
        }
    }

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
        /// However it is cut up, and with a budget for just one body of the largest size.
        #[test]
        fn a_body_is_whole_or_too_large(
            lengths in prop::collection::vec(0..3000_usize, 0..8), max in 1..15_000_usize,
        ) {
            let piece = |(byte, length): (u8, usize)| vec![byte; length];
            let pieces: Vec<Vec<u8>> = (0..).zip(lengths).map(piece).collect();
            let (budget, whole) = (ByteBudget::new(max.saturating_sub(FREE_BYTES)), pieces.concat());
            let body = Pieces(pieces.into_iter().map(Bytes::from).collect());
            match ready(collect(body, max, &budget)) {
                Ok((bytes, share)) => {
                    prop_assert!(bytes == whole && whole.len() <= max);
                    prop_assert!(budget.taken() >= whole.len().saturating_sub(FREE_BYTES));
                    drop(share);
                }
                Err(error) => prop_assert!(error == BodyError::TooLarge && whole.len() > max),
            }
            prop_assert_eq!(budget.taken(), 0);
        }
    }

    #[test]
    fn the_budget_is_shared_between_bodies() {
        let (budget, max) = (ByteBudget::new(10), FREE_BYTES + 10);
        let mut other = budget.share();
        assert!(other.grow(5));
        let body = |last: &'static str| {
            Pieces([Bytes::from_static(&[b'a'; FREE_BYTES - 3]), Bytes::from_static(last.as_bytes())].into())
        };
        assert_eq!(ready(collect(body("abcdef123"), max, &budget)).unwrap_err(), BodyError::NoRoom);
        assert!(ready(collect(body("abc"), max, &budget)).is_ok(), "a short body is served");
        drop(other);
        assert!(ready(collect(body("abcdef123"), max, &budget)).unwrap().0.ends_with(b"aabcdef123"));
    }
}

//! A panic on the way of a check stays there: it becomes a decision, not a dropped connection.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Something panicked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("something broke on the way; the request was not settled")]
pub(crate) struct Panicked;

/// Runs a station.
pub(crate) fn contain<T>(station: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(station)).map_err(|_| Panicked)
}

/// Awaits a station. After a panic it is never polled again. What panics while the future is made is not contained: make it
/// in an `async` block.
pub(crate) fn contained<F: Future>(future: F) -> Contained<F> {
    Contained { future }
}

pin_project_lite::pin_project! {
    pub(crate) struct Contained<F> {
        #[pin]
        future: F,
    }
}

impl<F: Future> Future for Contained<F> {
    type Output = Result<F::Output, Panicked>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let future = self.project().future;
        match contain(|| future.poll(context)) {
            Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
            Ok(Poll::Pending) => Poll::Pending,
            Err(panicked) => Poll::Ready(Err(panicked)),
        }
    }
}

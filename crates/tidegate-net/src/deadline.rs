//! Work for a caller: within its time, and a panic in it stays in it.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Sleep, sleep};

/// Why work did not complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It took too long.
    TimedOut,
    /// It panicked.
    Panicked,
}

/// Awaits a future for `limit` at most. The timer starts with the first `Pending`: most futures are
/// ready at the first poll and never set one.
pub const fn within<F: Future>(limit: Duration, future: F) -> Within<F> {
    Within { future, limit, timer: None }
}

pin_project_lite::pin_project! {
    /// The future of [`within`].
    #[derive(Debug)]
    pub struct Within<F> {
        #[pin]
        future: F,
        limit: Duration,
        // Boxed to keep this future small: most timers are never set.
        timer: Option<Pin<Box<Sleep>>>,
    }
}

impl<F: Future> Future for Within<F> {
    type Output = Result<F::Output, Failure>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        match catch_panic(|| this.future.as_mut().poll(context)) {
            Err(failure) => return Poll::Ready(Err(failure)),
            Ok(Poll::Ready(output)) => return Poll::Ready(Ok(output)),
            Ok(Poll::Pending) => {}
        }
        let timer = this.timer.get_or_insert_with(|| Box::pin(sleep(*this.limit)));
        timer.as_mut().poll(context).map(|()| Err(Failure::TimedOut))
    }
}

/// Runs synchronous work; a panic becomes [`Failure::Panicked`].
pub fn catch_panic<T>(work: impl FnOnce() -> T) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| Failure::Panicked)
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use tokio::time::Instant;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(5);

    #[tokio::test(start_paused = true)]
    async fn ends_in_time_and_contains_panics() {
        let start = Instant::now();
        assert_eq!(within(LIMIT, ready(1)).await, Ok(1));
        assert_eq!(within(LIMIT, async { panic!("on purpose") }).await, Err::<(), _>(Failure::Panicked));
        assert_eq!(start.elapsed(), Duration::ZERO);
        assert_eq!(within(LIMIT, sleep(LIMIT / 2)).await, Ok(()));
        let start = Instant::now();
        assert_eq!(within(LIMIT, pending::<()>()).await, Err(Failure::TimedOut));
        assert_eq!(start.elapsed(), LIMIT);
    }
}

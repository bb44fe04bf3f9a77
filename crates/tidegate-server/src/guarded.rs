//! Work for a caller: within its time, and whatever breaks in it breaks nothing else.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Sleep, sleep};

/// Why nothing came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failed {
    /// It took too long.
    Late,
    /// It panicked.
    Broken,
}

/// Awaits a future for so long at most. Most are ready at once, and no clock is set for them.
pub(crate) const fn guarded<F: Future>(limit: Duration, future: F) -> Guarded<F> {
    Guarded { future, limit, alarm: None }
}

pin_project_lite::pin_project! {
    pub(crate) struct Guarded<F> {
        #[pin]
        future: F,
        limit: Duration,
        // Apart, since most are never set.
        alarm: Option<Pin<Box<Sleep>>>,
    }
}

impl<F: Future> Future for Guarded<F> {
    type Output = Result<F::Output, Failed>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        match at_once(|| this.future.as_mut().poll(context)) {
            Err(failed) => return Poll::Ready(Err(failed)),
            Ok(Poll::Ready(output)) => return Poll::Ready(Ok(output)),
            Ok(Poll::Pending) => {}
        }
        let alarm = this.alarm.get_or_insert_with(|| Box::pin(sleep(*this.limit)));
        alarm.as_mut().poll(context).map(|()| Err(Failed::Late))
    }
}

/// The same of what does not wait.
pub(crate) fn at_once<T>(work: impl FnOnce() -> T) -> Result<T, Failed> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| Failed::Broken)
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use tokio::time::Instant;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(5);

    #[tokio::test(start_paused = true)]
    async fn it_ends_in_time_and_a_panic_stays_where_it_is() {
        let start = Instant::now();
        assert_eq!(guarded(LIMIT, ready(1)).await, Ok(1));
        assert_eq!(guarded(LIMIT, async { panic!("on purpose") }).await, Err::<(), _>(Failed::Broken));
        assert_eq!(start.elapsed(), Duration::ZERO);
        assert_eq!(guarded(LIMIT, sleep(LIMIT / 2)).await, Ok(()));
        let start = Instant::now();
        assert_eq!(guarded(LIMIT, pending::<()>()).await, Err(Failed::Late));
        assert_eq!(start.elapsed(), LIMIT);
    }
}

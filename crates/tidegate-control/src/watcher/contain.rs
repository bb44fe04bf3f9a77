//! Keeps the watcher alive through panics, and the runtime responsive during computations.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

/// Awaits a future; `None` if it panicked.
pub(super) async fn contained<F: Future>(future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
        Ok(poll) => poll.map(Some),
        Err(_) => Poll::Ready(None),
    })
    .await
}

/// Computes something that takes a while, such as compiling many rules. Other tasks move off this
/// thread where the runtime has others.
pub(super) fn compute<T>(work: impl FnOnce() -> T) -> T {
    match Handle::current().runtime_flavor() {
        RuntimeFlavor::CurrentThread => work(),
        _ => block_in_place(work),
    }
}

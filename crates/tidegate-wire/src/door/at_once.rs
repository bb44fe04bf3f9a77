//! What a store that answers at once is asked: looked at once and on the stack, so that nothing of it is carried about.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// What comes of a future that need not wait; `None` if it does.
#[inline]
pub(crate) fn at_once<T>(future: Pin<&mut impl Future<Output = T>>) -> Option<T> {
    match future.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

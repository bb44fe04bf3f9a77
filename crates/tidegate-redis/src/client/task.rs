//! Tasks that end with whoever started them.

use std::future::Future;

use tokio::runtime::Handle;
use tokio::task::AbortHandle;

/// A task in the background that ends when this is dropped.
pub(crate) struct Background(AbortHandle);

impl Background {
    /// Starts it.
    pub(crate) fn start(runtime: &Handle, task: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(runtime.spawn(task).abort_handle())
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.0.abort();
    }
}

//! Requests to the task that installs rules: reload, switch.
//!
//! In: calls on a [`ControlHandle`], from any task. Out: [`ControlRequests`], which the watcher
//! takes in the order of arrival.

use tokio::sync::{mpsc, oneshot};

use crate::error::Error;
use crate::reload::ReloadOutcome;
use crate::switches::{SwitchChange, SwitchError};

/// The most requests that wait for the watcher.
pub(crate) const MAX_WAITING: usize = 8;

/// Asks the watcher for reloads and switches.
#[derive(Clone, Debug)]
pub struct ControlHandle(mpsc::Sender<Request>);

/// The watcher's end of a [`ControlHandle`].
#[derive(Debug)]
pub struct ControlRequests(pub(crate) mpsc::Receiver<Request>);

/// A request to the watcher. Its caller may have gone by the time of the reply.
#[derive(Debug)]
pub(crate) enum Request {
    Reload(ReloadRequest),
    Switch(SwitchRequest),
}

#[derive(Debug)]
pub(crate) struct ReloadRequest {
    pub(crate) why: &'static str,
    /// `None` if the caller does not wait.
    pub(crate) reply: Option<oneshot::Sender<ReloadOutcome>>,
}

#[derive(Debug)]
pub(crate) struct SwitchRequest {
    pub(crate) change: SwitchChange,
    pub(crate) by: Box<str>,
    pub(crate) reply: oneshot::Sender<Result<(), SwitchError>>,
}

/// A handle, and the requests that a [`RuleWatcher`](crate::RuleWatcher) takes from it.
pub fn channel() -> (ControlHandle, ControlRequests) {
    let (sender, receiver) = mpsc::channel(MAX_WAITING);
    (ControlHandle(sender), ControlRequests(receiver))
}

impl ControlHandle {
    /// Reads the rules again and waits for the outcome. `why` is noted in logs and in the status.
    ///
    /// # Errors
    /// [`Error::Busy`] at once if too many requests wait, or if the watcher is gone.
    pub async fn reload(&self, why: &'static str) -> Result<ReloadOutcome, Error> {
        let (reply, outcome) = oneshot::channel();
        let request = Request::Reload(ReloadRequest { why, reply: Some(reply) });
        self.0.try_send(request).map_err(|_| Error::Busy)?;
        outcome.await.map_err(|_| Error::Busy)
    }

    /// Queues a reload, waiting for a place in the queue but not for the outcome.
    ///
    /// # Errors
    /// [`Error::Busy`] if the watcher is gone.
    pub async fn queue_reload(&self, why: &'static str) -> Result<(), Error> {
        let request = Request::Reload(ReloadRequest { why, reply: None });
        self.0.send(request).await.map_err(|_| Error::Busy)
    }

    /// Sets or clears a switch and waits until that is in force. `by` is noted in logs and in the
    /// switch.
    ///
    /// # Errors
    /// If the change is not possible; [`SwitchError::Busy`] at once if too many requests wait, or
    /// if the watcher is gone.
    pub async fn switch(&self, change: SwitchChange, by: impl Into<Box<str>>) -> Result<(), SwitchError> {
        let (reply, result) = oneshot::channel();
        let request = Request::Switch(SwitchRequest { change, by: by.into(), reply });
        self.0.try_send(request).map_err(|_| SwitchError::Busy)?;
        result.await.unwrap_or(Err(SwitchError::Busy))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::switches::SwitchTarget;

    fn clear() -> SwitchChange {
        SwitchChange::Clear(SwitchTarget::Everything)
    }

    #[tokio::test]
    async fn full_queue_is_busy() {
        let (handle, _requests) = channel();
        for _ in 0..MAX_WAITING {
            handle.queue_reload("test").await.unwrap();
        }
        assert!(matches!(handle.reload("test").await, Err(Error::Busy)));
        assert_eq!(handle.switch(clear(), "here").await, Err(SwitchError::Busy));
    }

    #[tokio::test]
    async fn watcher_that_is_gone_is_busy() {
        let (handle, requests) = channel();
        drop(requests);
        assert!(matches!(handle.reload("test").await, Err(Error::Busy)));
        assert!(matches!(handle.queue_reload("test").await, Err(Error::Busy)));
        assert_eq!(handle.switch(clear(), "here").await, Err(SwitchError::Busy));
    }
}

//! Signals: SIGTERM and SIGINT stop the server, a second one at once; SIGHUP has the rules read again.

use tidegate_control::ControlHandle;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::error::Error;

/// Signals that stop a server. Listen before it starts, so that none is missed.
#[derive(Debug)]
pub struct Stops {
    terminate: Signal,
    interrupt: Signal,
}

impl Stops {
    /// Listens from now on. It needs a runtime.
    pub fn new() -> Result<Self, Error> {
        let listen = |kind| signal(kind).map_err(Error::Signals);
        Ok(Self { terminate: listen(SignalKind::terminate())?, interrupt: listen(SignalKind::interrupt())? })
    }

    /// Waits for the next; its name.
    pub(crate) async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}

/// A task that reloads the rules on every SIGHUP. It listens from now on.
pub(crate) fn reload_on_hangup(control: ControlHandle) -> Result<impl Future<Output = ()>, Error> {
    let mut hangups = signal(SignalKind::hangup()).map_err(Error::Signals)?;
    Ok(async move {
        while hangups.recv().await.is_some() {
            if control.queue_reload("signal").await.is_err() {
                return;
            }
        }
    })
}

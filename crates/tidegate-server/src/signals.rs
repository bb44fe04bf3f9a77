//! Signals: SIGTERM and SIGINT stop the server, a second one at once; SIGHUP has the rules read again.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use crate::error::Error;
use crate::rules::{Order, Trigger};

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

/// A task that has the rules read again on every SIGHUP. It listens from now on.
pub(crate) fn reload_on_hangup(reload: mpsc::Sender<Order>) -> Result<impl Future<Output = ()>, Error> {
    let mut hangups = signal(SignalKind::hangup()).map_err(Error::Signals)?;
    Ok(async move {
        while hangups.recv().await.is_some() {
            let order = Order::Reload(Trigger { why: "signal", answer: None });
            if reload.send(order).await.is_err() {
                return;
            }
        }
    })
}

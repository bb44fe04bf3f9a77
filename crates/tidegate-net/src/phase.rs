//! The phases of a graceful stop.

use tokio::sync::watch;

/// How far a server has come in stopping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Connections are accepted and served.
    Serving,
    /// No new connections; open ones close after the requests under way.
    Draining,
    /// Open connections are dropped.
    Stopped,
}

/// Waits until a phase has been reached. A sender that is gone counts as every phase.
pub async fn reached(phase: &mut watch::Receiver<Phase>, expected: Phase) {
    drop(phase.wait_for(|phase| *phase >= expected).await);
}

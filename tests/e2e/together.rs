//! Three nodes that count together in a real Redis, under load, while something happens to it.
//!
//! Every request must be answered, as its class says, and in time; what was admitted of each key stays within the bound of the event
//! (docs/concepts/together.md), as the checker of histories finds; nobody who keeps far below a limit is refused; afterwards all is exact again without a restart.
//! One test at a time.

mod asker;
mod traffic;
mod load;
mod history;
mod bounds;
mod checked;
mod stage;

mod exactly;
mod listed;
mod alone;
mod cluster;
mod lost;
mod tenant;
mod tier;
mod sentinel;
mod network;

use tokio::sync::{Mutex, MutexGuard};

/// Lets one test after another go.
pub(crate) async fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::const_new(());
    TURN.lock().await
}

//! Many checks under way at once, from one thread.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

/// Checks that are under way at once.
pub(super) const IN_FLIGHT: usize = 128;

/// Something that answers checks by their number.
pub(super) trait Asked: Send + Sync + 'static {
    /// Whether that request may pass.
    fn ask(&self, check: usize) -> impl Future<Output = Result<bool>> + Send;
}

pub(super) fn runtime() -> Result<Runtime> {
    Ok(Builder::new_current_thread().enable_all().build()?)
}

/// Asks so many times. Fails if something is refused: limits are out of reach.
pub(super) fn ask_all<A: Asked>(runtime: &Runtime, asked: &Arc<A>, checks: usize) -> Result<()> {
    runtime.block_on(async {
        let mut tasks = JoinSet::new();
        for first in 0..IN_FLIGHT {
            let asked = Arc::clone(asked);
            tasks.spawn(async move {
                for check in (first..checks).step_by(IN_FLIGHT) {
                    ensure!(asked.ask(check).await?, "a request was refused under limits out of reach");
                }
                Ok(())
            });
        }
        while let Some(task) = tasks.join_next().await {
            task.context("a task has come to an end of its own")??;
        }
        Ok(())
    })
}

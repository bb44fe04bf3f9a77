//! Ctrl-C, and being told to end: the demo then puts away what it made.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use anyhow::{Context as _, Result};
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

/// Turns true with the first signal from now on.
pub(super) fn listen() -> Result<Arc<AtomicBool>> {
    let runtime = Builder::new_current_thread().enable_io().build().context("cannot start the runtime")?;
    let (mut interrupt, mut terminate) = {
        let _inside = runtime.enter();
        let listen = |kind| signal(kind).context("cannot listen to signals");
        (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?)
    };
    let interrupted = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&interrupted);
    std::thread::spawn(move || {
        runtime.block_on(async {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        });
        told.store(true, Relaxed);
    });
    Ok(interrupted)
}

//! Certificates change while the server runs. Their files are polled, which also notices files that
//! are swapped by a symbolic link.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use super::TlsContext;

/// How often the files are read.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Keeps the certificates up to date for as long as it is polled.
pub async fn follow(tls: Arc<TlsContext>) {
    let mut polls = interval(POLL_INTERVAL);
    polls.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut last_error = None;
    loop {
        polls.tick().await;
        match tls.renew() {
            Ok(is_new) => {
                last_error = None;
                if is_new {
                    tracing::info!("new certificates are in use");
                }
            }
            // Half-written files are common, so each error is logged once.
            Err(error) => {
                let error = error.to_string();
                if last_error.as_ref() != Some(&error) {
                    tracing::warn!(%error, "the certificates stay as they were");
                }
                last_error = Some(error);
            }
        }
    }
}

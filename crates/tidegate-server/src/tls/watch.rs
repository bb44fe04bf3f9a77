//! Certificates change while the server runs: they are looked at now and then, which also sees files that are swapped by a link.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use super::Tls;

/// How often the files are looked at.
const LOOK: Duration = Duration::from_secs(1);

/// Goes on for as long as it is polled.
pub(crate) async fn follow(tls: Arc<Tls>) {
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut last = None;
    loop {
        looks.tick().await;
        match tls.renew() {
            Ok(false) => last = None,
            Ok(true) => {
                last = None;
                tracing::info!("new certificates are in use");
            }
            // Half-written files are common; the same complaint is made once.
            Err(error) => {
                let error = error.to_string();
                if last.as_ref() != Some(&error) {
                    tracing::warn!(%error, "the certificates stay as they were");
                }
                last = Some(error);
            }
        }
    }
}

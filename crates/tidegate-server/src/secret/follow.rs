//! Tokens and passwords change while the server runs: their files are looked at now and then. A change that cannot be used
//! keeps what was.

use std::path::PathBuf;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use super::File;
use crate::error::Error;

/// How often the files are looked at.
const LOOK: Duration = Duration::from_secs(1);

type Renew = Box<dyn Fn(File<'_>) -> Result<bool, Error> + Send + Sync>;

/// A file, and how to take what it says now; whether that was something else.
pub(crate) struct Kept {
    setting: &'static str,
    path: PathBuf,
    renew: Renew,
    complaint: Option<String>,
}

impl Kept {
    /// What is kept in a file.
    pub(crate) fn new(
        file: File<'_>,
        renew: impl Fn(File<'_>) -> Result<bool, Error> + Send + Sync + 'static,
    ) -> Self {
        let File { setting, path } = file;
        Self { setting, path: path.to_owned(), renew: Box::new(renew), complaint: None }
    }

    /// The same complaint is made once: half-written files are common.
    fn look(&mut self) {
        let complaint = match (self.renew)(File { setting: self.setting, path: &self.path }) {
            Ok(is_new) => {
                if is_new {
                    tracing::info!(setting = self.setting, file = %self.path.display(), "a new secret is in use");
                }
                None
            }
            Err(error) => Some(error.to_string()),
        };
        if let Some(error) = complaint.as_ref().filter(|_| complaint != self.complaint) {
            tracing::warn!(%error, "the secret stays as it was");
        }
        self.complaint = complaint;
    }
}

/// Goes on for as long as it is polled.
pub(crate) async fn follow(mut kept: Vec<Kept>) {
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        looks.tick().await;
        kept.iter_mut().for_each(Kept::look);
    }
}

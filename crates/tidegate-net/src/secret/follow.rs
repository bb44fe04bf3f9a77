//! Tokens and passwords change while the server runs: their files are polled. A file that cannot be
//! used leaves the secret as it was.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use super::SecretFile;
use crate::Error;

/// How often the files are read.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

type Renew = Box<dyn Fn(SecretFile<'_>) -> Result<bool, Error> + Send + Sync>;

/// A secret that follows its file.
pub struct FollowedSecret {
    setting: &'static str,
    path: PathBuf,
    renew: Renew,
    last_error: Option<String>,
}

impl FollowedSecret {
    /// A secret in a file. `renew` takes what the file holds now, and returns whether that is new.
    pub fn new(
        file: SecretFile<'_>,
        renew: impl Fn(SecretFile<'_>) -> Result<bool, Error> + Send + Sync + 'static,
    ) -> Self {
        let SecretFile { setting, path } = file;
        Self { setting, path: path.to_owned(), renew: Box::new(renew), last_error: None }
    }

    /// Half-written files are common, so each error is logged once.
    fn poll_file(&mut self) {
        let error = match (self.renew)(SecretFile { setting: self.setting, path: &self.path }) {
            Ok(is_new) => {
                if is_new {
                    tracing::info!(setting = self.setting, file = %self.path.display(), "a new secret is in use");
                }
                None
            }
            Err(error) => Some(error.to_string()),
        };
        if let Some(error) = error.as_ref().filter(|_| error != self.last_error) {
            tracing::warn!(%error, "the secret stays as it was");
        }
        self.last_error = error;
    }
}

impl fmt::Debug for FollowedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FollowedSecret").field("setting", &self.setting).finish_non_exhaustive()
    }
}

/// Keeps the secrets up to date for as long as it is polled.
pub async fn follow(mut secrets: Vec<FollowedSecret>) {
    let mut polls = interval(POLL_INTERVAL);
    polls.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        polls.tick().await;
        secrets.iter_mut().for_each(FollowedSecret::poll_file);
    }
}

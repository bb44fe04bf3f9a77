//! Rules in memory: for tests, and for programs that make their rules themselves.

use std::fmt;
use std::future::pending;
use std::time::Duration;

use tokio::sync::watch;

use super::{ReadError, RuleFiles, RuleSource, SourceReading};

/// How often the revision is asked for. Each change also wakes [`RuleSource::changed`].
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// A source of rules in memory.
pub struct MemorySource(watch::Receiver<State>);

/// Changes the rules of a [`MemorySource`].
pub struct MemoryRules(watch::Sender<State>);

#[derive(Clone)]
struct State {
    revision: u64,
    files: Result<RuleFiles, String>,
}

/// Rule files may hold secrets.
impl fmt::Debug for MemorySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemorySource").finish_non_exhaustive()
    }
}

impl fmt::Debug for MemoryRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryRules").finish_non_exhaustive()
    }
}

impl MemorySource {
    /// A source with these texts by file name, and what changes them.
    pub fn new(files: &[(&str, &str)]) -> (MemoryRules, Self) {
        let (sender, receiver) = watch::channel(State { revision: 1, files: Ok(owned(files)) });
        (MemoryRules(sender), Self(receiver))
    }
}

impl MemoryRules {
    /// Replaces all files.
    pub fn set(&self, files: &[(&str, &str)]) {
        self.put(Ok(owned(files)));
    }

    /// Makes the source unreadable for this reason, until files are set again.
    pub fn fail(&self, reason: &str) {
        self.put(Err(reason.to_owned()));
    }

    fn put(&self, files: Result<RuleFiles, String>) {
        self.0.send_modify(|state| {
            state.revision += 1;
            state.files = files;
        });
    }
}

impl RuleSource for MemorySource {
    type Revision = u64;

    fn name(&self) -> String {
        "memory".to_owned()
    }

    fn poll_interval(&self) -> Duration {
        POLL_INTERVAL
    }

    async fn revision(&mut self) -> Result<u64, ReadError> {
        Ok(self.0.borrow().revision)
    }

    async fn read(&mut self) -> SourceReading<u64> {
        let State { revision, files } = self.0.borrow().clone();
        SourceReading { revision: Some(revision), files: files.map_err(ReadError::failed) }
    }

    async fn changed(&mut self) {
        // Nothing can change the rules once their sender is gone.
        if self.0.changed().await.is_err() {
            pending::<()>().await;
        }
    }
}

fn owned(files: &[(&str, &str)]) -> RuleFiles {
    files.iter().map(|(name, text)| ((*name).to_owned(), Ok((*text).to_owned()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn reads_texts_with_their_revision() {
        let (rules, mut source) = MemorySource::new(&[("a", "one")]);
        let before = source.revision().await.unwrap();
        rules.set(&[("a", "two")]);
        source.changed().await;
        let SourceReading { revision, files } = source.read().await;
        assert_ne!(revision, Some(before));
        assert_eq!(revision, source.revision().await.ok());
        assert_eq!(files.unwrap()["a"], Ok("two".to_owned()));
        rules.fail("the disk is on fire");
        assert_eq!(source.read().await.files.unwrap_err().to_string(), "the disk is on fire");
    }
}

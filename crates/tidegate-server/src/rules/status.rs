//! What is told about the rules: which version is in force since when, and what came of the last readings.

use std::sync::{Arc, Mutex, PoisonError};

use tidegate_core::Timestamp;

use super::reload::{FileReport, FileState, Outcome};
use super::switches::Switches;

/// What came of all readings so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct RulesStatus {
    /// The version in force.
    pub version: u64,
    /// A hash of the texts in force, the same on every node with the same files.
    pub hash: String,
    /// Since when it is.
    pub installed_at: Timestamp,
    /// When all files were last in force as they were written.
    pub succeeded_at: Timestamp,
    /// The last reading, if there was one.
    pub last: Option<Attempt>,
    /// How many readings came to what.
    pub counts: [(&'static str, u64); 4],
    /// The files of the last reading that could list them.
    pub files: Vec<FileReport>,
}

/// A reading.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    /// When it was.
    pub at: Timestamp,
    /// Why it was made.
    pub why: &'static str,
    /// What came of it.
    pub outcome: Outcome,
    /// Why it is no success.
    pub error: Option<String>,
}

/// The status, for those who write it and those who read it.
#[derive(Debug)]
pub(crate) struct Status {
    rules: Mutex<RulesStatus>,
    switches: Mutex<Arc<Switches>>,
}

impl Default for Status {
    fn default() -> Self {
        let outcomes = [Outcome::Installed, Outcome::Unchanged, Outcome::Partial, Outcome::Failed];
        let counts = outcomes.map(|outcome| (outcome.word(), 0));
        let rules = Mutex::new(RulesStatus { counts, ..RulesStatus::default() });
        Self { rules, switches: Mutex::default() }
    }
}

impl Status {
    /// As it is now.
    pub(crate) fn get(&self) -> RulesStatus {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The switches that are set now.
    pub(crate) fn switches(&self) -> Arc<Switches> {
        Arc::clone(&self.switches.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes note of switches that are in force.
    pub(crate) fn switched(&self, switches: &Switches) {
        *self.switches.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(switches.clone());
    }

    /// Takes note of a version that came into force.
    pub(crate) fn installed(&self, version: u64, hash: String, at: Timestamp) {
        let mut status = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        (status.version, status.hash, status.installed_at) = (version, hash, at);
    }

    /// Takes note of a reading.
    pub(crate) fn attempted(&self, attempt: Attempt, files: Option<Vec<FileReport>>) {
        let mut status = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        if attempt.outcome.is_success() {
            status.succeeded_at = attempt.at;
        }
        let word = attempt.outcome.word();
        if let Some((_, count)) = status.counts.iter_mut().find(|(counted, _)| *counted == word) {
            *count += 1;
        }
        if let Some(files) = files {
            status.files = files;
        }
        status.last = Some(attempt);
    }
}

impl RulesStatus {
    /// How many files are in that state.
    pub(crate) fn count(&self, state: FileState) -> usize {
        self.files.iter().filter(|file| file.state == state).count()
    }
}

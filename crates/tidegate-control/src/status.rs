//! What is known about the rules: the version in force, the files, how reloads ended, the switches.
//!
//! In: notes of the loader. Out: copies for the admin API, metrics and other nodes.

use std::sync::{Arc, Mutex, PoisonError};

use tidegate_core::Timestamp;

use crate::reload::{FileReport, FileState, ReloadOutcome};
use crate::switches::Switches;

/// The rules in force, and how the reloads so far ended.
#[derive(Clone, Debug, Default)]
pub struct RulesStatus {
    /// The version in force.
    pub version: u64,
    /// A hash of the texts in force, the same on every node with the same texts.
    pub hash: String,
    /// When that version was installed.
    pub installed_at: Timestamp,
    /// When all files were last in force as written.
    pub succeeded_at: Timestamp,
    /// The last reload, if there was one.
    pub last: Option<ReloadAttempt>,
    /// How many reloads ended how.
    pub counts: [(&'static str, u64); 4],
    /// The files of the last reload that could list them.
    pub files: Vec<FileReport>,
}

/// One reload.
#[derive(Clone, Debug)]
pub struct ReloadAttempt {
    /// When it was made.
    pub at: Timestamp,
    /// What caused it, such as `change` or `signal`.
    pub why: &'static str,
    /// How it ended.
    pub outcome: ReloadOutcome,
    /// The first error, if it was no success.
    pub error: Option<String>,
}

/// The status of rules and switches, shared by the loader with its readers.
#[derive(Debug)]
pub struct ControlStatus {
    rules: Mutex<RulesStatus>,
    switches: Mutex<Arc<Switches>>,
}

impl Default for ControlStatus {
    fn default() -> Self {
        let counts = ReloadOutcome::ALL.map(|outcome| (outcome.word(), 0));
        let rules = Mutex::new(RulesStatus { counts, ..RulesStatus::default() });
        Self { rules, switches: Mutex::default() }
    }
}

impl ControlStatus {
    /// The rules as they are now.
    pub fn rules(&self) -> RulesStatus {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The switches that are set now.
    pub fn switches(&self) -> Arc<Switches> {
        Arc::clone(&self.switches.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Publishes the switches in force.
    pub(crate) fn set_switches(&self, switches: &Switches) {
        *self.switches.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(switches.clone());
    }

    /// Notes an installed version.
    pub(crate) fn note_installed(&self, version: u64, hash: String, at: Timestamp) {
        let mut status = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        (status.version, status.hash, status.installed_at) = (version, hash, at);
    }

    /// Notes a reload; without files, those of the reload before stay.
    pub(crate) fn note_attempt(&self, attempt: ReloadAttempt, files: Option<Vec<FileReport>>) {
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
    /// How many files are in this state.
    pub fn count(&self, state: FileState) -> usize {
        self.files.iter().filter(|file| file.state == state).count()
    }
}

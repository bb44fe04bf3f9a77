//! The trait for a source of rules, and two sources: [`FileSource`] and [`MemorySource`].
//!
//! In: whatever a source reads. Out: texts of rule files by name, with the revision that they
//! belong to.

mod file;
mod memory;

use std::collections::BTreeMap;
use std::error::Error;
use std::time::Duration;

pub use file::{FileSource, read_files};
pub use memory::{MemoryRules, MemorySource};

/// The texts of rule files by name; for a file that cannot be read, the reason.
///
/// A file is whatever its source reads as one document: a file on disk, a body, a row.
pub type RuleFiles = BTreeMap<String, Result<String, String>>;

/// Where rules come from.
///
/// The watcher calls [`revision`](Self::revision) once per [`poll_interval`](Self::poll_interval)
/// and after each [`changed`](Self::changed). It calls [`read`](Self::read) for each reload that
/// was asked for, and if the revision differs from the last one read.
///
/// # Contract
/// - Every future is cancel-safe: one that is dropped leaves the source as usable as before.
/// - A source bounds its own waits and the size of what it reads. Switches are served while a
///   source is slow; reloads are not.
/// - `read` returns texts and a revision that belong together: if the rules change during the read,
///   either the change is part of the texts, or the next `revision` differs from the one returned.
///
/// # How remote sources fit
/// - HTTP: `revision` is a conditional GET; `304` keeps the known ETag and `200` is cached for
///   `read`; `read` takes ETag and body of one response; `changed` is pending for ever.
/// - PostgreSQL: `revision` selects a version number; `read` takes it and the texts in one
///   transaction; `changed` waits for a `NOTIFY` on a connection that listens.
pub trait RuleSource: Send + 'static {
    /// Identifies one state of the rules. Two equal revisions have equal texts.
    type Revision: PartialEq + Send;

    /// The name of the source in errors: a path or an address, without credentials.
    fn name(&self) -> String;

    /// How often the watcher asks for the revision.
    fn poll_interval(&self) -> Duration;

    /// The revision of the rules as they are now. It is asked for often and should be cheap.
    fn revision(&mut self) -> impl Future<Output = Result<Self::Revision, ReadError>> + Send;

    /// Reads all rules.
    fn read(&mut self) -> impl Future<Output = SourceReading<Self::Revision>> + Send;

    /// Reads all rules for the first time, while nothing is in force yet. A source whose
    /// [`read`](Self::read) waits until changes have settled need not wait here.
    fn read_first(&mut self) -> impl Future<Output = SourceReading<Self::Revision>> + Send {
        self.read()
    }

    /// Returns when the rules may have changed: a hint, which may come without a change, or never.
    fn changed(&mut self) -> impl Future<Output = ()> + Send;
}

/// The result of one read.
#[derive(Debug)]
pub struct SourceReading<R> {
    /// The revision that was read; `None` makes the watcher read again at its next look. A failed
    /// read that should only be repeated after a change names the revision that failed.
    pub revision: Option<R>,
    /// The texts, or why they could not be read.
    pub files: Result<RuleFiles, ReadError>,
}

/// Why a source could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file system, the server or the database refused or did not answer.
    #[error("{0}")]
    Failed(#[source] Box<dyn Error + Send + Sync>),
    /// The code that reads panicked. The message of the panic is dropped: it may quote a rule file.
    #[error("reading the rules broke, which is a fault of Tidegate")]
    Panicked,
}

impl ReadError {
    /// A read that failed for this reason.
    pub fn failed(reason: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Failed(reason.into())
    }
}

impl<R> SourceReading<R> {
    /// A failed read, to be repeated at the next look.
    pub fn failed(error: ReadError) -> Self {
        Self { revision: None, files: Err(error) }
    }
}

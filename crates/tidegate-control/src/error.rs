//! Why rules could not be loaded or read again.

use crate::source::ReadError;

/// Why rules could not be loaded or read again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The source could not be read at the start.
    #[error("cannot read the rules {source_name}: {error}")]
    Unreadable {
        /// The name of the source.
        source_name: String,
        /// Why.
        #[source]
        error: ReadError,
    },
    /// The rules have errors; the text holds every diagnostic, with places.
    #[error("{rendered}")]
    Invalid {
        /// As a compiler prints it.
        rendered: String,
    },
    /// Too many requests wait, or the watcher is gone.
    #[error("the rules are being read already; try again")]
    Busy,
}

//! Why files could not be read.

use std::io;

/// Why files could not be read.
#[derive(Debug)]
pub(crate) enum Unread {
    /// The system said no.
    Failed(io::Error),
    /// Reading them broke. What was said then is let go: it may hold what stands in a file.
    Broke,
}

impl From<io::Error> for Unread {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

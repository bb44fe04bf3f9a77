//! What is allowed and was probably not meant.

use crate::compile::File;
use crate::snapshot::Snapshot;

/// Adds warnings to the files.
pub(crate) fn warn(_snapshot: &Snapshot, _files: &mut [File]) {}

//! What went wrong with one call to one server, before the server's name is put to it.

use crate::{CallError, Fault};

/// A fault, and whether the script may have run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Trouble {
    pub(crate) fault: Fault,
    pub(crate) may_have_run: bool,
}

impl Trouble {
    /// Nothing was sent.
    pub(crate) const fn before_sending(fault: Fault) -> Self {
        Self { fault, may_have_run: false }
    }

    /// It was sent, and nobody knows.
    pub(crate) const fn after_sending(fault: Fault) -> Self {
        Self { fault, may_have_run: true }
    }

    /// The same, with the server's name.
    pub(crate) fn at(self, shard: &str) -> CallError {
        CallError { shard: shard.to_owned(), fault: self.fault, may_have_run: self.may_have_run }
    }
}

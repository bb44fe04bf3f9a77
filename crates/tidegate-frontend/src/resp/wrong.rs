//! What is said of a command that cannot be done.

use std::fmt;

use super::table::Entry;
use tidegate_wire::resp::Replies;
use tidegate_wire::resp::Shown;

/// A code in capitals that programs look at, and words for people. Of the command's own words it repeats its name at most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    code: &'static str,
    words: String,
}

impl Wrong {
    /// With the code of most errors.
    pub(super) fn new(words: impl Into<String>) -> Self {
        Self { code: "ERR", words: words.into() }
    }

    pub(super) fn with_code(code: &'static str, words: impl Into<String>) -> Self {
        Self { code, words: words.into() }
    }

    pub(super) fn unknown(name: &[u8]) -> Self {
        Self::new(format!("unknown command {}", Shown(name)))
    }

    pub(super) fn unknown_part(entry: &Entry, part: &[u8]) -> Self {
        Self::new(format!("unknown subcommand {} of '{}'", Shown(part), entry.name))
    }

    pub(super) fn count(entry: &Entry) -> Self {
        Self::new(format!("wrong number of arguments for '{}' command; write {}", entry.name, entry.usage))
    }

    pub(super) fn usage(entry: &Entry) -> Self {
        Self::new(format!("syntax error; write {}", entry.usage))
    }

    pub(super) fn write(&self, replies: &mut Replies) {
        replies.error(self.code, self);
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

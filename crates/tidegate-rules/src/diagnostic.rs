//! What is wrong with a text: where, why, and what to write instead.

mod text;

use crate::secrets;
use crate::source::{Source, Span};

pub use text::render;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The rules cannot be used.
    Error,
    /// They can, but probably do not do what was meant.
    Warning,
}

/// One remark on one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// A name that stays the same when wording changes: for searches, and for tools.
    pub code: &'static str,
    /// What is wrong, in one sentence.
    pub message: String,
    /// Where.
    pub span: Span,
    /// A few words at the place itself.
    pub label: Option<String>,
    /// What to do about it.
    pub help: Option<String>,
}

/// Everything that was found in one text: all of it, not the first.
#[derive(Clone, Debug, Default)]
pub struct Diagnostics {
    found: Vec<Diagnostic>,
    left_out: usize,
}

/// The codes of all warnings: what `allow` can name.
pub const WARNINGS: [&str; 26] = [
    "absent-key",
    "absent-tenant",
    "bucket-on-login",
    "capture-shadows",
    "duplicate-by",
    "duplicate-key",
    "expired",
    "forgeable",
    "literal-not",
    "literal-star",
    "never-binds",
    "never-passes",
    "no-effect",
    "partial-capture",
    "path-colon",
    "path-query",
    "path-regex",
    "path-scheme",
    "path-slash",
    "path-star",
    "prefix-star",
    "shared-address",
    "tier-match",
    "too-many-limits",
    "unknown-attribute",
    "unreachable",
];

/// After these a text was not read on: what stands where in it is not known.
const UNPARSED: [&str; 6] = ["yaml", "key", "alias", "too-deep", "too-many-values", "second-document"];

/// Beyond this many the rest is only counted.
const MOST: usize = 200;

impl Diagnostic {
    /// Something that makes the rules unusable.
    pub fn error(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self { severity: Severity::Error, code, message: message.into(), span, label: None, help: None }
    }

    /// Something that was probably not meant.
    pub fn warning(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, span, message) }
    }

    /// A few words at the place itself.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// What to do about it.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Names the nearest of the right words, if one is near.
    #[must_use]
    pub fn did_you_mean<'a>(self, written: &str, right: impl IntoIterator<Item = &'a str>) -> Self {
        match nearest(written, right) {
            Some(word) => self.label(format!("did you mean `{word}`?")),
            None => self,
        }
    }
}

impl Diagnostics {
    /// Adds one.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if self.found.len() < MOST {
            self.found.push(diagnostic);
        } else {
            self.left_out += 1;
        }
    }

    /// Drops the warnings that a test picks; errors stay.
    pub(crate) fn drop_warnings(&mut self, is_allowed: impl Fn(&Diagnostic) -> bool) {
        self.found.retain(|one| one.severity == Severity::Error || !is_allowed(one));
    }

    /// Adds several.
    pub(crate) fn extend(&mut self, diagnostics: impl IntoIterator<Item = Diagnostic>) {
        diagnostics.into_iter().for_each(|diagnostic| self.push(diagnostic));
    }

    /// All that were found, in the order of their places.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        let mut sorted: Vec<&Diagnostic> = self.found.iter().collect();
        sorted.sort_by_key(|diagnostic| (diagnostic.span.start, diagnostic.severity));
        sorted.into_iter()
    }

    /// Whether one of them makes the rules unusable.
    pub fn has_errors(&self) -> bool {
        self.found.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// Whether a stretch of the text has an error in it.
    pub(crate) fn has_errors_in(&self, stretch: Span) -> bool {
        let within = |span: Span| (stretch.start..stretch.end.max(stretch.start + 1)).contains(&span.start);
        self.found.iter().any(|one| one.severity == Severity::Error && within(one.span))
    }

    /// Whether the text could not be read to its end.
    pub(crate) fn is_unparsed(&self) -> bool {
        self.found.iter().any(|diagnostic| UNPARSED.contains(&diagnostic.code))
    }

    /// How many of a kind were found, those beyond the kept ones left out.
    pub fn count(&self, severity: Severity) -> usize {
        self.found.iter().filter(|diagnostic| diagnostic.severity == severity).count()
    }

    /// How many were found.
    pub fn len(&self) -> usize {
        self.found.len() + self.left_out
    }

    /// Whether there is nothing to say.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// How many were found beyond those that are kept.
    pub fn left_out(&self) -> usize {
        self.left_out
    }

    /// All of them as text, as a compiler prints them. Of a text that is not YAML no word is shown that may be a secret.
    pub fn render(&self, source: &Source) -> String {
        let hidden = self.is_unparsed().then(|| secrets::unparsed(source)).flatten();
        let source = hidden.as_ref().unwrap_or(source);
        let mut text: String = self.iter().map(|diagnostic| render(diagnostic, source) + "\n").collect();
        if self.left_out > 0 {
            text.push_str(&["... and ", &self.left_out.to_string(), " more\n"].concat());
        }
        text
    }
}

/// The right word that is nearest to a written one, if it is near enough to have been meant.
pub fn nearest<'a>(written: &str, right: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let distance = |word: &str| strsim::damerau_levenshtein(&written.to_lowercase(), &word.to_lowercase());
    let (word, distance) =
        right.into_iter().map(|word| (word, distance(word))).min_by_key(|(_, distance)| *distance)?;
    (distance <= (written.chars().count().max(3) / 3).max(1)).then_some(word)
}

#[cfg(test)]
mod tests;

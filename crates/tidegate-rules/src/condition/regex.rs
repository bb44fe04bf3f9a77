//! Regular expressions that must match the whole of a value.

use std::collections::HashSet;

use regex::{Error, Regex, RegexBuilder};
use regex_syntax::hir::{Hir, HirKind};

/// The most bytes that one compiled expression may take.
const MOST_BYTES: usize = 1 << 20;

/// A regular expression that matches whole values only: `a|b` matches `a`, not `xa`.
///
/// Matching takes time in proportion to the value's length, whatever the expression; its size when compiled is limited.
///
/// ```
/// use tidegate_rules::condition::whole_value_regex;
/// let version = whole_value_regex("/v[0-9]+|/latest")?;
/// assert!(version.is_match("/v12") && !version.is_match("/v12/x") && !version.is_match("x/latest"));
/// assert!(whole_value_regex("(a").is_err());
/// # Ok::<(), String>(())
/// ```
pub fn whole_value_regex(pattern: &str) -> Result<Regex, String> {
    // Alone first: `a)(b` would be taken for sound between parentheses.
    build(pattern).map_err(|error| said(&error))?;
    // A pattern that ends in a comment (only with the flag x) would swallow the parenthesis: a new line ends it.
    build(&format!("^(?:{pattern})$"))
        .or_else(|_| build(&format!("^(?:{pattern}\n)$")))
        .map_err(|error| said(&error))
}

/// The named groups of a pattern that take part in each of its matches.
pub(crate) fn groups_of_every_match(pattern: &str) -> HashSet<String> {
    regex_syntax::parse(pattern).map(|hir| groups(&hir)).unwrap_or_default()
}

fn groups(hir: &Hir) -> HashSet<String> {
    match hir.kind() {
        HirKind::Capture(group) => {
            let mut found = groups(&group.sub);
            found.extend(group.name.as_deref().map(str::to_owned));
            found
        }
        HirKind::Concat(parts) => parts.iter().flat_map(groups).collect(),
        HirKind::Repetition(repeated) if repeated.min > 0 => groups(&repeated.sub),
        HirKind::Alternation(branches) => {
            let all = branches.iter().map(groups);
            all.reduce(|one, other| one.intersection(&other).cloned().collect()).unwrap_or_default()
        }
        _ => HashSet::new(),
    }
}

fn build(pattern: &str) -> Result<Regex, Error> {
    RegexBuilder::new(pattern).size_limit(MOST_BYTES).build()
}

fn said(error: &Error) -> String {
    match error {
        Error::CompiledTooBig(_) => {
            "this regular expression is too big: repeat less, or write [a-z0-9_] in place of \\w".to_owned()
        }
        error => {
            let text = error.to_string();
            let last = text.lines().rev().find_map(|line| line.trim().strip_prefix("error: "));
            format!("this is no regular expression: {}", last.unwrap_or("it cannot be read"))
        }
    }
}

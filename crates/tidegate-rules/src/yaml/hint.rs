//! What to do about text that is not YAML: the parser says what it met, and people make the same few mistakes.

use crate::diagnostic::Diagnostic;
use crate::source::{Source, Span};

/// An error of the parser, with a hint where the cause is likely, and the caret under the cause.
pub(super) fn diagnose(source: &Source, at: usize, info: &str) -> Diagnostic {
    let here = Span::new(at, at);
    let said = |span: Span, message: &str, help: &str| {
        Diagnostic::error("yaml", span, format!("this is not YAML: {message}")).help(help)
    };
    if info.contains("tab")
        && let Some(tab) = tab(source, at)
    {
        return said(tab, "a tab stands where spaces are needed", "indent with spaces");
    }
    if (info.contains("mapping values") || info.contains("illegal placement of ':'"))
        && let Some(colon) = colon_without_space(source, at)
    {
        return said(colon, "a space is missing after the colon", "write `key: value`");
    }
    match HINTS.iter().find(|(part, _)| info.contains(part)) {
        Some((_, help)) => said(here, info, help),
        None => Diagnostic::error("yaml", here, format!("this is not YAML: {info}")),
    }
}

const HINTS: [(&str, &str); 14] = [
    (
        "mapping values",
        "indent the keys of one map alike, and put text with a colon and a space in it between quotes",
    ),
    ("illegal placement of ':'", "close the bracket or the quote that is open above"),
    ("multiline quoted", "close the quote that is open on the line above"),
    ("unexpected end", "close the quote or the bracket that is open"),
    ("unclosed bracket", "close it"),
    ("mismatched bracket", "close the inner bracket before the outer one"),
    ("expected '-'", "indent the keys of one item alike: the line stands in no column that is used above"),
    ("block sequence entries", "begin the list on a line of its own"),
    ("unknown anchor", "put text that begins with * between quotes, such as \"**/x\""),
    ("unexpected character", "put text that begins with this character between quotes"),
    (
        "expected ',' or '}'",
        "put text with a brace, a comma or a colon in it between quotes, such as \"/v1/{id}\"",
    ),
    (
        "trailing content after",
        "write '' for a quote within single quotes, or put double quotes around the text",
    ),
    ("expected ':'", "write a colon and a space behind the key"),
    ("unknown escape", "use single quotes: in double quotes a backslash begins an escape"),
];

/// The tab at or next to a place.
fn tab(source: &Source, at: usize) -> Option<Span> {
    let text = source.text().as_bytes();
    let found = (at.saturating_sub(1)..text.len().min(at + 80)).find(|place| text[*place] == b'\t')?;
    Some(Span::new(found, found + 1))
}

/// `name:a` on the line of a place or on the last one before it that has text.
fn colon_without_space(source: &Source, at: usize) -> Option<Span> {
    let before = source.text().get(..at)?;
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    let line = source.text()[start..].lines().next().unwrap_or("");
    let above = before[..start].trim_end();
    let above_start = above.rfind('\n').map_or(0, |end| end + 1);
    [(above_start, &above[above_start..]), (start, line)].into_iter().find_map(|(start, line)| {
        let colon = start + tight_colon(line)?;
        Some(Span::new(colon, colon + 1))
    })
}

/// A colon right behind a key at the beginning of a line, with text right behind it.
fn tight_colon(line: &str) -> Option<usize> {
    let key = line.trim_start().trim_start_matches("- ").trim_start();
    let start = line.len() - key.len();
    let (name, value) = key.split_once(':')?;
    let is_name =
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
    let is_tight = value.starts_with(|first: char| !first.is_whitespace());
    (is_name && is_tight && !value.starts_with("//")).then_some(start + name.len())
}

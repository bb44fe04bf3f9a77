//! A diagnostic as a compiler prints it: plain text, meaning without colour.

use std::fmt::Write as _;

use super::{Diagnostic, Severity};
use crate::source::{Place, Source};

/// Longer lines are cut around the place.
const WIDEST: usize = 160;

/// The message, the place, the line with a caret under it, and what to do.
///
/// ```
/// use tidegate_rules::{Diagnostic, Source, Span, diagnostic::render};
/// let source = Source::new("api.yaml", "limts: 10/s\n");
/// let unknown = Diagnostic::error("unknown-key", Span::new(0, 5), "unknown key `limts`")
///     .did_you_mean("limts", ["limit", "limits", "name"]);
/// assert_eq!(render(&unknown, &source), "\
/// error[unknown-key]: unknown key `limts`
///  --> api.yaml:1:1
///   |
/// 1 | limts: 10/s
///   | ^^^^^ did you mean `limits`?
/// ");
/// ```
pub fn render(diagnostic: &Diagnostic, source: &Source) -> String {
    let Diagnostic { severity, code, message, span, label, help } = diagnostic;
    let word = match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let Place { line, column } = source.place(span.start);
    let margin = " ".repeat(line.to_string().len());
    let (shown, indent, carets) = excerpt(diagnostic, source);
    let label = label.as_ref().map(|label| format!(" {label}")).unwrap_or_default();

    let mut out = format!("{word}[{code}]: {message}\n{margin}--> {}:{line}:{column}\n", source.name());
    let mut print = |text: String| writeln!(out, "{}", text.trim_end()).expect("a string can always grow");
    print(format!("{margin} |"));
    print(format!("{line} | {shown}"));
    print(format!("{margin} | {}{}{label}", " ".repeat(indent), "^".repeat(carets)));
    if let Some(help) = help {
        print(format!("{margin} = help: {help}"));
    }
    out
}

/// The line to show, and how far to indent how many carets below it.
fn excerpt(diagnostic: &Diagnostic, source: &Source) -> (String, usize, usize) {
    let start = source.place(diagnostic.span.start);
    let end = source.place(diagnostic.span.end);
    // A tab is one column here and in the line that is shown.
    let line: Vec<char> =
        source.line(start.line).chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let first = (start.column - 1).min(line.len());
    let last = if end.line == start.line { end.column - 1 } else { line.len() };
    let skipped = if line.len() <= WIDEST { 0 } else { first.saturating_sub(WIDEST / 2) };
    let shown: String = line[skipped..].iter().take(WIDEST).collect();
    let carets = last.min(skipped + WIDEST).saturating_sub(first).max(1);
    (shown, first - skipped, carets)
}

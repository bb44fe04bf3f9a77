//! Paths that match nothing, or less than they look like: spellings of other products, and forms that a path never has.

use crate::diagnostic::Diagnostic;
use crate::source::Span;

/// How the text of a path is compared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Glob,
    Exact,
    Prefix,
}

/// The first warning about a path that requests cannot have.
pub(super) fn odd(text: &str, at: Span, form: Form) -> Option<Diagnostic> {
    scheme(text, at)
        .or_else(|| regex(text, at, form))
        .or_else(|| query(text, at))
        .or_else(|| colon(text, at))
        .or_else(|| prefix(text, at, form))
        .or_else(|| slash(text, at, form))
        .or_else(|| one_segment(text, at, form))
}

fn warn(code: &'static str, at: Span, message: String, help: String) -> Diagnostic {
    Diagnostic::warning(code, at, message).help(help)
}

fn scheme(text: &str, at: Span) -> Option<Diagnostic> {
    let (_, rest) = text.split_once("://")?;
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let help = format!("write {{ host: {host}, path: {} }}", if path.is_empty() { "/" } else { path });
    Some(warn("path-scheme", at, format!("`{text}` is an address: a path has no scheme and no host"), help))
}

fn regex(text: &str, at: Span, form: Form) -> Option<Diagnostic> {
    let signs = [".*", ".+", "\\", "[", "(?", "|"];
    let is_regex =
        text.starts_with('^') || text.ends_with('$') || signs.iter().any(|sign| text.contains(sign));
    let help = if form == Form::Prefix {
        format!("write path: {{ regex: \"{text}.*\" }}")
    } else {
        format!("write path: {{ regex: \"{text}\" }}")
    };
    let message = || format!("`{text}` looks like a regular expression, and means itself here");
    is_regex.then(|| warn("path-regex", at, message(), help.replace('\\', "\\\\")))
}

fn query(text: &str, at: Span) -> Option<Diagnostic> {
    let (path, query) = text.split_once('?')?;
    let (name, value) = query.split('&').next()?.split_once('=').unwrap_or((query, "1"));
    let help = format!("write {{ path: {path}, query: {{ {name}: \"{value}\" }} }}");
    Some(warn(
        "path-query",
        at,
        format!("`{text}` never matches: paths are compared without their query"),
        help,
    ))
}

fn colon(text: &str, at: Span) -> Option<Diagnostic> {
    let is_name = |name: &str| name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    let (mut start, mut found) = (0, None);
    for segment in text.split('/') {
        if segment.strip_prefix(':').is_some_and(is_name) {
            found = Some(segment);
            break;
        }
        start += segment.len() + 1;
    }
    let segment = found?;
    let name = segment.trim_start_matches(':').replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    let at = if at.end - at.start == text.len() { at.part(start..start + segment.len()) } else { at };
    let help = format!("write {}{{{name}}}{}", &text[..start], &text[start + segment.len()..]);
    Some(warn(
        "path-colon",
        at,
        format!("`{segment}` means itself: a captured segment is `{{{name}}}`"),
        help,
    ))
}

fn prefix(text: &str, at: Span, form: Form) -> Option<Diagnostic> {
    let is_glob = form == Form::Prefix && text.contains(['*', '{']);
    let message = || format!("a prefix takes `{text}` literally");
    is_glob.then(|| warn("prefix-star", at, message(), format!("write path: \"{text}\", without `prefix`")))
}

fn slash(text: &str, at: Span, form: Form) -> Option<Diagnostic> {
    let is_open = form == Form::Glob && text.starts_with(['*', '{']);
    let help = || format!("write /{text}");
    let message = || format!("`{text}` never matches: every path begins with a slash");
    (!text.starts_with('/') && !is_open).then(|| warn("path-slash", at, message(), help()))
}

/// `/api/*` is one segment, and is often meant for all below.
fn one_segment(text: &str, at: Span, form: Form) -> Option<Diagnostic> {
    let above = text.strip_suffix("/*").filter(|_| form == Form::Glob)?;
    let help = format!("write {above}/** for everything below, or {above}/{{id}} if one segment is meant");
    Some(warn("path-star", at, format!("`{text}` does not match {above}/x/y: `*` is one segment"), help))
}

//! Literal text that every match of a regular expression contains, as far as it is easily seen.

use regex_syntax::hir::{Class, ClassUnicodeRange, Hir, HirKind, Look};

/// The most texts of which one must be there; beyond that they select too little.
const MOST_PHRASES: usize = 16;

/// What must be in a value for an expression to match it.
pub(super) struct Literals {
    /// The value begins with this.
    pub(super) prefix: Option<Box<str>>,
    /// The value contains at least one of these, in whatever case: they are in lower case.
    pub(super) phrases: Option<Vec<Box<str>>>,
}

/// The literals of an expression that is anchored at both ends.
pub(super) fn of(pattern: &str) -> Option<Literals> {
    let hir = regex_syntax::parse(pattern).ok()?;
    Some(Literals { prefix: prefix(&hir), phrases: phrases(&hir) })
}

/// The text right after the anchor.
fn prefix(hir: &Hir) -> Option<Box<str>> {
    let HirKind::Concat(parts) = hir.kind() else { return None };
    let [anchor, first, ..] = parts.as_slice() else { return None };
    match (anchor.kind(), first.kind()) {
        (HirKind::Look(Look::Start), HirKind::Literal(literal)) => text(&literal.0),
        _ => None,
    }
}

/// Texts of which every match contains at least one, in lower case and in whatever case; of several such sets the one
/// whose shortest text is the longest.
fn phrases(hir: &Hir) -> Option<Vec<Box<str>>> {
    match hir.kind() {
        HirKind::Capture(capture) => phrases(&capture.sub),
        HirKind::Repetition(repetition) if repetition.min > 0 => phrases(&repetition.sub),
        HirKind::Concat(parts) => in_a_row(parts),
        HirKind::Alternation(branches) => {
            let all: Vec<Vec<Box<str>>> = branches.iter().map(phrases).collect::<Option<_>>()?;
            let all = all.concat();
            (all.len() <= MOST_PHRASES).then_some(all)
        }
        _ => folded(hir).map(|text| vec![text]),
    }
}

/// The best of what the parts require, where parts that are literal text one after the other count as one.
fn in_a_row(parts: &[Hir]) -> Option<Vec<Box<str>>> {
    let mut sets = Vec::new();
    for run in parts.chunk_by(|one, next| folded(one).is_some() && folded(next).is_some()) {
        match run.iter().map(folded).collect::<Option<Vec<_>>>() {
            Some(texts) => sets.push(vec![texts.concat().into()]),
            None => sets.extend(run.iter().filter_map(phrases)),
        }
    }
    sets.into_iter().max_by_key(|texts| shortest(texts))
}

/// The lower case of a literal, or of a letter in both cases, as `(?i)` makes it. (Not of k and s, which have a third.)
fn folded(hir: &Hir) -> Option<Box<str>> {
    match hir.kind() {
        HirKind::Literal(literal) => text(&literal.0.to_ascii_lowercase()),
        HirKind::Class(Class::Unicode(class)) => {
            let [upper, lower] = class.ranges() else { return None };
            let letter = lower.start();
            let alone = |range: &ClassUnicodeRange, letter| (range.start(), range.end()) == (letter, letter);
            let both = alone(lower, letter) && alone(upper, letter.to_ascii_uppercase());
            (both && letter.is_ascii_lowercase()).then(|| letter.to_string().into())
        }
        _ => None,
    }
}

fn shortest(texts: &[Box<str>]) -> usize {
    texts.iter().map(|text| text.len()).min().unwrap_or(0)
}

/// Expressions may also be about bytes that are no text; values are always text.
fn text(bytes: &[u8]) -> Option<Box<str>> {
    std::str::from_utf8(bytes).ok().filter(|text| !text.is_empty()).map(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, prefix: Option<&str>, phrases: Option<&[&str]>) {
        let found = of(&format!("^(?:{pattern})$")).unwrap();
        assert_eq!(found.prefix.as_deref(), prefix, "prefix of {pattern}");
        let found = found.phrases.as_ref().map(|texts| texts.iter().map(|text| &**text).collect::<Vec<_>>());
        assert_eq!(found.as_deref(), phrases, "phrases of {pattern}");
    }

    #[test]
    fn finds_what_every_match_contains() {
        check("/api/v[0-9]+/orders", Some("/api/v"), Some(&["/orders"]));
        check("/api/.*", Some("/api/"), Some(&["/api/"]));
        check(".*(curl|wget)/[0-9.]+", None, Some(&["curl", "wget"]));
        check("(abc)+d?", None, Some(&["abc"]));
        check("(a|[bc]*)x", None, Some(&["x"]));
        check("(?i).*BOT.*", None, Some(&["bot"]));
        check("(?i)spider/1", None, Some(&["pider/1"]));
        check("/Api/[0-9]", Some("/Api/"), Some(&["/api/"]));
        check("[ab]cd[ef]", None, Some(&["cd"]));
    }

    #[test]
    fn finds_nothing_where_nothing_must_be() {
        check("[a-z]+", None, None);
        check("(abc)?", None, None);
        check("(?i)k", None, None);
        check("abc|[0-9]+", None, None);
        check("", None, None);
    }
}

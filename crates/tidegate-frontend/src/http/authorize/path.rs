//! Paths in one form, so that `//login`, `/x/../login` and `/%6cogin` do not lead around a rule on `/login`.
//!
//! Servers behind a proxy read paths more or less like this; where one goes further (a `%2F` that it takes for a `/`, or
//! names without case) rules have to say so.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::percent::octet;

/// The path of a target in its one form (RFC 3986, 6.2.2): without octets that need no encoding, repeated slashes or dots.
/// What follows it, a query, stays as it is.
pub(super) fn normal(target: &str) -> Cow<'_, str> {
    let end = target.find(['?', '#']).unwrap_or(target.len());
    let (path, rest) = target.split_at(end);
    if is_normal(path) {
        return target.into();
    }
    let mut whole = without_dots(&unescaped(path));
    whole.push_str(rest);
    whole.into()
}

/// Most are.
fn is_normal(path: &str) -> bool {
    let bytes = path.as_bytes();
    let odd = |pair: &[u8]| matches!(pair, b"//" | b"/.");
    !bytes.contains(&b'%') && !bytes.contains(&b'\\') && !bytes.windows(2).any(odd)
}

/// Octets that need no encoding as they are, all others in capitals. A `\` is a `/` to some servers.
fn unescaped(path: &str) -> String {
    let mut plain = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(character) = rest.chars().next() {
        let octet = octet(rest.as_bytes());
        match octet {
            Some(byte) if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => plain.push(byte.into()),
            Some(byte) => write!(plain, "%{byte:02X}").expect("a string takes everything"),
            None => plain.push(if character == '\\' { '/' } else { character }),
        }
        rest = &rest[if octet.is_some() { 3 } else { character.len_utf8() }..];
    }
    plain
}

/// Without `.` and empty segments, and without what `..` takes back.
fn without_dots(path: &str) -> String {
    let mut segments: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()),
            name => segments.push(name),
        }
    }
    let ends_open = ["/", "/.", "/.."].iter().any(|end| path.ends_with(end));
    let end = if ends_open && !segments.is_empty() { "/" } else { "" };
    format!("/{}{end}", segments.join("/"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_read_alike_is_written_alike() {
        for (written, meant) in [
            ("/", "/"),
            ("/login", "/login"),
            ("/login?next=//x/../y", "/login?next=//x/../y"),
            ("//login", "/login"),
            ("/./login", "/login"),
            ("/x/../login", "/login"),
            ("/x/..", "/"),
            ("/x/y/..", "/x/"),
            ("/../../login", "/login"),
            ("/%6cogin", "/login"),
            ("/%2e%2E/login", "/login"),
            ("/x\\..\\login", "/login"),
            ("/a%2fb%20c", "/a%2Fb%20c"),
            ("/a%zz%", "/a%zz%"),
            ("/v1/orders/", "/v1/orders/"),
            ("/v1//orders//", "/v1/orders/"),
            ("/.well-known/x", "/.well-known/x"),
            ("/é/%C3%A9#x//y", "/é/%C3%A9#x//y"),
            ("//", "/"),
            ("", ""),
        ] {
            assert_eq!(normal(written), meant, "{written}");
        }
    }

    proptest! {
        #[test]
        fn the_one_form_stays_as_it_is(path in "/[a-c./%2eE\\\\é-]{0,24}") {
            let once = normal(&path).into_owned();
            prop_assert!(once.starts_with('/') && !once.contains("//"), "{}", once);
            prop_assert!(!once.split('/').any(|segment| segment == "." || segment == ".."), "{}", once);
            prop_assert_eq!(normal(&once), once.as_str());
        }
    }
}

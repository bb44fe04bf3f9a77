//! The forwarding chain, hop by hop from the right.
//!
//! Splitting also goes from the right. What trusted proxies appended is well formed, and a quote that a client left
//! open on the left cannot swallow it. `X-Forwarded-For` has no quotes; there an entry with one is rubbish either way.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use http::header::{FORWARDED, HeaderMap, HeaderName};

use super::Source;

/// The most hops that are looked at.
pub(super) const MAX_HOPS: usize = 64;
/// The most bytes that are looked at, all header lines together.
pub(super) const MAX_BYTES: usize = 8 * 1024;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The addresses of the chain from right to left, up to its end or the first entry that is not an address.
pub(super) fn hops(headers: &HeaderMap, source: Source) -> impl Iterator<Item = IpAddr> {
    let header = match source {
        Source::XForwardedFor => X_FORWARDED_FOR,
        Source::Forwarded => FORWARDED,
    };
    elements(headers, header).take(MAX_HOPS).map_while(move |element| match source {
        Source::XForwardedFor => address(element),
        Source::Forwarded => forwarded_for(element),
    })
}

/// The elements of a list header, of all its lines, from right to left; empty ones do not count (RFC 9110, 5.6.1).
fn elements(headers: &HeaderMap, header: HeaderName) -> impl Iterator<Item = &[u8]> {
    let lines = headers.get_all(header).into_iter().rev().scan(MAX_BYTES, |left, line| {
        let line = line.as_bytes();
        let split = Split::tail(line, b',', *left)?;
        *left = left.saturating_sub(line.len() + 1);
        Some(split)
    });
    lines.flatten().map(<[u8]>::trim_ascii).filter(|element| !element.is_empty())
}

/// The address of one `Forwarded` element: that of its one `for` parameter. If any parameter is not what it should be, nobody knows
/// whether the element is one, or what a client wrote and what a proxy did.
fn forwarded_for(element: &[u8]) -> Option<IpAddr> {
    let mut node = None;
    for pair in Split::whole(element, b';').map(<[u8]>::trim_ascii).filter(|pair| !pair.is_empty()) {
        let equals = pair.iter().position(|byte| *byte == b'=')?;
        let (name, value) = (&pair[..equals], &pair[equals + 1..]);
        if !is_token(name) || !is_whole(value) {
            return None;
        }
        if name.eq_ignore_ascii_case(b"for") && node.replace(value).is_some() {
            return None;
        }
    }
    address(&unquoted(node?)?)
}

/// The address of a node: `192.0.2.7`, `192.0.2.7:80`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:80`.
fn address(node: &[u8]) -> Option<IpAddr> {
    let node = std::str::from_utf8(node).ok()?;
    if let Some(bracketed) = node.strip_prefix('[') {
        let (v6, rest) = bracketed.split_once(']')?;
        let rest_is_port = rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port);
        return v6.parse::<Ipv6Addr>().ok().filter(|_| rest_is_port).map(IpAddr::V6);
    }
    let plain = node.parse().ok();
    plain.or_else(|| {
        let (v4, port) = node.split_once(':')?;
        v4.parse::<Ipv4Addr>().ok().filter(|_| is_port(port)).map(IpAddr::V4)
    })
}

/// A number, or a name that hides it (RFC 7239, 6.2).
fn is_port(text: &str) -> bool {
    match text.strip_prefix('_') {
        Some(name) => {
            !name.is_empty()
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
        }
        None => text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok(),
    }
}

/// Whether it can be a name (RFC 9110, 5.6.2).
fn is_token(text: &[u8]) -> bool {
    text.iter().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte))
}

/// Whether all of its quotes belong together: there are none, or those around it, and others are escaped.
fn is_whole(value: &[u8]) -> bool {
    let Some(rest) = value.strip_prefix(b"\"") else { return !value.contains(&b'"') };
    let Some(inner) = rest.strip_suffix(b"\"") else { return false };
    let is_end = |at: usize| inner.get(at).is_none_or(|byte| *byte == b'"') && !is_escaped(&inner[..at]);
    (0..=inner.len()).find(|at| is_end(*at)) == Some(inner.len())
}

/// What a token or quoted string stands for (RFC 9110, 5.6.4).
fn unquoted(value: &[u8]) -> Option<Cow<'_, [u8]>> {
    let Some(rest) = value.strip_prefix(b"\"") else { return Some(value.into()) };
    let quoted = rest.strip_suffix(b"\"")?;
    if !quoted.contains(&b'\\') {
        return Some(quoted.into());
    }
    let mut plain = Vec::with_capacity(quoted.len());
    let mut bytes = quoted.iter().copied();
    while let Some(byte) = bytes.next() {
        plain.push(if byte == b'\\' { bytes.next()? } else { byte });
    }
    Some(plain.into())
}

/// The parts between separators, from right to left; separators in quoted strings do not count.
struct Split<'a> {
    rest: Option<&'a [u8]>,
    separator: u8,
    /// Whether the left end was cut off, so that the leftmost part is not whole and not given.
    cut: bool,
}

impl<'a> Split<'a> {
    const fn whole(text: &'a [u8], separator: u8) -> Self {
        Self { rest: Some(text), separator, cut: false }
    }

    /// Of a text of which only the last `most` bytes are looked at; nothing if that is none.
    fn tail(text: &'a [u8], separator: u8, most: usize) -> Option<Self> {
        let skipped = text.len().saturating_sub(most);
        (most > 0).then(|| Self { rest: Some(&text[skipped..]), separator, cut: skipped > 0 })
    }
}

impl<'a> Iterator for Split<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest.take()?;
        let Some(at) = last_unquoted(rest, self.separator) else { return (!self.cut).then_some(rest) };
        self.rest = Some(&rest[..at]);
        Some(&rest[at + 1..])
    }
}

fn last_unquoted(text: &[u8], separator: u8) -> Option<usize> {
    let mut in_quotes = false;
    for (at, byte) in text.iter().enumerate().rev() {
        match byte {
            b'"' if !(in_quotes && is_escaped(&text[..at])) => in_quotes = !in_quotes,
            byte if *byte == separator && !in_quotes => return Some(at),
            _ => {}
        }
    }
    None
}

/// Whether what follows `before` is escaped: by an odd number of backslashes, since two are one that is meant.
fn is_escaped(before: &[u8]) -> bool {
    before.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}

//! Header fields as they are written, one after another in one piece of memory: doors send them on as they are, so that a map
//! would be made in vain.

use http::header::{HeaderMap, HeaderName, HeaderValue};
use smallvec::SmallVec;

use super::list::List;
use super::names::{RATELIMIT, RATELIMIT_POLICY};
use crate::digits;

/// Room for what most answers say of a limit, and of all of them.
const ROOM_PER_LIMIT: usize = 64;
const ROOM: usize = 32;

/// Header fields in the order in which they were written, each of them once. Their values are printable ASCII.
#[derive(Clone, Default)]
pub struct HeaderLines {
    values: Vec<u8>,
    /// Each name, and where its value ends.
    names: SmallVec<[(&'static str, usize); 6]>,
}

impl HeaderLines {
    /// None yet, with room for what is said of so many limits.
    pub(super) fn about(limits: usize) -> Self {
        Self { values: Vec::with_capacity(ROOM + limits * ROOM_PER_LIMIT), names: SmallVec::new() }
    }

    /// The fields: their names in lower case, and their values.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.bytes().map(|(name, value)| (name, str::from_utf8(value).unwrap_or_default()))
    }

    /// The value of a field, by its name in lower case, if it is there.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// How many bytes their values have.
    pub fn size(&self) -> usize {
        self.values.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Puts them among others. The lists of draft-10 are appended to those that are there, all others take their places.
    pub fn put_into(&self, headers: &mut HeaderMap) {
        for (name, value) in self.bytes() {
            let Ok(value) = HeaderValue::from_bytes(value) else { continue };
            let key = HeaderName::from_static(name);
            if matches!(name, RATELIMIT_POLICY | RATELIMIT) {
                headers.append(key, value);
            } else {
                headers.insert(key, value);
            }
        }
    }

    /// The same as [`HeaderLines::iter`], as bytes.
    pub fn bytes(&self) -> impl Iterator<Item = (&'static str, &[u8])> {
        let mut start = 0;
        self.names.iter().map(move |(name, end)| {
            let value = &self.values[start..*end];
            start = *end;
            (*name, value)
        })
    }

    /// Adds a field whose value is a text. What cannot be sent is left out, and so is what says nothing.
    pub fn text(&mut self, name: &'static str, value: &str) {
        if is_printable(value) {
            self.add(name, |out| out.extend_from_slice(value.as_bytes()));
        }
    }

    /// The same for a number.
    pub fn number(&mut self, name: &'static str, number: u64) {
        self.add(name, |out| digits::write(out, number));
    }

    /// The same for a list, unless it has no members.
    pub(super) fn list(&mut self, name: &'static str, write: impl FnOnce(&mut List<'_>)) {
        self.add(name, |out| write(&mut List::new(out)));
    }

    fn add(&mut self, name: &'static str, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.values.len();
        write(&mut self.values);
        debug_assert!(
            self.values[start..].iter().copied().all(is_sendable),
            "what is sent as it is must be sendable"
        );
        debug_assert!(self.names.iter().all(|(known, _)| *known != name), "{name} comes once");
        if self.values.len() > start {
            self.names.push((name, self.values.len()));
        }
    }
}

impl std::fmt::Debug for HeaderLines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// Whether structured fields can hold it.
#[inline]
pub(super) fn is_printable(text: &str) -> bool {
    text.bytes().all(is_sendable)
}

const fn is_sendable(byte: u8) -> bool {
    matches!(byte, b' '..=b'~')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines() -> HeaderLines {
        let mut lines = HeaderLines::default();
        lines.list(RATELIMIT, |list| {
            list.string("a").number(b'r', 1);
        });
        lines.list(RATELIMIT_POLICY, |_| {});
        lines.text("content-type", "text/plain");
        lines.text("told", "b\nc");
        lines.number("retry-after", 70);
        lines
    }

    #[test]
    fn fields_are_read_as_they_were_written() {
        let lines = lines();
        let all: Vec<_> = lines.iter().collect();
        assert_eq!(all, [(RATELIMIT, r#""a";r=1"#), ("content-type", "text/plain"), ("retry-after", "70")]);
        assert_eq!(
            (lines.get("retry-after"), lines.get("told"), lines.is_empty()),
            (Some("70"), None, false)
        );
        assert!(HeaderLines::default().is_empty());
        assert_eq!(
            format!("{lines:?}"),
            r#"{"ratelimit": "\"a\";r=1", "content-type": "text/plain", "retry-after": "70"}"#
        );
    }

    #[test]
    fn lists_are_appended_and_others_replaced() {
        let mut headers = HeaderMap::new();
        for (name, value) in [(RATELIMIT, r#""b";r=2"#), ("retry-after", "1"), ("other", "x")] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        lines().put_into(&mut headers);
        let standing: Vec<_> = headers.get_all(RATELIMIT).iter().collect();
        assert_eq!(standing, [r#""b";r=2"#, r#""a";r=1"#]);
        assert_eq!(headers.len(), 5);
        assert_eq!(headers["retry-after"], "70");
        assert_eq!(headers["other"], "x");
    }
}

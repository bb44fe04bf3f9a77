//! Values that are not UTF-8, made into text: each invalid sequence becomes U+FFFD.

use std::sync::OnceLock;

/// Texts that were made, each in a place of its own, so that more can be added while the others are borrowed.
pub struct Texts {
    max_value_bytes: usize,
    first: OnceLock<Box<Made>>,
}

struct Made {
    text: String,
    next: OnceLock<Box<Made>>,
}

/// Values may be secret.
impl std::fmt::Debug for Texts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Texts").field("bytes", &self.bytes()).finish_non_exhaustive()
    }
}

impl Texts {
    /// Texts of values that may have so many bytes. Of a longer value only one byte more is kept, so that it is refused.
    pub const fn new(max_value_bytes: usize) -> Self {
        Self { max_value_bytes, first: OnceLock::new() }
    }

    pub(super) fn text<'t>(&'t self, value: &'t [u8]) -> &'t str {
        std::str::from_utf8(value).unwrap_or_else(|_| self.make(value))
    }

    #[cold]
    fn make(&self, value: &[u8]) -> &str {
        let value = &value[..value.len().min(self.max_value_bytes + 1)];
        let mut last = &self.first;
        while let Some(made) = last.get() {
            last = &made.next;
        }
        let made = || Box::new(Made { text: String::from_utf8_lossy(value).into(), next: OnceLock::new() });
        &last.get_or_init(made).text
    }

    /// Bytes of the texts that were made.
    pub fn bytes(&self) -> usize {
        let made = std::iter::successors(self.first.get(), |made| made.next.get());
        made.map(|made| made.text.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX_VALUE_BYTES: usize = 16_384;

    #[test]
    fn replaces_invalid_sequences_in_place() {
        let texts = Texts::new(MAX_VALUE_BYTES);
        assert_eq!((texts.text(b"k1"), texts.bytes()), ("k1", 0));
        let (one, other) = (texts.text(b"k\xff1"), texts.text(b"\xc3"));
        assert_eq!((one, other, texts.bytes()), ("k\u{fffd}1", "\u{fffd}", 8));
        let bytes = vec![0xFF; 2 * MAX_VALUE_BYTES];
        let long = texts.text(&bytes);
        assert!((MAX_VALUE_BYTES + 1..=3 * (MAX_VALUE_BYTES + 1)).contains(&long.len()), "{}", long.len());
    }
}

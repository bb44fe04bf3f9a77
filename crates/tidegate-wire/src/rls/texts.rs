//! Values that are no text, made into one as everywhere: what is not in UTF-8 is replaced by U+FFFD.

use std::sync::OnceLock;

use tidegate_engine::check::MAX_VALUE_BYTES;

/// Texts that were made, each in a place of its own, so that there can be more while the others are used.
#[derive(Debug, Default)]
pub(super) struct Texts(OnceLock<Box<(String, Texts)>>);

impl Texts {
    pub(super) fn text<'t>(&'t self, value: &'t [u8]) -> &'t str {
        std::str::from_utf8(value).unwrap_or_else(|_| self.keep(value))
    }

    #[cold]
    fn keep(&self, value: &[u8]) -> &str {
        // One that is longer than any may be is refused for that: no more of it is needed.
        let value = &value[..value.len().min(MAX_VALUE_BYTES + 1)];
        let mut last = self;
        while let Some(next) = last.0.get() {
            last = &next.1;
        }
        let (text, _) =
            &**last.0.get_or_init(|| Box::new((String::from_utf8_lossy(value).into(), Self::default())));
        text
    }

    /// Bytes of texts that were made.
    pub(super) fn bytes(&self) -> usize {
        let texts = std::iter::successors(self.0.get(), |next| next.1.0.get());
        texts.map(|next| next.0.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_becomes_one_and_stays_where_it_is() {
        let texts = Texts::default();
        assert_eq!((texts.text(b"k1"), texts.bytes()), ("k1", 0));
        let (one, other) = (texts.text(b"k\xff1"), texts.text(b"\xc3"));
        assert_eq!((one, other, texts.bytes()), ("k\u{fffd}1", "\u{fffd}", 8));
        let bytes = vec![0xFF; 2 * MAX_VALUE_BYTES];
        let long = texts.text(&bytes);
        assert!((MAX_VALUE_BYTES + 1..=3 * (MAX_VALUE_BYTES + 1)).contains(&long.len()), "{}", long.len());
    }
}

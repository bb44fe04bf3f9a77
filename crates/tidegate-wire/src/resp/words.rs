//! Words as they are meant: numbers, texts, and what may be shown of them.

use std::fmt;

/// How much of a word is shown.
const SHOWN: usize = 64;

/// A whole number, without a sign, spaces or anything else around it; `None` also if it is too large.
pub fn number(word: &[u8]) -> Option<u64> {
    if word.is_empty() || word.len() > 20 {
        return None;
    }
    let digit = |byte: u8| Some(byte.wrapping_sub(b'0')).filter(|digit| *digit <= 9).map(u64::from);
    // So many digits are below 2^64 whatever they are.
    let (head, tail) = word.split_at(word.len().min(19));
    let mut number = 0;
    for byte in head {
        number = number * 10 + digit(*byte)?;
    }
    tail.iter().try_fold(number, |number: u64, byte| number.checked_mul(10)?.checked_add(digit(*byte)?))
}

/// A word in an error: not all of it if it is long, and nothing that a terminal would obey.
pub struct Shown<'w>(pub &'w [u8]);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cut = self.0.len() > SHOWN;
        write!(f, "'{}{}'", self.0[..self.0.len().min(SHOWN)].escape_ascii(), if cut { "…" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_digits_and_nothing_else() {
        assert_eq!(number(b"0"), Some(0));
        assert_eq!(number(b"007"), Some(7));
        assert_eq!(number(b"18446744073709551615"), Some(u64::MAX));
        for word in
            ["", "-1", "+1", " 1", "1 ", "1.0", "1e3", "x", "18446744073709551616", "99999999999999999999"]
        {
            assert_eq!(number(word.as_bytes()), None, "{word}");
        }
    }

    #[test]
    fn what_is_shown_is_short_and_harmless() {
        assert_eq!(Shown(b"FOO").to_string(), "'FOO'");
        assert_eq!(Shown(b"a\r\n\x1b[2J\xff'").to_string(), r"'a\r\n\x1b[2J\xff\''");
        assert_eq!(Shown(&[b'x'; 99]).to_string(), format!("'{}…'", "x".repeat(64)));
    }
}

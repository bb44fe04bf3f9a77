//! Texts of at most 16 bytes as numbers: nearly all names, and most values that rules compare with.

/// The longest text that is short.
pub(crate) const MOST_BYTES: usize = 16;

/// A short text: together with its length, its ends make it up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Short {
    front: u64,
    back: u64,
    length: usize,
}

impl Short {
    /// No text at all: none is so long.
    pub(crate) const NONE: Self = Self { front: 0, back: 0, length: usize::MAX };

    /// `None` if it is not short.
    #[inline]
    pub(crate) fn new(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let length = bytes.len();
        let (front, back) = match length {
            4..=8 => (
                u32::from_le_bytes(*bytes.first_chunk()?).into(),
                u32::from_le_bytes(*bytes.last_chunk()?).into(),
            ),
            9..=MOST_BYTES => {
                (u64::from_le_bytes(*bytes.first_chunk()?), u64::from_le_bytes(*bytes.last_chunk()?))
            }
            2..4 => (
                u16::from_le_bytes(*bytes.first_chunk()?).into(),
                u16::from_le_bytes(*bytes.last_chunk()?).into(),
            ),
            0..2 => (bytes.first().copied().map_or(0, u64::from), 0),
            _ => return None,
        };
        Some(Self { front, back, length })
    }

    /// A number that few other texts have, in fewer steps: for texts that are there before others are chosen.
    #[inline]
    pub(crate) fn mixed(self) -> u64 {
        self.front ^ self.back.rotate_left(32) ^ self.length as u64
    }

    /// A number that hardly any other text has. Where texts are chosen by others, the keys must not be known to them.
    #[inline]
    pub(crate) fn hash(self, (one, other): (u64, u64)) -> u64 {
        let wide = u128::from(self.front ^ one) * u128::from(self.back ^ other ^ self.length as u64);
        let bytes = wide.to_le_bytes();
        let (low, high) = bytes.split_at(8);
        let half = |half: &[u8]| half.first_chunk().map_or(0, |half| u64::from_le_bytes(*half));
        half(low) ^ half(high)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn texts_are_told_apart(one in "[ab\\PC]{0,20}", other in "[ab\\PC]{0,20}") {
            let (short, other_short) = (Short::new(&one), Short::new(&other));
            prop_assert_eq!(short.is_some(), one.len() <= MOST_BYTES);
            if short.is_some() {
                prop_assert_eq!(short == other_short, one == other);
            }
        }
    }

    #[test]
    fn ends_that_are_alike_do_not_make_texts_alike() {
        let texts = [
            "",
            "a",
            "aa",
            "aaa",
            "aaaa",
            "aaaaa",
            "aaaaaaaa",
            "aaaaaaaaa",
            "aaaaaaaaaaaaaaaa",
            "aba",
            "aab",
        ];
        for (place, text) in texts.iter().enumerate() {
            assert!(texts[..place].iter().all(|other| Short::new(text) != Short::new(other)), "{text}");
        }
    }
}

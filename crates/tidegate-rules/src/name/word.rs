//! The shortest names as one number each.

use super::table::Spelling;

/// The longest name that is one number.
const MOST_BYTES: usize = 8;

/// A name: together with its length, the bytes of its ends make it up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word {
    ends: u64,
    length: usize,
}

impl Spelling for Word {
    const NONE: Self = Self { ends: 0, length: usize::MAX };

    #[inline]
    fn of(name: &str) -> Option<Self> {
        let bytes = name.as_bytes();
        let ends = match bytes.len() {
            4..=MOST_BYTES => {
                let (first, last) = (bytes.first_chunk()?, bytes.last_chunk()?);
                u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << 32
            }
            2..4 => {
                let (first, last) = (bytes.first_chunk()?, bytes.last_chunk()?);
                u64::from(u16::from_le_bytes(*first)) | u64::from(u16::from_le_bytes(*last)) << 16
            }
            1 => bytes[0].into(),
            0 => 0,
            _ => return None,
        };
        Some(Self { ends, length: bytes.len() })
    }

    #[inline]
    fn bits(self) -> u64 {
        self.ends ^ self.length as u64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn names_are_told_apart(one in "[ab]{0,9}", other in "[ab]{0,9}") {
            let (word, other_word) = (Word::of(&one), Word::of(&other));
            prop_assert_eq!(word.is_some(), one.len() <= MOST_BYTES);
            if word.is_some() {
                prop_assert_eq!(word == other_word, one == other);
            }
        }
    }
}

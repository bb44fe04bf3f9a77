//! Tags: what stands between the braces of a key, decides its slot, and tells whose it is.

use std::ops::Deref;

/// So many characters stand for a home, and for what it begins with.
const PART: usize = 4;

/// Four characters that stand for a home; behind four that stand for what it begins with, such as its domain, if that is on servers of
/// its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Tag {
    text: [u8; 2 * PART],
    has_front: bool,
}

impl Tag {
    /// The tag of a home.
    pub(crate) fn of(home: [u8; PART]) -> Self {
        let mut text = [0; 2 * PART];
        text[..PART].copy_from_slice(&home);
        Self { text, has_front: false }
    }

    /// The tag of a home that begins with what can be told from others.
    pub(crate) fn within(front: [u8; PART], home: [u8; PART]) -> Self {
        let mut text = [0; 2 * PART];
        text[..PART].copy_from_slice(&front);
        text[PART..].copy_from_slice(&home);
        Self { text, has_front: true }
    }

    /// What stands for what its home begins with, if anything does.
    pub(crate) fn front(&self) -> Option<[u8; PART]> {
        self.text.first_chunk().copied().filter(|_| self.has_front)
    }
}

impl Deref for Tag {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        if self.has_front { &self.text } else { &self.text[..PART] }
    }
}

impl TryFrom<&[u8]> for Tag {
    type Error = std::array::TryFromSliceError;

    fn try_from(text: &[u8]) -> Result<Self, Self::Error> {
        if text.len() == PART {
            return text.try_into().map(Self::of);
        }
        Ok(Self { text: text.try_into()?, has_front: true })
    }
}

//! Tags: what stands between the braces of a key, decides its slot, and tells whose it is.

use std::ops::Deref;

/// So many characters stand for a home, and for a domain.
const PART: usize = 4;

/// Four characters that stand for a home; behind four that stand for its domain, if that is on servers of its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Tag {
    text: [u8; 2 * PART],
    has_domain: bool,
}

impl Tag {
    /// The tag of a home.
    pub(crate) fn of(home: [u8; PART]) -> Self {
        let mut text = [0; 2 * PART];
        text[..PART].copy_from_slice(&home);
        Self { text, has_domain: false }
    }

    /// The tag of a home in a domain that can be told from others.
    pub(crate) fn within(domain: [u8; PART], home: [u8; PART]) -> Self {
        let mut text = [0; 2 * PART];
        text[..PART].copy_from_slice(&domain);
        text[PART..].copy_from_slice(&home);
        Self { text, has_domain: true }
    }

    /// What stands for its domain, if anything does.
    pub(crate) fn domain(&self) -> Option<[u8; PART]> {
        self.text.first_chunk().copied().filter(|_| self.has_domain)
    }
}

impl Deref for Tag {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        if self.has_domain { &self.text } else { &self.text[..PART] }
    }
}

impl TryFrom<&[u8]> for Tag {
    type Error = std::array::TryFromSliceError;

    fn try_from(text: &[u8]) -> Result<Self, Self::Error> {
        if text.len() == PART {
            return text.try_into().map(Self::of);
        }
        Ok(Self { text: text.try_into()?, has_domain: true })
    }
}

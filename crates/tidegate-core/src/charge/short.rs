//! Keys of which all parts are short, written without a walk over their parts.
//!
//! To write them as all others takes 10 % more instructions for a plan of one charge, made and decided, and as
//! many for one of four (`examples/instructions.rs` of the store, cases `made` and `made-four`).

use crate::key::{EncodedParts, KeyRef};

/// The most bytes of encoded parts that are short: one less than a power of two, so that a length is seen to be no more.
const MOST_BYTES: usize = 31;

/// The most bytes of a value that is short.
const MOST_VALUE_BYTES: usize = 40;

/// The room for a key of which all is short, however long that is: the length of its home, what comes before its value,
/// the value with its length, and what comes behind.
pub(super) const SHORT_BYTES: usize = 1 + MOST_BYTES + 1 + MOST_VALUE_BYTES + 1 + MOST_BYTES;

/// The room for a short key.
#[derive(Clone, Copy, Debug)]
pub struct ShortRoom([u8; SHORT_BYTES]);

impl Default for ShortRoom {
    fn default() -> Self {
        Self([0; SHORT_BYTES])
    }
}

/// What comes before and behind the values of keys, if that is short: keys are written in a few steps.
#[derive(Clone, PartialEq, Eq)]
pub struct ShortKey {
    front: Padded,
    back: Padded,
}

#[derive(Clone, PartialEq, Eq)]
struct Padded {
    bytes: [u8; MOST_BYTES + 1],
    length: u8,
}

impl ShortKey {
    /// `None` if one of them is not short.
    pub fn new(front: &EncodedParts, back: &EncodedParts) -> Option<Self> {
        Some(Self { front: Padded::new(front)?, back: Padded::new(back)? })
    }

    /// The key with that value at the end of its home; `None` if the value is not short.
    #[inline]
    pub fn encode<'a>(&self, home: &[u8], room: &'a mut ShortRoom) -> Option<KeyRef<'a>> {
        let length = self.write(Some(home), &mut room.0)?;
        room.0.get(..length).map(KeyRef::new)
    }

    /// Writes the key with that value at the end of its home; how long it is, or `None` if the value is not short. What is
    /// behind its end then is of no meaning.
    #[inline]
    pub(super) fn write(&self, home: Option<&[u8]>, out: &mut [u8; SHORT_BYTES]) -> Option<usize> {
        let front = self.front.write(out, 1);
        let back = match home {
            Some(home) => write_value(home, out, front)?,
            None => front,
        };
        out[0] = (back - 1).to_le_bytes()[0];
        Some(self.back.write(out, back))
    }
}

/// What was encoded may be secret.
impl std::fmt::Debug for ShortKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ShortKey({} + {} bytes)", self.front.length, self.back.length)
    }
}

impl Padded {
    fn new(parts: &EncodedParts) -> Option<Self> {
        let mut bytes = [0; MOST_BYTES + 1];
        bytes.get_mut(..parts.len())?.copy_from_slice(parts.bytes());
        Some(Self {
            bytes,
            length: u8::try_from(parts.len()).ok().filter(|length| usize::from(*length) <= MOST_BYTES)?,
        })
    }

    #[inline]
    fn write(&self, out: &mut [u8; SHORT_BYTES], at: usize) -> usize {
        out[at..=at + MOST_BYTES].copy_from_slice(&self.bytes);
        at + (usize::from(self.length) & MOST_BYTES)
    }
}

#[inline]
fn write_value(value: &[u8], out: &mut [u8; SHORT_BYTES], at: usize) -> Option<usize> {
    if value.len() > MOST_VALUE_BYTES {
        return None;
    }
    out[at] = value.len().to_le_bytes()[0];
    let end = at + 1 + value.len();
    out[at + 1..end].copy_from_slice(value);
    Some(end)
}

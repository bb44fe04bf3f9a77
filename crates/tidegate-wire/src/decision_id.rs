//! The id of a decision as callers know it.

use serde::{Serialize, Serializer};

/// 32 hexadecimal digits.
#[derive(Clone, Copy, Debug)]
pub struct DecisionId([u8; 32]);

impl DecisionId {
    /// The digits of that number.
    pub fn new(number: u128) -> Self {
        let digit = |nibble: u8| b"0123456789abcdef"[usize::from(nibble)];
        let mut digits = [b'0'; 32];
        for (pair, byte) in digits.as_chunks_mut().0.iter_mut().zip(number.to_be_bytes()) {
            *pair = [digit(byte >> 4), digit(byte & 15)];
        }
        Self(digits)
    }

    /// The digits as bytes.
    pub const fn digits(&self) -> &[u8] {
        &self.0
    }

    /// The digits as text.
    pub fn as_str(&self) -> &str {
        str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl Serialize for DecisionId {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.as_str())
    }
}

//! A number and the end of its line: how many words a command has, or how long a word is.

use super::ProtocolError;

/// More digits than any number that is allowed.
const MOST_DIGITS: usize = 18;

/// A number, and where its line ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) number: i64,
    pub(super) end: usize,
}

/// Reads it from there on; `None` if the line does not end yet.
pub(super) fn read(bytes: &[u8], from: usize) -> Result<Option<Header>, ProtocolError> {
    let is_negative = bytes.get(from) == Some(&b'-');
    let first = from + usize::from(is_negative);
    let (mut at, mut number) = (first, 0_i64);
    while let Some(digit) = bytes.get(at).filter(|byte| byte.is_ascii_digit()) {
        if at - first == MOST_DIGITS {
            return Err(ProtocolError::BadLength);
        }
        number = number * 10 + i64::from(digit - b'0');
        at += 1;
    }
    match bytes.get(at..).unwrap_or_default() {
        [] => Ok(None),
        _ if at == first => Err(ProtocolError::BadLength),
        [b'\r'] => Ok(None),
        [b'\r', b'\n', ..] => {
            Ok(Some(Header { number: if is_negative { -number } else { number }, end: at + 2 }))
        }
        _ => Err(ProtocolError::BadLength),
    }
}

/// A number of one or two digits behind that byte, and where its line ends; `None` if it is something else, or not all of it is
/// there.
#[inline]
pub(super) fn short(bytes: &[u8], from: usize, kind: u8) -> Option<(usize, usize)> {
    let line = u32::from_le_bytes(*bytes.get(from..)?.first_chunk()?);
    let [_, first, second, _] = line.to_le_bytes();
    if line & ONE_DIGIT.0 == ONE_DIGIT.1 | u32::from(kind) {
        return Some((digit(first)?, from + 4));
    }
    let is_short =
        line & TWO_DIGITS.0 == TWO_DIGITS.1 | u32::from(kind) && bytes.get(from + 4) == Some(&b'\n');
    is_short.then_some((digit(first)? * 10 + digit(second)?, from + 5))
}

/// The bytes of such a line that are always the same, but for the first, and what they are: with one digit, and with two, where
/// one more follows.
const ONE_DIGIT: (u32, u32) = (0xffff_00ff, u32::from_le_bytes(*b"\0\0\r\n"));
const TWO_DIGITS: (u32, u32) = (0xff00_00ff, u32::from_le_bytes(*b"\0\0\0\r"));

fn digit(byte: u8) -> Option<usize> {
    let digit = byte.wrapping_sub(b'0');
    (digit < 10).then_some(usize::from(digit))
}

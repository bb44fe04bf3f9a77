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
    let digit = |byte: u8| usize::from(byte - b'0');
    match *bytes.get(from..)?.first_chunk::<5>()? {
        [first, ones @ b'0'..=b'9', b'\r', b'\n', _] if first == kind => Some((digit(ones), from + 4)),
        [first, tens @ b'0'..=b'9', ones @ b'0'..=b'9', b'\r', b'\n'] if first == kind => {
            Some((digit(tens) * 10 + digit(ones), from + 5))
        }
        _ => None,
    }
}

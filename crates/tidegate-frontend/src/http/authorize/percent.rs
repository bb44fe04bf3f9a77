//! Percent-encoding (RFC 3986), taken back.

use std::borrow::Cow;

/// What a part of a query stands for: `+` is a space there.
pub(super) fn decoded(text: &str) -> Cow<'_, str> {
    if !text.contains(['%', '+']) {
        return text.into();
    }
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, others @ ..] = rest {
        let (byte, after) = match octet(rest) {
            Some(byte) => (byte, &rest[3..]),
            None => (if *first == b'+' { b' ' } else { *first }, others),
        };
        plain.push(byte);
        rest = after;
    }
    String::from_utf8_lossy(&plain).into_owned().into()
}

/// The octet that `%41` at the beginning stands for.
pub(super) fn octet(text: &[u8]) -> Option<u8> {
    let [b'%', high, low, ..] = text else { return None };
    let digit = |digit: u8| char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    Some(digit(*high)? << 4 | digit(*low)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_query_are_what_they_stand_for() {
        for (written, meant) in [
            ("", ""),
            ("plain", "plain"),
            ("a+b%20c", "a b c"),
            ("%41%6a%C3%A9", "Ajé"),
            ("100%", "100%"),
            ("%4", "%4"),
            ("%zz%+1", "%zz% 1"),
            ("%ff", "\u{fffd}"),
        ] {
            assert_eq!(decoded(written), meant, "{written}");
        }
    }
}

//! Numbers in digits, without a formatter: answers are full of them.

/// Appends the digits of a number.
#[inline]
pub(crate) fn write(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Appends a parameter of a structured field whose name is one letter.
#[inline]
pub(crate) fn write_parameter(out: &mut Vec<u8>, name: u8, number: u64) {
    out.extend_from_slice(&[b';', name, b'=']);
    write(out, number);
}

/// Appends a line of the Redis protocol: its type, the digits of a number, and the line's end.
#[inline]
pub(crate) fn write_line(out: &mut Vec<u8>, kind: u8, number: u64) {
    // Most numbers of replies have one digit. Six numbers of which four have one took 563 instructions without this branch
    // and 359 with it (callgrind, a loop over `write_line`).
    if let Ok(digit @ 0..=9) = u8::try_from(number) {
        out.extend_from_slice(&[kind, b'0' + digit, b'\r', b'\n']);
        return;
    }
    out.push(kind);
    write(out, number);
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn writes_what_the_formatter_writes(number in prop_oneof![any::<u64>(), 0..1000_u64, Just(u64::MAX)]) {
            let mut out = b"x".to_vec();
            write(&mut out, number);
            write_parameter(&mut out, b'q', number);
            write_line(&mut out, b':', number);
            prop_assert_eq!(out, format!("x{number};q={number}:{number}\r\n").into_bytes());
        }
    }
}

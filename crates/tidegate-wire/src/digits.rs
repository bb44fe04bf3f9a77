//! Numbers in digits, without the way through a formatter: answers are full of them.

/// As many as the largest number has.
const MOST: usize = 20;

/// All numbers of two digits, one after another.
const PAIRS: [[u8; 2]; 100] = {
    let (mut pairs, mut number) = ([[b'0'; 2]; 100], 0);
    while number < 100 {
        pairs[number as usize] = [b'0' + number / 10, b'0' + number % 10];
        number += 1_u8;
    }
    pairs
};

/// Appends the digits of a number.
#[inline]
pub(crate) fn write(out: &mut Vec<u8>, number: u64) {
    if let Ok(digit @ 0..=9) = u8::try_from(number) {
        out.push(b'0' + digit);
        return;
    }
    let mut digits = [b'0'; MOST];
    let start = put(&mut digits, number);
    out.extend_from_slice(&digits[start..]);
}

/// Appends a parameter of a structured field whose name is one letter.
#[inline]
pub(crate) fn write_parameter(out: &mut Vec<u8>, name: u8, number: u64) {
    if let Ok(digit @ 0..=9) = u8::try_from(number) {
        out.extend_from_slice(&[b';', name, b'=', b'0' + digit]);
        return;
    }
    let mut text = [b'0'; 3 + MOST];
    let digits = text[3..].first_chunk_mut().expect("there is room for as many as there can be");
    let start = put(digits, number);
    text[start..start + 3].copy_from_slice(&[b';', name, b'=']);
    out.extend_from_slice(&text[start..]);
}

/// Appends a line of the Redis protocol: what it is, the digits of a number, and the line's end.
#[cfg(feature = "resp")]
#[inline]
pub(crate) fn write_line(out: &mut Vec<u8>, kind: u8, number: u64) {
    if let Ok(digit @ 0..=9) = u8::try_from(number) {
        out.extend_from_slice(&[kind, b'0' + digit, b'\r', b'\n']);
        return;
    }
    let mut line = [b'0'; 1 + MOST + 2];
    let digits = line[1..].first_chunk_mut().expect("there is room for as many as there can be");
    let start = put(digits, number);
    line[start] = kind;
    line[1 + MOST..].copy_from_slice(b"\r\n");
    out.extend_from_slice(&line[start..]);
}

/// Puts the digits of a number at the end; where they begin.
#[expect(clippy::cast_possible_truncation, reason = "pairs of digits are below a hundred")]
fn put(digits: &mut [u8; MOST], number: u64) -> usize {
    let (mut rest, mut start) = (number, MOST);
    while rest >= 100 {
        start -= 2;
        digits[start..start + 2].copy_from_slice(&PAIRS[(rest % 100) as usize]);
        rest /= 100;
    }
    let [tens, ones] = PAIRS[rest as usize];
    digits[start - 1] = ones;
    if rest < 10 {
        return start - 1;
    }
    digits[start - 2] = tens;
    start - 2
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn digits_are_those_of_the_formatter(number in prop_oneof![any::<u64>(), 0..1000_u64, Just(u64::MAX)]) {
            let mut out = b"x".to_vec();
            write(&mut out, number);
            write_parameter(&mut out, b'q', number);
            prop_assert_eq!(&out, &format!("x{number};q={number}").into_bytes());
            #[cfg(feature = "resp")]
            {
                write_line(&mut out, b':', number);
                prop_assert_eq!(out, format!("x{number};q={number}:{number}\r\n").into_bytes());
            }
        }
    }
}

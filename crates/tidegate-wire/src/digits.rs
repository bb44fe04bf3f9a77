//! Numbers in digits, without the way through a formatter: answers are full of them.

/// As many as the largest number has.
const MOST: usize = 20;

/// Appends the digits of a number.
#[inline]
pub(crate) fn write(out: &mut Vec<u8>, number: u64) {
    match u8::try_from(number) {
        Ok(digit @ 0..=9) => out.push(b'0' + digit),
        _ => write_several(out, number),
    }
}

fn write_several(out: &mut Vec<u8>, number: u64) {
    let (mut digits, mut rest, mut start) = ([b'0'; MOST], number, MOST);
    loop {
        start -= 1;
        digits[start] += (rest % 10).to_le_bytes()[0];
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[start..]);
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
            prop_assert_eq!(out, format!("x{number}").into_bytes());
        }
    }
}

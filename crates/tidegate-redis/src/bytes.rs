//! Numbers as the scripts read and write them: little endian, doubles where they may be large, all below 2^53.

/// The largest number that a double tells from its neighbours.
const LAST: u64 = (1 << 53) - 1;

/// A number as a double; what is larger than any count is cut.
#[expect(clippy::cast_precision_loss, reason = "it is below 2^53")]
pub(crate) fn double(number: u64) -> f64 {
    number.min(LAST) as f64
}

pub(crate) fn put_double(number: u64, out: &mut Vec<u8>) {
    out.extend(double(number).to_le_bytes());
}

/// A number as MessagePack has it, which scripts read faster than anything else; what is larger than any count is cut.
pub(crate) fn put_packed(number: u64, out: &mut Vec<u8>) {
    let number = number.min(LAST);
    match number {
        0..0x80 => out.push(number.to_le_bytes()[0]),
        0x80..0x1_0000 => {
            let [.., high, low] = number.to_be_bytes();
            out.extend_from_slice(&[0xcd, high, low]);
        }
        0x1_0000..0x1_0000_0000 => {
            let [.., first, second, third, fourth] = number.to_be_bytes();
            out.extend_from_slice(&[0xce, first, second, third, fourth]);
        }
        _ => {
            out.push(0xcf);
            out.extend_from_slice(&number.to_be_bytes());
        }
    }
}

/// Takes bytes from the beginning.
pub(crate) fn take<const N: usize>(input: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = input.split_first_chunk()?;
    *input = rest;
    Some(*first)
}

pub(crate) fn take_byte(input: &mut &[u8]) -> Option<u8> {
    take(input).map(|[byte]| byte)
}

/// Takes a double that is a whole number.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is whole, and within bounds")]
pub(crate) fn take_double(input: &mut &[u8]) -> Option<u64> {
    let number = f64::from_le_bytes(take(input)?);
    (number >= 0.0 && number <= double(LAST) && number.fract() == 0.0).then_some(number as u64)
}

/// Takes so many bytes of a whole number, the lowest first.
pub(crate) fn take_whole(input: &mut &[u8], bytes: usize) -> Option<u64> {
    let (first, rest) = input.split_at_checked(bytes)?;
    *input = rest;
    Some(first.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

/// Bytes behind their length, of which there are fewer than 256.
pub(crate) fn put_short(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(u8::try_from(bytes.len()).expect("names are short"));
    out.extend_from_slice(bytes);
}

pub(crate) fn take_short<'a>(input: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = take_byte(input)?;
    let (first, rest) = input.split_at_checked(length.into())?;
    *input = rest;
    Some(first)
}

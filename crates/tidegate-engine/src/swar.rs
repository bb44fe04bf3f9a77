//! Eight bytes at a time: paths are short, and each is searched at every check.

const ONES: u64 = u64::MAX / 255;
const HIGH_BITS: u64 = ONES << 7;

/// Whether one of two bytes is among them.
#[inline]
pub(crate) fn has_either(bytes: &[u8], one: u8, other: u8) -> bool {
    let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) else {
        return bytes.contains(&one) || bytes.contains(&other);
    };
    let has = |chunk: &[u8; 8]| {
        let (word, all) = (u64::from_le_bytes(*chunk), |byte: u8| ONES * u64::from(byte));
        (zero_byte(word ^ all(one)) | zero_byte(word ^ all(other))) != 0
    };
    has(first) || has(last) || (bytes.len() > 16 && bytes.as_chunks().0.iter().any(has))
}

/// Whether two are the same: short ones without a call.
#[inline]
pub(crate) fn are_same(one: &[u8], other: &[u8]) -> bool {
    match one.len() {
        length if length != other.len() => false,
        4..=8 => ends::<4>(one) == ends(other),
        9..=16 => ends::<8>(one) == ends(other),
        _ => one == other,
    }
}

/// They meet or overlap if there are no more than twice as many bytes.
#[inline]
fn ends<const BYTES: usize>(bytes: &[u8]) -> (Option<&[u8; BYTES]>, Option<&[u8; BYTES]>) {
    (bytes.first_chunk(), bytes.last_chunk())
}

/// Not 0 exactly if one of its bytes is 0.
#[inline]
const fn zero_byte(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & HIGH_BITS
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_there_is_found(bytes in prop::collection::vec(0x1e..0x42_u8, 0..40)) {
            prop_assert_eq!(has_either(&bytes, b'?', b'#'), bytes.iter().any(|byte| b"?#".contains(byte)));
        }

        #[test]
        fn bytes_are_told_apart(one in prop::collection::vec(0..3_u8, 0..20), place: prop::sample::Index) {
            prop_assert!(are_same(&one, &one.clone()));
            let mut other = one.clone();
            other.push(0);
            prop_assert!(!are_same(&one, &other));
            let changed = place.index(other.len());
            let before = other.clone();
            other[changed] += 1;
            prop_assert!(!are_same(&before, &other));
        }

        #[test]
        fn among_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..40), one: u8, other: u8) {
            let there = bytes.contains(&one) || bytes.contains(&other);
            prop_assert_eq!(has_either(&bytes, one, other), there);
        }
    }
}

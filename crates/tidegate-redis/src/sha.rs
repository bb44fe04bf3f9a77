//! SHA-1 (FIPS 180-4), by which servers name scripts. It protects nothing here.

use std::fmt::Write as _;

/// The digest of a text, in hexadecimal digits.
pub(crate) fn sha1_hex(text: &str) -> String {
    let mut state = [0x6745_2301_u32, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
    let padded = padded(text.as_bytes());
    let (blocks, _) = padded.as_chunks::<64>();
    for block in blocks {
        let mixed = mixed(state, &schedule(block));
        state = std::array::from_fn(|index| state[index].wrapping_add(mixed[index]));
    }
    state.iter().fold(String::with_capacity(40), |mut hex, word| {
        write!(hex, "{word:08x}").expect("a string takes all text");
        hex
    })
}

/// The text, a one bit, zeros, and its length in bits, in whole blocks.
fn padded(text: &[u8]) -> Vec<u8> {
    let mut bytes = text.to_vec();
    bytes.push(0x80);
    bytes.resize((bytes.len() + 8).next_multiple_of(64) - 8, 0);
    bytes.extend((text.len() as u64 * 8).to_be_bytes());
    bytes
}

fn schedule(block: &[u8; 64]) -> [u32; 80] {
    let mut words = [0; 80];
    for (word, bytes) in words.iter_mut().zip(block.as_chunks::<4>().0) {
        *word = u32::from_be_bytes(*bytes);
    }
    for index in 16..80 {
        let mixed = words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16];
        words[index] = mixed.rotate_left(1);
    }
    words
}

fn mixed(mut state: [u32; 5], words: &[u32; 80]) -> [u32; 5] {
    for (index, word) in words.iter().enumerate() {
        let [first, x, y, z, last] = state;
        let (choice, constant) = match index / 20 {
            0 => ((x & y) | (!x & z), 0x5a82_7999),
            1 => (x ^ y ^ z, 0x6ed9_eba1),
            2 => ((x & y) | (x & z) | (y & z), 0x8f1b_bcdc_u32),
            _ => (x ^ y ^ z, 0xca62_c1d6),
        };
        let next = [choice, last, constant, *word].into_iter().fold(first.rotate_left(5), u32::wrapping_add);
        state = [next, first, x.rotate_left(30), y, z];
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_the_standard() {
        assert_eq!(sha1_hex("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
        assert_eq!(sha1_hex(""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
        let two_blocks = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
        assert_eq!(sha1_hex(two_blocks), "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
        assert_eq!(sha1_hex(&"a".repeat(1_000_000)), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
    }
}

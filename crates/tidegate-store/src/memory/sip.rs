//! SipHash-1-3, the pseudo-random function that names counters, for a whole key at once.

/// The function under a key.
#[derive(Clone, Copy)]
pub(super) struct Sip13 {
    key: [u64; 2],
}

/// Shows nothing: who knows the key can choose where counters go.
impl std::fmt::Debug for Sip13 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sip13")
    }
}

impl Sip13 {
    pub(super) const fn new(key: [u64; 2]) -> Self {
        Self { key }
    }

    pub(super) const fn key(self) -> [u64; 2] {
        self.key
    }

    #[inline]
    pub(super) fn hash(self, bytes: &[u8]) -> u64 {
        let [k0, k1] = self.key;
        let mut state = [
            k0 ^ 0x736f_6d65_7073_6575,
            k1 ^ 0x646f_7261_6e64_6f6d,
            k0 ^ 0x6c79_6765_6e65_7261,
            k1 ^ 0x7465_6462_7974_6573,
        ];
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            compress(&mut state, u64::from_le_bytes(*word));
        }
        compress(&mut state, (bytes.len() as u64) << 56 | last(bytes, rest));
        state[2] ^= 0xff;
        for _ in 0..3 {
            round(&mut state);
        }
        state[0] ^ state[1] ^ state[2] ^ state[3]
    }
}

/// Up to seven bytes as a number.
#[inline]
fn last(bytes: &[u8], rest: &[u8]) -> u64 {
    match (bytes.last_chunk::<8>(), rest.len()) {
        (_, 0) => 0,
        // The last eight bytes of the whole, less those that were taken already.
        (Some(last), length) => u64::from_le_bytes(*last) >> (64 - 8 * length),
        (None, _) => rest.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte)),
    }
}

#[inline]
fn compress(state: &mut [u64; 4], word: u64) {
    state[3] ^= word;
    round(state);
    state[0] ^= word;
}

#[inline]
fn round([v0, v1, v2, v3]: &mut [u64; 4]) {
    *v0 = v0.wrapping_add(*v1);
    *v2 = v2.wrapping_add(*v3);
    *v1 = v1.rotate_left(13) ^ *v0;
    *v3 = v3.rotate_left(16) ^ *v2;
    *v0 = v0.rotate_left(32);
    *v2 = v2.wrapping_add(*v1);
    *v0 = v0.wrapping_add(*v3);
    *v1 = v1.rotate_left(17) ^ *v2;
    *v3 = v3.rotate_left(21) ^ *v0;
    *v2 = v2.rotate_left(32);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_function_that_others_know_by_the_name() {
        let key = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];
        let other = siphasher::sip::SipHasher13::new_with_keys(key[0], key[1]);
        let bytes: Vec<u8> = (0..=255).chain(0..=255).collect();
        for start in 0..9 {
            for end in start..bytes.len() {
                let bytes = &bytes[start..end];
                assert_eq!(Sip13::new(key).hash(bytes), other.hash(bytes), "{} bytes", bytes.len());
            }
        }
    }
}

//! SipHash-1-3, the pseudo-random function that names counters.

use siphasher::sip::SipHasher13;

/// The function under a key.
#[derive(Clone, Copy)]
pub(super) struct Sip13 {
    key: [u64; 2],
}

/// The key stays hidden: a caller that knows it can choose where counters go.
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
        SipHasher13::new_with_keys(self.key[0], self.key[1]).hash(bytes)
    }
}

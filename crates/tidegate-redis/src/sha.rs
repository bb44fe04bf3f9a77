//! SHA-1, by which servers name scripts. It protects nothing here.

use std::fmt::Write as _;

use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};

/// The digest of a text, in hexadecimal digits.
pub(crate) fn sha1_hex(text: &str) -> String {
    let digest = digest(&SHA1_FOR_LEGACY_USE_ONLY, text.as_bytes());
    digest.as_ref().iter().fold(String::with_capacity(40), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("a string takes all text");
        hex
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_is_that_of_the_standard() {
        assert_eq!(sha1_hex("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
    }
}

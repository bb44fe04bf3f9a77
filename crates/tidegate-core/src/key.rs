//! The names of counters: an injective encoding of where a counter lives and what it counts.

use smallvec::SmallVec;

/// The longest encoded key. Doors bound their values well below it; whatever is longer is refused, never cut.
pub const MAX_KEY_BYTES: usize = 4096;

/// A counter's name as meant: parts that decide its home, and parts that tell it from its neighbours there.
///
/// Two keys are the same counter exactly if their parts are the same, whatever bytes the parts contain.
///
/// ```
/// use tidegate_core::Key;
/// let a = Key { home: &[b"api", b"acme"], own: &[b"per-user", b"bob"] }.encode().unwrap();
/// let b = Key { home: &[b"api", b"acme"], own: &[b"per-userbob"] }.encode().unwrap();
/// assert_ne!(a, b);
/// assert_eq!(a.as_ref().home(), b.as_ref().home());
/// ```
#[derive(Clone, Copy)]
pub struct Key<'a> {
    /// What decides where the counter lives, for example the domain and the tenant.
    pub home: &'a [&'a [u8]],
    /// What tells it from other counters of that home: the limit's identity and the values counted by.
    pub own: &'a [&'a [u8]],
}

/// An encoded key, owned.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct KeyBuf(SmallVec<[u8; 64]>);

/// An encoded key, borrowed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyRef<'a>(&'a [u8]);

/// The key has more bytes than [`MAX_KEY_BYTES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a key has {bytes} bytes and the most is {MAX_KEY_BYTES}; count by something shorter, such as a hash of it"
)]
pub struct KeyTooLong {
    /// How many bytes it would have.
    pub bytes: usize,
}

impl Key<'_> {
    /// The encoding, in a buffer of its own.
    pub fn encode(&self) -> Result<KeyBuf, KeyTooLong> {
        let mut bytes = SmallVec::new();
        self.encode_into(&mut bytes)?;
        Ok(KeyBuf(bytes))
    }

    /// Appends the encoding: the length of the home part, then every part behind its own length.
    pub(crate) fn encode_into<const N: usize>(&self, out: &mut SmallVec<[u8; N]>) -> Result<(), KeyTooLong> {
        let home_bytes = encoded_len(self.home);
        let bytes = varint_len(home_bytes) + home_bytes + encoded_len(self.own);
        if bytes > MAX_KEY_BYTES {
            return Err(KeyTooLong { bytes });
        }
        let start = out.len();
        out.extend_from_slice(&BLANK[..bytes]);
        let rest = write_varint(&mut out[start..], home_bytes);
        let rest = write_parts(rest, self.home);
        write_parts(rest, self.own);
        Ok(())
    }
}

impl KeyBuf {
    /// A view of it.
    pub fn as_ref(&self) -> KeyRef<'_> {
        KeyRef(&self.0)
    }
}

impl From<KeyRef<'_>> for KeyBuf {
    fn from(key: KeyRef<'_>) -> Self {
        Self(SmallVec::from_slice(key.0))
    }
}

impl<'a> KeyRef<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// All bytes of the encoding: equal for equal keys, different for different ones.
    pub const fn bytes(self) -> &'a [u8] {
        self.0
    }

    /// The bytes that decide where the counter lives.
    pub fn home(self) -> &'a [u8] {
        let (len, rest) = read_varint(self.0);
        rest.get(..len).unwrap_or(rest)
    }
}

impl std::fmt::Debug for Key<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Key({} + {} parts)", self.home.len(), self.own.len())
    }
}

impl std::fmt::Debug for KeyBuf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_ref().fmt(f)
    }
}

/// Keys hold what callers sent, which may be secret: they never print themselves.
impl std::fmt::Debug for KeyRef<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KeyRef({} bytes)", self.0.len())
    }
}

/// Room for a key. Copying it is quicker than filling byte by byte.
static BLANK: [u8; MAX_KEY_BYTES] = [0; MAX_KEY_BYTES];

fn encoded_len(parts: &[&[u8]]) -> usize {
    parts.iter().map(|part| varint_len(part.len()) + part.len()).sum()
}

const fn varint_len(mut value: usize) -> usize {
    let mut len = 1;
    while value >= 0x80 {
        value >>= 7;
        len += 1;
    }
    len
}

/// Writes every part behind its length; what is left of the space behind them.
fn write_parts<'o>(mut out: &'o mut [u8], parts: &[&[u8]]) -> &'o mut [u8] {
    for part in parts {
        let (place, rest) = write_varint(out, part.len()).split_at_mut(part.len());
        place.copy_from_slice(part);
        out = rest;
    }
    out
}

/// Writes seven bits a byte, the lowest first; what is left of the space behind it.
fn write_varint(out: &mut [u8], mut value: usize) -> &mut [u8] {
    let mut length = 0;
    while value >= 0x80 {
        out[length] = value.to_le_bytes()[0] | 0x80;
        value >>= 7;
        length += 1;
    }
    out[length] = value.to_le_bytes()[0];
    &mut out[length + 1..]
}

fn read_varint(bytes: &[u8]) -> (usize, &[u8]) {
    let mut value = 0;
    for (index, byte) in bytes.iter().enumerate().take(4) {
        value |= usize::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return (value, &bytes[index + 1..]);
        }
    }
    (0, bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Parts = Vec<Vec<u8>>;

    fn encode(home: &Parts, own: &Parts) -> Vec<u8> {
        let home: Vec<&[u8]> = home.iter().map(Vec::as_slice).collect();
        let own: Vec<&[u8]> = own.iter().map(Vec::as_slice).collect();
        Key { home: &home, own: &own }.encode().unwrap().as_ref().bytes().to_vec()
    }

    /// The inverse: if it exists, the encoding is injective.
    fn decode(bytes: &[u8]) -> (Parts, Parts) {
        let (home_len, rest) = read_varint(bytes);
        let (home, own) = rest.split_at(home_len);
        (parts(home), parts(own))
    }

    fn parts(mut bytes: &[u8]) -> Parts {
        let mut parts = Vec::new();
        while !bytes.is_empty() {
            let (len, rest) = read_varint(bytes);
            let (part, rest) = rest.split_at(len);
            parts.push(part.to_vec());
            bytes = rest;
        }
        parts
    }

    proptest! {
        #[test]
        fn what_was_encoded_can_be_read_back(
            home in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..4),
            own in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..4),
        ) {
            prop_assert_eq!(decode(&encode(&home, &own)), (home, own));
        }
    }

    #[test]
    fn parts_that_look_like_separators_stay_apart() {
        let pairs = [
            (vec![b"a".to_vec(), b"b".to_vec()], vec![]),
            (vec![b"a".to_vec()], vec![b"b".to_vec()]),
            (vec![b"ab".to_vec()], vec![]),
            (vec![], vec![b"ab".to_vec()]),
            (vec![b"a\x01b".to_vec()], vec![]),
            (vec![b"".to_vec(), b"ab".to_vec()], vec![]),
        ];
        let mut seen = std::collections::BTreeSet::new();
        for (home, own) in &pairs {
            assert!(seen.insert(encode(home, own)), "two keys share an encoding");
        }
    }

    #[test]
    fn a_key_that_is_too_long_is_refused_and_says_what_to_do() {
        let long = vec![b'x'; MAX_KEY_BYTES];
        let error = Key { home: &[&long], own: &[] }.encode().unwrap_err();
        assert!(error.to_string().contains("count by something shorter"), "{error}");
    }

    #[test]
    fn debug_output_does_not_show_the_key() {
        let key = Key { home: &[b"sk_live_secret"], own: &[] }.encode().unwrap();
        assert!(!format!("{:?}", key.as_ref()).contains("secret"));
    }
}

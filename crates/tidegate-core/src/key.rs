//! The names of counters: an injective encoding of where a counter lives and what it counts.

use smallvec::SmallVec;

/// The longest encoded key. Doors bound their values well below it; whatever is longer is refused, never cut.
pub const MAX_KEY_BYTES: usize = 4096;

/// Parts longer than this stand in a key as their hash: what callers send may be long, and must neither be cut nor refused.
pub const MAX_PART_BYTES: usize = 512;

/// Stands where the length of a part would, and is none: a hash of 16 bytes follows.
const HASHED: usize = 1 << 20;
const HASH_BYTES: usize = 16;

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

/// Parts of keys that were encoded beforehand, for all keys that have them.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct EncodedParts(Vec<u8>);

/// A key of which some parts are encoded already. It is the same key as one with all these parts in this order.
#[derive(Clone, Copy)]
pub struct PreparedKey<'a> {
    /// What its home begins with.
    pub front: &'a EncodedParts,
    /// The rest of its home.
    pub home: &'a [&'a [u8]],
    /// What comes behind its home.
    pub back: &'a EncodedParts,
    /// The rest of it.
    pub own: &'a [&'a [u8]],
}

/// How long an encoding will be, and the home in it.
#[derive(Clone, Copy)]
pub(crate) struct Sizes {
    pub(crate) bytes: usize,
    home_bytes: usize,
}

impl Key<'_> {
    /// The encoding, in a buffer of its own: the length of the home, then every part behind its own length.
    pub fn encode(&self) -> Result<KeyBuf, KeyTooLong> {
        PreparedKey::from(*self).encode()
    }
}

impl EncodedParts {
    /// None.
    pub const NONE: &'static Self = &Self(Vec::new());

    /// Encodes parts as they will stand in keys.
    pub fn new(parts: &[&[u8]]) -> Self {
        let mut bytes = vec![0; encoded_len(parts)];
        write_parts(&mut bytes, parts);
        Self(bytes)
    }

    /// As they stand in keys.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// A number that stands for parts: others have the same with odds of 2^-64, on every machine.
    pub fn digest(parts: &[&[u8]]) -> u64 {
        siphasher::sip::SipHasher24::new().hash(&Self::new(parts).0)
    }

    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

impl<'a> From<Key<'a>> for PreparedKey<'a> {
    fn from(Key { home, own }: Key<'a>) -> Self {
        Self { front: EncodedParts::NONE, home, back: EncodedParts::NONE, own }
    }
}

impl PreparedKey<'_> {
    /// The encoding, in a buffer of its own.
    pub fn encode(&self) -> Result<KeyBuf, KeyTooLong> {
        let sizes = self.sizes()?;
        let mut bytes = SmallVec::from_elem(0, sizes.bytes);
        self.write(sizes, &mut bytes);
        Ok(KeyBuf(bytes))
    }

    /// The encoding, at the beginning of a place that the caller has, and what is left of that; `None` if it is too small.
    #[inline]
    pub fn encode_into<'b>(&self, room: &'b mut [u8]) -> Option<(KeyRef<'b>, &'b mut [u8])> {
        let sizes = self.sizes().ok()?;
        let (place, rest) = room.split_at_mut_checked(sizes.bytes)?;
        self.write(sizes, place);
        Some((KeyRef(place), rest))
    }

    #[inline]
    pub(crate) fn sizes(&self) -> Result<Sizes, KeyTooLong> {
        let home_bytes = self.front.0.len() + encoded_len(self.home);
        let bytes = varint_len(home_bytes) + home_bytes + self.back.0.len() + encoded_len(self.own);
        if bytes > MAX_KEY_BYTES { Err(KeyTooLong { bytes }) } else { Ok(Sizes { bytes, home_bytes }) }
    }

    /// Fills a place of that size.
    #[inline]
    pub(crate) fn write(&self, sizes: Sizes, out: &mut [u8]) {
        let rest = write_bytes(write_varint(out, sizes.home_bytes), &self.front.0);
        let rest = write_bytes(write_parts(rest, self.home), &self.back.0);
        write_parts(rest, self.own);
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

/// What was encoded may be secret.
impl std::fmt::Debug for EncodedParts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "EncodedParts({} bytes)", self.0.len())
    }
}

impl std::fmt::Debug for PreparedKey<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "PreparedKey({:?} + {}, {:?} + {} parts)",
            self.front,
            self.home.len(),
            self.back,
            self.own.len()
        )
    }
}

#[inline]
fn encoded_len(parts: &[&[u8]]) -> usize {
    parts.iter().map(|part| part_len(part)).sum()
}

/// How long a part is with its length before it.
#[inline]
pub(crate) fn part_len(part: &[u8]) -> usize {
    match part.len() {
        length @ 0..0x80 => 1 + length,
        length @ 0..=MAX_PART_BYTES => 2 + length,
        _ => varint_len(HASHED) + HASH_BYTES,
    }
}

/// SipHash-2-4 of 128 bits under a fixed key, so that every machine has the same: two different long parts have the same
/// hash with odds of 2^-128, and whoever finds two only shares a counter with itself.
fn hash(part: &[u8]) -> [u8; HASH_BYTES] {
    siphasher::sip128::SipHasher24::new().hash(part).as_bytes()
}

#[inline]
pub(crate) const fn varint_len(mut value: usize) -> usize {
    let mut len = 1;
    while value >= 0x80 {
        value >>= 7;
        len += 1;
    }
    len
}

/// Writes every part behind its length; what is left of the space behind them.
#[inline]
fn write_parts<'o>(mut out: &'o mut [u8], parts: &[&[u8]]) -> &'o mut [u8] {
    for part in parts {
        out = write_part(out, part);
    }
    out
}

/// Writes a part behind its length, or its hash.
#[inline]
pub(crate) fn write_part<'o>(out: &'o mut [u8], part: &[u8]) -> &'o mut [u8] {
    if part.len() <= MAX_PART_BYTES {
        write_bytes(write_varint(out, part.len()), part)
    } else {
        write_hash(out, part)
    }
}

#[cold]
fn write_hash<'o>(out: &'o mut [u8], part: &[u8]) -> &'o mut [u8] {
    write_bytes(write_varint(out, HASHED), &hash(part))
}

#[inline]
pub(crate) fn write_bytes<'o>(out: &'o mut [u8], bytes: &[u8]) -> &'o mut [u8] {
    let (place, rest) = out.split_at_mut(bytes.len());
    place.copy_from_slice(bytes);
    rest
}

/// Writes seven bits a byte, the lowest first; what is left of the space behind it.
#[inline]
pub(crate) fn write_varint(out: &mut [u8], mut value: usize) -> &mut [u8] {
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
    fn long_parts_are_hashed_and_told_apart() {
        let part = |last: u8, length: usize| [vec![b'x'; length - 1], vec![last]].concat();
        let key = |part: &[u8]| Key { home: &[part], own: &[b"a"] }.encode().unwrap();
        let (one, other) = (part(b'1', 100_000), part(b'2', 100_000));
        assert_ne!(key(&one), key(&other));
        assert_eq!(key(&one), key(&one.clone()));
        assert!(key(&one).as_ref().bytes().len() < 40);
        assert_ne!(key(&part(b'1', MAX_PART_BYTES)), key(&part(b'1', MAX_PART_BYTES + 1)));
        assert_ne!(key(&one), key(&hash(&one)), "a hash as a value is not the value behind it");
    }

    #[test]
    fn a_key_that_is_too_long_is_refused_and_says_what_to_do() {
        let long = vec![b'x'; MAX_PART_BYTES];
        let parts = [long.as_slice(); 8];
        let error = Key { home: &parts, own: &[] }.encode().unwrap_err();
        assert!(error.to_string().contains("count by something shorter"), "{error}");
    }

    #[test]
    fn debug_output_does_not_show_the_key() {
        let key = Key { home: &[b"sk_live_secret"], own: &[] }.encode().unwrap();
        assert!(!format!("{:?}", key.as_ref()).contains("secret"));
    }
}

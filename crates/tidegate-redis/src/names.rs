//! The names of keys: hashes of what callers sent, under a secret that all nodes share, behind a tag that decides the slot.
//!
//! A key is `<prefix>{<tag>}<entity>`: the tag stands for the home, the entity for all parts of a counter's key but the
//! limit's own, so that all limits of one entity are entries of one value. With the default prefix it has 30 bytes.

use siphasher::sip128::{Hasher128 as _, SipHasher24};
use std::hash::Hasher as _;
use tidegate_core::{KeyRef, Limit, MAX_PART_BYTES, Numbers, Plan, Ticket, Window};

/// The prefix of keys, unless the operator sets another.
pub const DEFAULT_PREFIX: &str = "t:";

/// Windows of this length and more are kept apart from shorter ones.
const LONG_US: u64 = 3_600_000_000;

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Four characters that stand for a home.
pub(crate) type Tag = [u8; 4];

/// Makes names.
#[derive(Clone)]
pub(crate) struct Names {
    prefix: Vec<u8>,
    secret: [u8; 16],
}

/// Where a counter is.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Seat {
    pub(crate) tag: Tag,
    pub(crate) form: Form,
    pub(crate) key: Vec<u8>,
    /// Which entry of the value it is.
    pub(crate) id: u32,
}

/// What kind of value holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Many small counters.
    Packed = 1,
    /// One log.
    Log = 2,
    /// The slots of one room.
    Slots = 3,
}

/// Whose a counter is: all parts of its key but the limit's own, and their hashes.
#[derive(Clone, Copy)]
struct Owner<'key> {
    home: &'key [u8],
    rest: &'key [u8],
    tag: Tag,
    entity: u128,
}

impl Owner<'_> {
    fn has(&self, key: KeyRef<'_>) -> bool {
        self.home == key.home() && self.rest == own_parts(key).1
    }
}

impl Names {
    pub(crate) fn new(prefix: &str, secret: [u8; 16]) -> Self {
        Self { prefix: prefix.as_bytes().to_vec(), secret }
    }

    /// Where the counters of a plan are. What charges one after another share is worked out once.
    pub(crate) fn seats(&self, plan: &Plan) -> Vec<Seat> {
        let mut seats: Vec<Seat> = Vec::with_capacity(plan.len());
        let mut last: Option<Owner<'_>> = None;
        for charge in plan.charges() {
            let owner = last.filter(|owner| owner.has(charge.key)).unwrap_or_else(|| self.owner(charge.key));
            seats.push(self.seat_with(&owner, charge.key, charge.limit));
            last = Some(owner);
        }
        seats
    }

    /// Where the counter of a limit on a key is. Its value is chosen by what stays when the limit's numbers change.
    pub(crate) fn seat(&self, key: KeyRef<'_>, limit: &Limit) -> Seat {
        self.seat_with(&self.owner(key), key, limit)
    }

    fn seat_with(&self, owner: &Owner<'_>, key: KeyRef<'_>, limit: &Limit) -> Seat {
        let id = self.hash32(&[own_parts(key).0, &limit.identity()]);
        let (form, suffix) = match limit.numbers() {
            Numbers::SlidingLog { .. } => (Form::Log, Some(b'g')),
            Numbers::Concurrency { .. } => (Form::Slots, Some(b's')),
            numbers => (Form::Packed, is_long(&numbers).then_some(b'l')),
        };
        let mut key = self.key(owner.tag, owner.entity, suffix);
        if form != Form::Packed {
            digits(u128::from(id) << 96, 6, &mut key);
        }
        Seat { tag: owner.tag, form, key, id: if form == Form::Packed { id } else { 0 } }
    }

    fn owner<'key>(&self, key: KeyRef<'key>) -> Owner<'key> {
        let (home, rest) = (key.home(), own_parts(key).1);
        Owner { home, rest, tag: self.tag(home), entity: self.hash128(&[home, rest]) }
    }

    /// Where it is written who counts together.
    pub(crate) fn members(&self) -> Vec<u8> {
        [&self.prefix, b"{members}".as_slice()].concat()
    }

    /// Where a server's mark is.
    pub(crate) fn mark(&self, tag: &str) -> Vec<u8> {
        [self.prefix.as_slice(), b"{", tag.as_bytes(), b"}mark"].concat()
    }

    /// The tag of a home.
    pub(crate) fn tag(&self, home: &[u8]) -> Tag {
        let mut tag = Vec::with_capacity(4);
        digits(self.hash128(&[home]), 4, &mut tag);
        tag.try_into().expect("four digits were asked for")
    }

    /// Where a plan's name is remembered, and with which home.
    pub(crate) fn name(&self, key: KeyRef<'_>) -> (Tag, Vec<u8>) {
        let tag = self.tag(key.home());
        (tag, self.key(tag, self.hash128(&[key.bytes()]), Some(b'n')))
    }

    /// Where a home remembers what a ticket holds.
    pub(crate) fn record(&self, tag: Tag, ticket: Ticket) -> Vec<u8> {
        self.key(tag, ticket.0, Some(b'r'))
    }

    /// Where a ticket's plan is written down, and with which tag.
    pub(crate) fn index(&self, ticket: Ticket) -> (Tag, Vec<u8>) {
        let tag = self.tag(&ticket.0.to_be_bytes());
        (tag, self.key(tag, ticket.0, Some(b'i')))
    }

    /// A number that tells apart what is written one behind the other.
    pub(crate) fn fingerprint(&self, bytes: &[u8]) -> [u8; 8] {
        let [first, ..] = halves(self.hash128(&[bytes]));
        first.to_be_bytes()
    }

    fn key(&self, tag: Tag, entity: u128, suffix: Option<u8>) -> Vec<u8> {
        let mut key = Vec::with_capacity(self.prefix.len() + 36);
        key.extend_from_slice(&self.prefix);
        key.push(b'{');
        key.extend_from_slice(&tag);
        key.push(b'}');
        digits(entity, 22, &mut key);
        key.extend(suffix);
        key
    }

    fn hash128(&self, parts: &[&[u8]]) -> u128 {
        let mut hasher = SipHasher24::new_with_key(&self.secret);
        for part in parts {
            hasher.write_u64(part.len() as u64);
            hasher.write(part);
        }
        hasher.finish128().as_u128()
    }

    fn hash32(&self, parts: &[&[u8]]) -> u32 {
        let [first, ..] = halves(self.hash128(parts));
        let [a, b, c, d, ..] = first.to_be_bytes();
        u32::from_be_bytes([a, b, c, d])
    }
}

/// The secret stays in here.
impl std::fmt::Debug for Names {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Names({})", String::from_utf8_lossy(&self.prefix))
    }
}

/// The first of a key's own parts, which is the limit's, and the others, all as they are encoded.
fn own_parts(key: KeyRef<'_>) -> (&[u8], &[u8]) {
    let home = key.home().len();
    let own = &key.bytes()[varint(key.bytes()).1 + home..];
    let (length, behind) = varint(own);
    // A longer part stands in a key as its hash of 16 bytes.
    let length = if length > MAX_PART_BYTES { 16 } else { length };
    own.split_at_checked(behind + length).unwrap_or((own, &[]))
}

/// A number in groups of seven bits, the lowest first, and where it ends.
fn varint(bytes: &[u8]) -> (usize, usize) {
    let mut number = 0;
    for (index, byte) in bytes.iter().enumerate().take(4) {
        number |= usize::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return (number, index + 1);
        }
    }
    (0, 0)
}

/// By what never changes for a counter: windows by their length, calendars as such. Meters have none that stays.
fn is_long(numbers: &Numbers) -> bool {
    match numbers {
        Numbers::FixedWindow { window: Window::Aligned(length) | Window::FirstHit(length), .. } => {
            length.as_micros() >= u128::from(LONG_US)
        }
        Numbers::FixedWindow { window: Window::Calendar(_), .. } => true,
        Numbers::SlidingWindow { part_us, parts, .. } => part_us * u64::from(*parts) >= LONG_US,
        _ => false,
    }
}

/// Writes the highest bits of a number, six a digit (base64url).
fn digits(mut number: u128, count: usize, out: &mut Vec<u8>) {
    for _ in 0..count {
        out.push(DIGITS[usize::from((number >> 122) as u8)]);
        number <<= 6;
    }
}

fn halves(number: u128) -> [u64; 2] {
    let low = number & u128::from(u64::MAX);
    [number >> 64, low].map(|half| u64::try_from(half).expect("a half has 64 bits"))
}

#[cfg(test)]
mod tests;

//! The names of keys: hashes of what callers sent, under a secret that all nodes share, behind a tag that decides the slot.
//!
//! A key is `<prefix>{<tag>}<entity>`: the tag stands for the home, the entity for all parts of a counter's key but the
//! limit's own, so that all limits of one entity are entries of one value. With the default prefix it has 30 bytes.

mod tag;

pub(crate) use tag::Tag;

use std::hash::Hasher as _;

use siphasher::sip::SipHasher13;
use siphasher::sip128::{Hasher128 as _, SipHasher13 as LongHasher};
use smallvec::SmallVec;
use tidegate_core::{EncodedParts, KeyRef, Limit, MAX_PART_BYTES, Numbers, Plan, Ticket, Window};

use crate::settings::Settings;

/// The prefix of keys, unless the operator sets another.
pub const DEFAULT_PREFIX: &str = "t:";

/// Windows of this length and more are kept apart from shorter ones.
const LONG_US: u64 = 3_600_000_000;

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The name of a key, in place with prefixes that are not much longer than the default.
pub(crate) type Text = SmallVec<[u8; 40]>;

/// Makes names.
#[derive(Clone)]
pub(crate) struct Names {
    prefix: Vec<u8>,
    secret: [u8; 16],
    ids: SipHasher13,
    /// Domains and others whose tags tell them: what homes in them begin with, and their part of the tag.
    apart: Vec<(EncodedParts, [u8; 4])>,
}

/// Where a counter is.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Seat {
    pub(crate) tag: Tag,
    pub(crate) form: Form,
    pub(crate) key: Text,
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

/// Whose a counter is: all parts of its key but the limit's own, and the name that is common to its values.
struct Owner<'key> {
    home: &'key [u8],
    rest: &'key [u8],
    tag: Tag,
    stem: Text,
}

impl Owner<'_> {
    fn has(&self, key: KeyRef<'_>) -> bool {
        self.home == key.home() && self.rest == own_parts(key).1
    }
}

impl Names {
    pub(crate) fn new(prefix: &str, secret: [u8; 16]) -> Self {
        let ids = SipHasher13::new_with_key(&secret);
        Self { prefix: prefix.as_bytes().to_vec(), secret, ids, apart: Vec::new() }
    }

    /// As the operator set them.
    pub(crate) fn of(settings: &Settings) -> Self {
        let mut names = Self::new(&settings.prefix, settings.secret);
        for front in &settings.fronts_apart {
            let front: Vec<&[u8]> = front.iter().map(Vec::as_slice).collect();
            names.apart.push((EncodedParts::new(&front), names.front(&front)));
        }
        names
    }

    /// Where the counters of a plan are. What charges one after another share is worked out once.
    pub(crate) fn seats(&self, plan: &Plan) -> Vec<Seat> {
        let mut seats: Vec<Seat> = Vec::with_capacity(plan.len());
        let mut last: Option<Owner<'_>> = None;
        for charge in plan.charges() {
            let owner = match last.take() {
                Some(owner) if owner.has(charge.key) => owner,
                _ => self.owner(charge.key),
            };
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
        let id = self.id(own_parts(key).0, limit);
        let (form, suffix) = match limit.numbers() {
            Numbers::SlidingLog { .. } => (Form::Log, Some(b'g')),
            Numbers::Concurrency { .. } => (Form::Slots, Some(b's')),
            numbers => (Form::Packed, is_long(&numbers).then_some(b'l')),
        };
        let mut key = Text::from_slice(&owner.stem);
        key.extend(suffix);
        if form != Form::Packed {
            key.extend_from_slice(&digits(u128::from(id) << 96)[..6]);
        }
        Seat { tag: owner.tag, form, key, id: if form == Form::Packed { id } else { 0 } }
    }

    fn owner<'key>(&self, key: KeyRef<'key>) -> Owner<'key> {
        let (home, rest) = (key.home(), own_parts(key).1);
        let mut hasher = self.hasher(&[home]);
        let tag = self.tag_of(home, &hasher);
        put(rest, &mut hasher);
        Owner { home, rest, tag, stem: self.stem(tag, hasher.finish128().as_u128()) }
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
        self.tag_of(home, &self.hasher(&[home]))
    }

    /// What stands for what a home begins with, such as a domain, in tags that tell it.
    pub(crate) fn front(&self, front: &[&[u8]]) -> [u8; 4] {
        let mut hasher = self.hasher(&[b"domain"]);
        for part in front {
            put(part, &mut hasher);
        }
        first_digits(&hasher)
    }

    /// Whether homes that begin so tell it in their tags.
    pub(crate) fn is_apart(&self, front: &EncodedParts) -> bool {
        self.apart.iter().any(|(apart, _)| apart == front)
    }

    /// Where a plan's name is remembered, and with which home.
    pub(crate) fn name(&self, key: KeyRef<'_>) -> (Tag, Vec<u8>) {
        let tag = self.tag(key.home());
        (tag, self.key(tag, self.hash128(&[key.bytes()]), b'n'))
    }

    /// Where a home remembers what a ticket holds.
    pub(crate) fn record(&self, tag: Tag, ticket: Ticket) -> Vec<u8> {
        self.key(tag, ticket.0, b'r')
    }

    /// Where a ticket's plan is written down, and with which tag.
    pub(crate) fn index(&self, ticket: Ticket) -> (Tag, Vec<u8>) {
        let tag = self.tag(&ticket.0.to_be_bytes());
        (tag, self.key(tag, ticket.0, b'i'))
    }

    /// A number that tells apart what is written one behind the other.
    pub(crate) fn fingerprint(&self, bytes: &[u8]) -> [u8; 8] {
        let [first, ..] = halves(self.hash128(&[bytes]));
        first.to_be_bytes()
    }

    fn key(&self, tag: Tag, entity: u128, suffix: u8) -> Vec<u8> {
        let mut key = self.stem(tag, entity).into_vec();
        key.push(suffix);
        key
    }

    fn stem(&self, tag: Tag, entity: u128) -> Text {
        let mut stem = Text::from_slice(&self.prefix);
        stem.push(b'{');
        stem.extend_from_slice(&tag);
        stem.push(b'}');
        stem.extend_from_slice(&digits(entity));
        stem
    }

    /// The tag of a home that was hashed.
    fn tag_of(&self, home: &[u8], hasher: &LongHasher) -> Tag {
        let own = first_digits(hasher);
        let apart = self.apart.iter().find(|(front, _)| home.starts_with(front.as_bytes()));
        apart.map_or_else(|| Tag::of(own), |(_, domain)| Tag::within(*domain, own))
    }

    fn hash128(&self, parts: &[&[u8]]) -> u128 {
        self.hasher(parts).finish128().as_u128()
    }

    fn hasher(&self, parts: &[&[u8]]) -> LongHasher {
        let mut hasher = LongHasher::new_with_key(&self.secret);
        for part in parts {
            put(part, &mut hasher);
        }
        hasher
    }

    /// Which entry of a value a limit is, by its name and what never changes of it.
    fn id(&self, name: &[u8], limit: &Limit) -> u32 {
        let mut told: SmallVec<[u8; 64]> = SmallVec::from_slice(&limit.identity());
        told.extend_from_slice(name);
        let [first, second, third, fourth, ..] = self.ids.hash(&told).to_be_bytes();
        u32::from_be_bytes([first, second, third, fourth])
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

/// A part that is hashed, behind its length.
fn put(part: &[u8], hasher: &mut LongHasher) {
    hasher.write_u64(part.len() as u64);
    hasher.write(part);
}

/// Four digits of what was hashed.
fn first_digits(hasher: &LongHasher) -> [u8; 4] {
    let [first, second, third, fourth, ..] = digits(hasher.finish128().as_u128());
    [first, second, third, fourth]
}

/// A number from its highest bits on, six a digit (base64url).
fn digits(mut number: u128) -> [u8; 22] {
    let mut text = [0; 22];
    for digit in &mut text {
        *digit = DIGITS[usize::from((number >> 122) as u8)];
        number <<= 6;
    }
    text
}

fn halves(number: u128) -> [u64; 2] {
    let low = number & u128::from(u64::MAX);
    [number >> 64, low].map(|half| u64::try_from(half).expect("a half has 64 bits"))
}

#[cfg(test)]
mod tests;

//! As much of protobuf's encoding as Envoy's call needs: fields one after another, in bytes that are not copied.

/// How deep groups may stand in each other. Nobody sends any.
const DEEPEST: u8 = 100;

/// The bytes are no message, or none of this kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unreadable(&'static str);

/// What a field holds, by how it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value<'b> {
    Number(u64),
    Bytes(&'b [u8]),
    /// Four or eight bytes, or a group: nothing that we know is written so.
    Other,
}

/// The fields of a message, with their numbers.
pub(super) struct Fields<'b>(&'b [u8]);

impl<'b> Fields<'b> {
    pub(super) const fn new(message: &'b [u8]) -> Self {
        Self(message)
    }

    pub(super) fn next(&mut self) -> Result<Option<(u32, Value<'b>)>, Unreadable> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let (number, kind) = self.tag()?;
        self.value(number, kind, 0).map(|value| Some((number, value)))
    }

    fn tag(&mut self) -> Result<(u32, u8), Unreadable> {
        let tag =
            u32::try_from(self.varint()?).map_err(|_| Unreadable("the number of a field is too large"))?;
        match tag >> 3 {
            0 => Err(Unreadable("a field has the number 0")),
            number => Ok((number, (tag & 7) as u8)),
        }
    }

    #[inline]
    fn value(&mut self, number: u32, kind: u8, depth: u8) -> Result<Value<'b>, Unreadable> {
        match kind {
            0 => self.varint().map(Value::Number),
            2 => {
                let length = self.varint()?;
                let length = usize::try_from(length).map_err(|_| END)?;
                self.take(length).map(Value::Bytes)
            }
            _ => self.other(number, kind, depth),
        }
    }

    #[inline(never)]
    fn other(&mut self, number: u32, kind: u8, depth: u8) -> Result<Value<'b>, Unreadable> {
        match kind {
            1 => self.take(8).map(|_| Value::Other),
            3 => self.group(number, depth).map(|()| Value::Other),
            5 => self.take(4).map(|_| Value::Other),
            _ => Err(Unreadable("a field is written in an unknown way")),
        }
    }

    fn group(&mut self, number: u32, depth: u8) -> Result<(), Unreadable> {
        if depth == DEEPEST {
            return Err(Unreadable("groups stand too deep in each other"));
        }
        loop {
            match self.tag()? {
                (end, 4) if end == number => return Ok(()),
                (_, 4) => return Err(Unreadable("a group ends that did not begin")),
                (inner, kind) => self.value(inner, kind, depth + 1).map(drop)?,
            }
        }
    }

    #[inline]
    fn varint(&mut self) -> Result<u64, Unreadable> {
        match self.0.split_first() {
            Some((byte @ 0..0x80, rest)) => {
                self.0 = rest;
                Ok((*byte).into())
            }
            _ => self.long_varint(),
        }
    }

    #[inline(never)]
    fn long_varint(&mut self) -> Result<u64, Unreadable> {
        let mut number = 0_u64;
        for (place, byte) in self.0.iter().take(10).enumerate() {
            let (bits, shift) = (u64::from(byte & 0x7F), 7 * place);
            if shift == 63 && bits > 1 {
                return Err(Unreadable("a number is too large"));
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                self.0 = &self.0[place + 1..];
                return Ok(number);
            }
        }
        Err(if self.0.len() < 10 { END } else { Unreadable("a number is too long") })
    }

    fn take(&mut self, length: usize) -> Result<&'b [u8], Unreadable> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(END)?;
        self.0 = rest;
        Ok(taken)
    }
}

const END: Unreadable = Unreadable("the message ends too early");
const KIND: Unreadable = Unreadable("a field is written as another kind");

impl<'b> Value<'b> {
    pub(super) fn number(self) -> Result<u64, Unreadable> {
        match self {
            Self::Number(number) => Ok(number),
            Self::Bytes(_) | Self::Other => Err(KIND),
        }
    }

    pub(super) fn bytes(self) -> Result<&'b [u8], Unreadable> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::Number(_) | Self::Other => Err(KIND),
        }
    }

    pub(super) fn text(self) -> Result<&'b str, Unreadable> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Unreadable("a text is not in UTF-8"))
    }
}

/// Writes a message. What has nothing to say is left out.
#[derive(Debug, Default)]
pub(super) struct Writer(pub(super) Vec<u8>);

impl Writer {
    pub(super) fn number(&mut self, field: u8, number: u64) {
        match number {
            0 => {}
            1..0x80 => self.0.extend_from_slice(&[field << 3, low(number)]),
            _ => {
                self.0.push(field << 3);
                self.varint(number);
            }
        }
    }

    pub(super) fn double(&mut self, field: u8, number: f64) {
        self.0.push(field << 3 | 1);
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    pub(super) fn bytes(&mut self, field: u8, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.bytes_or_none(field, bytes);
        }
    }

    /// Where it matters that it is there, even if it is empty.
    pub(super) fn bytes_or_none(&mut self, field: u8, bytes: &[u8]) {
        if let Ok(short @ 0..0x80) = u8::try_from(bytes.len()) {
            self.0.extend_from_slice(&[field << 3 | 2, short]);
        } else {
            self.0.push(field << 3 | 2);
            self.varint(bytes.len() as u64);
        }
        self.0.extend_from_slice(bytes);
    }

    /// An entry of a map, in the map's field 1, with bytes in that field of its value. Nearly all are so short that every
    /// length is one byte, and known before; `false`, and nothing is written, if this one is not.
    pub(super) fn short_entry(&mut self, key: &[u8], (field, bytes): (u8, &[u8])) -> bool {
        let (Ok(key_length), Ok(length)) = (u8::try_from(key.len()), u8::try_from(bytes.len())) else {
            return false;
        };
        // The key, the value and the bytes in it each have a tag and a length before them.
        let whole = key.len() + bytes.len() + 6;
        let Ok(whole @ 0..0x80) = u8::try_from(whole) else { return false };
        self.0.extend_from_slice(&[1 << 3 | 2, whole, 1 << 3 | 2, key_length]);
        self.0.extend_from_slice(key);
        self.0.extend_from_slice(&[2 << 3 | 2, length + 2, field << 3 | 2, length]);
        self.0.extend_from_slice(bytes);
        true
    }

    /// A message in a message. Nearly all are shorter than 128 bytes, so one byte is left for the length.
    pub(super) fn message(&mut self, field: u8, write: impl FnOnce(&mut Self)) {
        self.0.extend_from_slice(&[field << 3 | 2, 0]);
        let start = self.0.len();
        write(self);
        let length = self.0.len() - start;
        match u8::try_from(length) {
            Ok(short @ 0..0x80) => self.0[start - 1] = short,
            _ => self.make_room(start, length),
        }
    }

    /// For the length of a message that was written with one byte left for it.
    fn make_room(&mut self, start: usize, length: usize) {
        let (end, bytes) = (self.0.len(), (usize::BITS - length.leading_zeros()).div_ceil(7) as usize);
        self.0.resize(end + bytes - 1, 0);
        self.0.copy_within(start..end, start + bytes - 1);
        for (place, byte) in self.0[start - 1..].iter_mut().take(bytes).enumerate() {
            let more = if place + 1 < bytes { 0x80 } else { 0 };
            *byte = low((length >> (7 * place)) as u64) & 0x7F | more;
        }
    }

    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(low(number) | 0x80);
            number >>= 7;
        }
        self.0.push(low(number));
    }
}

/// The lowest byte.
const fn low(number: u64) -> u8 {
    number.to_le_bytes()[0]
}

//! A `RateLimitRequest` from protobuf.

use smallvec::{Array, SmallVec};

use super::protobuf::{Fields, Unreadable};
use super::texts::Texts;
use super::{LimitOverride, RateLimitRequest, RequestDescriptor, TimeUnit};

/// How much a request may hold. A few bytes of a message can stand for much memory, so decoding stops at the bounds.
#[derive(Clone, Copy, Debug)]
pub struct MessageBounds {
    /// The most descriptors.
    pub descriptors: usize,
    /// The most entries of a descriptor.
    pub entries: usize,
}

/// A message that is no request.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes are no message of this kind.
    #[error("the message cannot be read: {0}")]
    Unreadable(#[from] Unreadable),
    /// Too many of something.
    #[error("the check has {count} {what} and the most is {most}")]
    TooMany {
        /// What there are too many of.
        what: &'static str,
        /// How many there are at least.
        count: usize,
        /// The most.
        most: usize,
    },
}

/// Decodes a request into an empty one, because requests are large. As protobuf defines it, unknown fields are skipped, of
/// a field that is there twice the last counts, and messages are merged. A value that is not UTF-8 is made text: a client may
/// have sent it, and Envoy lets requests pass for which it gets an error.
pub fn decode_request<'b>(
    message: &'b [u8],
    texts: &'b Texts,
    bounds: MessageBounds,
    request: &mut RateLimitRequest<'b>,
) -> Result<(), DecodeError> {
    let mut fields = Fields::new(message);
    while let Some((field, value)) = fields.next()? {
        match field {
            1 => request.domain = value.text()?,
            2 => {
                let descriptor = descriptor(value.bytes()?, texts, bounds)?;
                push(&mut request.descriptors, descriptor, ("descriptors", bounds.descriptors))?;
            }
            3 => request.hits = u64::from(narrow(value.number()?)),
            _ => {}
        }
    }
    Ok(())
}

/// One more, unless there are too many.
fn push<A: Array>(
    list: &mut SmallVec<A>,
    item: A::Item,
    (what, most): (&'static str, usize),
) -> Result<(), DecodeError> {
    if list.len() == most {
        return Err(DecodeError::TooMany { what, count: most + 1, most });
    }
    list.push(item);
    Ok(())
}

fn descriptor<'b>(
    message: &'b [u8],
    texts: &'b Texts,
    bounds: MessageBounds,
) -> Result<RequestDescriptor<'b>, DecodeError> {
    let mut descriptor = RequestDescriptor::default();
    let mut fields = Fields::new(message);
    while let Some((field, value)) = fields.next()? {
        match field {
            1 => push(&mut descriptor.entries, entry(value.bytes()?, texts)?, ("entries", bounds.entries))?,
            2 => descriptor.limit = Some(limit(value.bytes()?, descriptor.limit)?),
            3 => descriptor.hits = Some(hits(value.bytes()?, descriptor.hits)?),
            4 => descriptor.negative = value.number()? != 0,
            _ => {}
        }
    }
    Ok(descriptor)
}

fn entry<'b>(message: &'b [u8], texts: &'b Texts) -> Result<(&'b str, &'b str), Unreadable> {
    let (mut key, mut last) = ("", &b""[..]);
    let mut fields = Fields::new(message);
    while let Some((field, value)) = fields.next()? {
        match field {
            1 => key = value.text()?,
            2 => last = value.bytes()?,
            _ => {}
        }
    }
    Ok((key, texts.text(last)))
}

fn limit(message: &[u8], known: Option<LimitOverride>) -> Result<LimitOverride, Unreadable> {
    let mut limit = known.unwrap_or(LimitOverride { amount: 0, unit: TimeUnit::Unknown });
    let mut fields = Fields::new(message);
    while let Some((field, value)) = fields.next()? {
        match field {
            1 => limit.amount = narrow(value.number()?),
            2 => limit.unit = TimeUnit::from_number(narrow(value.number()?).cast_signed()),
            _ => {}
        }
    }
    Ok(limit)
}

/// A number that can be told from one that is not there: a message around it.
fn hits(message: &[u8], known: Option<u64>) -> Result<u64, Unreadable> {
    let mut hits = known.unwrap_or(0);
    let mut fields = Fields::new(message);
    while let Some((field, value)) = fields.next()? {
        if field == 1 {
            hits = value.number()?;
        }
    }
    Ok(hits)
}

/// Of a number that is too large for its field, protobuf takes the lower bits.
#[expect(clippy::cast_possible_truncation, reason = "as protobuf wants it")]
const fn narrow(number: u64) -> u32 {
    number as u32
}

//! What Envoy sends.

use smallvec::{Array, SmallVec};
use tidegate_engine::Malformed;
use tidegate_engine::check::{MAX_DESCRIPTORS, MAX_ENTRIES};

use super::protobuf::{Fields, Unreadable};
use super::texts::Texts;
use crate::ratelimit::{Asked, AskedLimit, Request, Unit};

/// Why there is nothing to ask.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Wrong {
    #[error("the message cannot be read: {0}")]
    Unreadable(#[from] Unreadable),
    #[error("{0}")]
    Malformed(#[from] Malformed),
}

/// A `RateLimitRequest`, into an empty one: they are large. As protobuf wants it: what is unknown is passed over, of what is
/// there twice the last counts, and messages are merged. But a value that is no text is made one: it may be what a client sent, and
/// Envoy lets requests pass that it gets an error for.
pub(super) fn request<'b>(
    message: &'b [u8],
    texts: &'b Texts,
    request: &mut Request<'b>,
) -> Result<(), Wrong> {
    let mut fields = Fields::new(message);
    while let Some((field, value)) = fields.next()? {
        match field {
            1 => request.domain = value.text()?,
            2 => {
                let asked = asked(value.bytes()?, texts)?;
                push(&mut request.descriptors, asked, ("descriptors", MAX_DESCRIPTORS))?;
            }
            3 => request.hits = u64::from(narrow(value.number()?)),
            _ => {}
        }
    }
    Ok(())
}

/// One more, unless there are too many: some take a hundred times the room that they had in the message.
fn push<A: Array>(
    list: &mut SmallVec<A>,
    item: A::Item,
    (what, most): (&'static str, usize),
) -> Result<(), Malformed> {
    if list.len() == most {
        return Err(Malformed::TooMany { what, count: most + 1, most });
    }
    list.push(item);
    Ok(())
}

fn asked<'b>(message: &'b [u8], texts: &'b Texts) -> Result<Asked<'b>, Wrong> {
    let mut asked = Asked::default();
    let mut fields = Fields::new(message);
    while let Some((field, value)) = fields.next()? {
        match field {
            1 => push(&mut asked.entries, entry(value.bytes()?, texts)?, ("entries", MAX_ENTRIES))?,
            2 => asked.limit = Some(limit(value.bytes()?, asked.limit)?),
            3 => asked.hits = Some(hits(value.bytes()?, asked.hits)?),
            4 => asked.negative = value.number()? != 0,
            _ => {}
        }
    }
    Ok(asked)
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

fn limit(message: &[u8], known: Option<AskedLimit>) -> Result<AskedLimit, Unreadable> {
    let mut limit = known.unwrap_or(AskedLimit { amount: 0, unit: Unit::Unknown });
    let mut fields = Fields::new(message);
    while let Some((field, value)) = fields.next()? {
        match field {
            1 => limit.amount = narrow(value.number()?),
            2 => limit.unit = Unit::from_number(narrow(value.number()?).cast_signed()),
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

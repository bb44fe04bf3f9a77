//! What Envoy sends.

use super::protobuf::{Fields, Unreadable};
use crate::ratelimit::{Asked, AskedLimit, Request, Unit};

/// A `RateLimitRequest`, into an empty one: they are large. As protobuf wants it: what is unknown is passed over, of what is
/// there twice the last counts, and messages are merged.
pub(super) fn request<'b>(message: &'b [u8], request: &mut Request<'b>) -> Result<(), Unreadable> {
    let mut fields = Fields::new(message);
    while let Some((field, value)) = fields.next()? {
        match field {
            1 => request.domain = value.text()?,
            2 => request.descriptors.push(asked(value.bytes()?)?),
            3 => request.hits = u64::from(narrow(value.number()?)),
            _ => {}
        }
    }
    Ok(())
}

fn asked(message: &[u8]) -> Result<Asked<'_>, Unreadable> {
    let mut asked = Asked::default();
    let mut fields = Fields::new(message);
    while let Some((field, value)) = fields.next()? {
        match field {
            1 => asked.entries.push(entry(value.bytes()?)?),
            2 => asked.limit = Some(limit(value.bytes()?, asked.limit)?),
            3 => asked.hits = Some(hits(value.bytes()?, asked.hits)?),
            4 => asked.negative = value.number()? != 0,
            _ => {}
        }
    }
    Ok(asked)
}

fn entry(message: &[u8]) -> Result<(&str, &str), Unreadable> {
    let mut entry = ("", "");
    let mut fields = Fields::new(message);
    while let Some((field, value)) = fields.next()? {
        match field {
            1 => entry.0 = value.text()?,
            2 => entry.1 = value.text()?,
            _ => {}
        }
    }
    Ok(entry)
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

//! Charges of which all is known beforehand but the values that they count by, and what they cost.

use super::short::ShortKey;
use super::{Entry, Pay, Plan, PlanError, key_end, length_bit};
use crate::key::{
    EncodedParts, KeyTooLong, MAX_KEY_BYTES, part_len, varint_len, write_bytes, write_part, write_varint,
};
use crate::limit::Limit;

/// A limit on counters whose keys have at most one part that is not known yet in their home, and one behind it.
#[derive(Clone, Debug)]
pub struct PreparedCharge {
    /// What they are held to.
    pub limit: Limit,
    /// Their keys, if what is known of them is short.
    short: Option<ShortKey>,
    front: EncodedParts,
    back: EncodedParts,
}

/// The parts of a key that a [`PreparedCharge`] lacks.
#[derive(Clone, Copy, Default)]
pub struct Values<'a> {
    /// What ends the home, if there is one.
    pub home: Option<&'a [u8]>,
    /// What comes last, if there is one.
    pub own: Option<&'a [u8]>,
}

impl PreparedCharge {
    /// From what the home of the keys begins with, what comes behind their home, and what the counters are held to.
    pub fn new(front: EncodedParts, back: EncodedParts, limit: Limit) -> Self {
        Self { limit, short: ShortKey::new(&front, &back), front, back }
    }
}

impl Plan {
    /// Adds a charge that was prepared to the current group; it pays if it is admitted.
    #[inline]
    pub fn charge_prepared(
        &mut self,
        prepared: &PreparedCharge,
        values: &Values<'_>,
        cost: u64,
    ) -> Result<(), PlanError> {
        if self.charge_short(prepared, values, cost) {
            Ok(())
        } else {
            self.charge_long(prepared, values, cost)
        }
    }

    /// The same in a few steps: `false`, and nothing is added, if the key is not short, or another is as long.
    #[inline(never)]
    fn charge_short(&mut self, prepared: &PreparedCharge, values: &Values<'_>, cost: u64) -> bool {
        let Some((key, (start, room))) = prepared.short.as_ref().zip(self.keys.room()) else { return false };
        let Some(bytes) = key.write(values.home, room) else { return false };
        let end = match values.own {
            Some(own) => self.keys.write_short(start + bytes, own),
            None => Some(start + bytes),
        };
        let Some(end) = end else { return false };
        let length = length_bit(end - start);
        if self.lengths & length != 0 {
            return false;
        }
        self.lengths |= length;
        self.keys.take(end);
        let (key_end, group, pay) = (key_end(end), self.groups, Pay::IfAdmitted);
        self.entries.push(Entry { key_end, group, pay, cost, limit: prepared.limit });
        true
    }

    /// The same for all keys.
    #[inline(never)]
    fn charge_long(
        &mut self,
        PreparedCharge { limit, front, back, .. }: &PreparedCharge,
        values: &Values<'_>,
        cost: u64,
    ) -> Result<(), PlanError> {
        let home_bytes = front.len() + values.home.map_or(0, part_len);
        let bytes = varint_len(home_bytes) + home_bytes + back.len() + values.own.map_or(0, part_len);
        if bytes > MAX_KEY_BYTES {
            return Err(KeyTooLong { bytes }.into());
        }
        let start = self.keys.len();
        let rest = write_bytes(write_varint(self.keys.grow(bytes), home_bytes), front.bytes());
        let rest = write_bytes(write_value(rest, values.home), back.bytes());
        write_value(rest, values.own);
        self.push(start, limit, cost, Pay::IfAdmitted)
    }
}

#[inline]
fn write_value<'o>(out: &'o mut [u8], value: Option<&[u8]>) -> &'o mut [u8] {
    match value {
        Some(value) => write_part(out, value),
        None => out,
    }
}

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
        let is_charged = match values.own {
            None => self.charge_short(prepared, values.home, cost),
            Some(own) => self.charge_short_with(prepared, (values.home, own), cost),
        };
        if is_charged { Ok(()) } else { self.charge_long(prepared, values, cost) }
    }

    /// The same in a few steps: `false`, and nothing is added, if the key is not short, another is as long, or there is no
    /// room in place. It calls nothing, so that it has nothing to keep meanwhile.
    #[inline(never)]
    fn charge_short(&mut self, prepared: &PreparedCharge, home: Option<&[u8]>, cost: u64) -> bool {
        let Some((key, (start, room))) = prepared.short.as_ref().zip(self.keys.room()) else { return false };
        let Some(bytes) = key.write(home, room) else { return false };
        self.push_short(start, start + bytes, (&prepared.limit, cost))
    }

    /// The same with a value behind the home.
    #[inline(never)]
    fn charge_short_with(
        &mut self,
        prepared: &PreparedCharge,
        (home, own): (Option<&[u8]>, &[u8]),
        cost: u64,
    ) -> bool {
        let Some((key, (start, room))) = prepared.short.as_ref().zip(self.keys.room()) else { return false };
        let Some(bytes) = key.write(home, room) else { return false };
        let Some(end) = self.keys.write_short(start + bytes, own) else { return false };
        self.push_short(start, end, (&prepared.limit, cost))
    }

    /// Adds a charge on the key that was written at the end of all others, if no other is as long, and there is room.
    #[inline]
    fn push_short(&mut self, start: usize, end: usize, (limit, cost): (&Limit, u64)) -> bool {
        let length = length_bit(end - start);
        let has_room = !self.entries.spilled() && self.entries.len() < self.entries.inline_size();
        if self.lengths & length != 0 || !has_room {
            return false;
        }
        self.lengths |= length;
        self.keys.take(end);
        let (key_end, group, pay) = (key_end(end), self.groups, Pay::IfAdmitted);
        self.entries.push(Entry { key_end, group, pay, cost, limit: *limit });
        true
    }

    /// The same for all keys.
    #[cold]
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

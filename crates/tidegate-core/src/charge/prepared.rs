//! Charges of which all is known beforehand but the values that they count by, and what they cost.

use super::{Pay, Plan, PlanError};
use crate::key::{
    EncodedParts, KeyTooLong, MAX_KEY_BYTES, part_len, varint_len, write_bytes, write_part, write_varint,
};
use crate::limit::Limit;

/// A limit on counters whose keys have at most one part that is not known yet in their home, and one behind it.
#[derive(Clone, Debug)]
pub struct PreparedCharge {
    /// What their home begins with.
    pub front: EncodedParts,
    /// What comes behind their home.
    pub back: EncodedParts,
    /// What they are held to.
    pub limit: Limit,
}

/// The parts of a key that a [`PreparedCharge`] lacks.
#[derive(Clone, Copy, Default)]
pub struct Values<'a> {
    /// What ends the home, if there is one.
    pub home: Option<&'a [u8]>,
    /// What comes last, if there is one.
    pub own: Option<&'a [u8]>,
}

impl Plan {
    /// Adds a charge that was prepared to the current group; it pays if it is admitted.
    pub fn charge_prepared(
        &mut self,
        prepared: &PreparedCharge,
        values: Values<'_>,
        cost: u64,
    ) -> Result<(), PlanError> {
        let PreparedCharge { front, back, limit } = prepared;
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

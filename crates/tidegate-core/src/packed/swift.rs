//! One step of a common limit on a narrow state as it lies there: the same as unpacking it, [`Limit::step`], and packing what
//! is left, with nothing in between.

use super::{Mark, PACKED_BITS, Packed, PackedForm, Packing, SMALL_BITS, fit, instant, low, timed};
use crate::limit::{Kind, Limit};
use crate::time::Timestamp;
use crate::verdict::{Outcome, Verdict};

impl Packing {
    /// What an admission of `cost` makes of a narrow state, and the verdict on it. `None` if it is not admitted, or if this is
    /// not the way for it: above all, if the limit `left_by` which it was left has other numbers.
    #[inline]
    pub fn admit_swiftly(
        self,
        (limit, left_by): (&Limit, &Limit),
        word: u64,
        now: Timestamp,
        cost: u64,
    ) -> Option<(u64, Verdict)> {
        // Also so that no sum below can be more than a number holds.
        if cost > limit.capacity() {
            return None;
        }
        let (left, used, reset_at_us) = match (self.form, &limit.kind, &left_by.kind) {
            (PackedForm::Meter { part_bits: 0 }, Kind::Meter(meter), Kind::Meter(other))
                if meter == other && !meter.is_shaping() =>
            {
                let per_us = meter.rate().per_us();
                let (level, since_us) = level(word, per_us, now)?;
                let used = level + cost;
                let reset_at_us = since_us + used * per_us;
                (timed(since_us, fit(used, SMALL_BITS)?), used, reset_at_us)
            }
            (PackedForm::Aligned { length_us, index_bits }, Kind::FixedWindow(a), Kind::FixedWindow(b))
                if a == b =>
            {
                let (now_index, count_bits) = (now.as_micros() / length_us, PACKED_BITS - index_bits);
                let index = low(now_index, index_bits);
                // A window that is not the present one has passed, or the clock was set back.
                let count = if word >> count_bits == index { low(word, count_bits) } else { 0 };
                let is_odd = word >> count_bits != index
                    && low(word, count_bits) > 0
                    && low(index.wrapping_sub(word >> count_bits), index_bits) > 1 << (index_bits - 1);
                let used = count + cost;
                let word = index << count_bits | fit(used, count_bits)?;
                (!is_odd).then_some((word, used, (now_index + 1) * length_us))?
            }
            _ => return None,
        };
        let capacity = limit.capacity();
        let remaining = capacity.checked_sub(used)?;
        let reset_after_us = reset_at_us.saturating_sub(now.as_micros());
        Some((
            left,
            Verdict { outcome: Outcome::Allowed, limit: capacity, remaining, debt: 0, reset_after_us },
        ))
    }
}

impl Packing {
    /// The same for a wide state of a meter.
    #[inline]
    pub fn admit_wide_swiftly(
        self,
        (limit, left_by): (&Limit, &Limit),
        packed: Packed,
        now: Timestamp,
        cost: u64,
    ) -> Option<(Packed, Verdict)> {
        let (PackedForm::WideMeter, Kind::Meter(meter), Kind::Meter(other)) =
            (self.form, &limit.kind, &left_by.kind)
        else {
            return None;
        };
        if meter != other || meter.is_shaping() || cost > meter.capacity() {
            return None;
        }
        let [used, part] = packed.more;
        let state = (used > 0).then(|| meter.stored(used, Mark { us: packed.word, part }));
        let (outcome, left, standing) = meter.step(state.as_ref(), now, cost);
        let left = left?;
        let more = [left.used(), left.since().part];
        let packed = Packed { word: fit(left.since().us, PACKED_BITS)?, more };
        let reset_after_us = standing.reset_at_us.saturating_sub(now.as_micros());
        let remaining = meter.capacity().checked_sub(standing.used)?;
        Some((packed, Verdict { outcome, limit: meter.capacity(), remaining, debt: 0, reset_after_us }))
    }
}

/// The level of a meter that loses a unit every so often, and since when.
#[inline]
fn level(word: u64, per_us: u64, now: Timestamp) -> Option<(u64, u64)> {
    let (now_us, stored) = (now.as_micros(), low(word, SMALL_BITS));
    if stored == 0 {
        return Some((0, now_us));
    }
    let since_us = instant(word, now);
    let elapsed_us = now_us.checked_sub(since_us)?;
    let drained = elapsed_us / per_us;
    if drained >= stored { Some((0, now_us)) } else { Some((stored - drained, since_us + drained * per_us)) }
}

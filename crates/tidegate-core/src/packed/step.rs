//! One step of a common limit on a packed state as it lies there: the same as unpacking it, [`Limit::step`], and packing what
//! is left, with nothing in between.

use super::{PACKED_BITS, Packed, PackedForm, Packing, SMALL_BITS, fit, half_of, instant, low, timed};
use crate::algorithm::meter::Meter;
use crate::limit::{Kind, Limit};
use crate::rate::{scaled_down, scaled_up};
use crate::time::Timestamp;
use crate::verdict::{Outcome, Retry, Verdict};

/// A step on a counter that has so many units used.
#[derive(Clone, Copy)]
struct Asked {
    capacity: u64,
    used: u64,
    cost: u64,
    now_us: u64,
}

impl Packing {
    /// What a charge of `cost` leaves of a packed state, if it is admitted, and the verdict on it. `None` if the state has to
    /// be unpacked: above all if the limit that it was `left_by` has other numbers.
    ///
    /// To unpack, step and pack takes the memory store 65 % more instructions for one narrow counter, 68 % more for
    /// a wide one and 81 % more for four (`examples/instructions.rs` there; cases `narrow`, `wide`, `four`).
    #[expect(clippy::inline_always, reason = "a decision is mostly this, and it is called at few places")]
    #[inline(always)]
    pub fn step_packed(
        self,
        (limit, left_by): (&Limit, &Limit),
        packed: Packed,
        now: Timestamp,
        cost: u64,
    ) -> Option<(Option<Packed>, Verdict)> {
        // Also so that no sum below can be more than a number holds.
        if cost > limit.capacity() {
            return None;
        }
        let (now_us, word) = (now.as_micros(), packed.word);
        let (left, verdict) = match (self.form, &limit.kind, &left_by.kind) {
            (PackedForm::Meter { part_bits: 0 }, Kind::Meter(meter), Kind::Meter(other))
                if meter == other && !meter.is_shaping() =>
            {
                let (stored, per_us) = (low(word, SMALL_BITS), meter.rate().per_us());
                let (used, since_us) = level((stored, instant(word, now)), per_us, now_us)?;
                let asked = Asked { capacity: meter.capacity(), used, cost, now_us };
                match asked.wanted() {
                    Ok(wanted) => {
                        let left = timed(since_us, fit(wanted, SMALL_BITS)?);
                        (Some(left), asked.admitted(since_us + wanted * per_us, since_us + per_us))
                    }
                    Err(missing) => {
                        (None, asked.refused(since_us + used * per_us, since_us + missing * per_us))
                    }
                }
            }
            (PackedForm::Aligned { length_us, index_bits }, Kind::FixedWindow(a), Kind::FixedWindow(b))
                if a == b =>
            {
                let (index, count_bits) = (now_us / length_us, PACKED_BITS - index_bits);
                let used = match age(word, index, index_bits)? {
                    0 => low(word, count_bits),
                    _ => 0,
                };
                let asked = Asked { capacity: a.amount(), used, cost, now_us };
                let end_us = (index + 1) * length_us;
                match asked.wanted() {
                    Ok(wanted) => {
                        let left = low(index, index_bits) << count_bits | fit(wanted, count_bits)?;
                        (Some(left), asked.admitted(end_us, end_us))
                    }
                    Err(_) => (None, asked.refused(end_us, end_us)),
                }
            }
            (
                PackedForm::Buckets { length_us, index_bits },
                Kind::SlidingWindow(a),
                Kind::SlidingWindow(b),
            ) if a == b => buckets(word, (length_us, index_bits), (a.amount(), cost), now_us)?,
            (PackedForm::WideMeter, Kind::Meter(meter), Kind::Meter(other))
                if meter == other && !meter.is_shaping() =>
            {
                return step_wide(meter, packed, now_us, cost);
            }
            _ => return None,
        };
        Some((left.map(|word| Packed { word, ..Packed::default() }), verdict))
    }

    /// Whether nothing of a state counts any more; the same as [unpacking](Packing::unpack) it and asking when it is empty, which
    /// takes 15 % more instructions for each new counter of a growing table (`examples/instructions.rs` of the store, case `new`).
    #[inline]
    pub fn is_spent(self, limit: &Limit, packed: Packed, now: Timestamp) -> bool {
        let (used, since_us) = match (self.form, packed.more) {
            (PackedForm::WideMeter, [used, 0]) => (used, packed.word),
            (PackedForm::Meter { part_bits: 0 }, _) => {
                (low(packed.word, SMALL_BITS), instant(packed.word, now))
            }
            _ => return self.unpack(limit, packed, now).empty_at() <= now,
        };
        match &limit.kind {
            Kind::Meter(meter) if meter.rate().units() == 1 && used > 0 => {
                since_us.saturating_add(used.saturating_mul(meter.rate().per_us())) <= now.as_micros()
            }
            _ => self.unpack(limit, packed, now).empty_at() <= now,
        }
    }
}

impl Asked {
    /// What is used with the charge, or by how much that is too much.
    #[inline]
    const fn wanted(self) -> Result<u64, u64> {
        let wanted = self.used + self.cost;
        if wanted <= self.capacity { Ok(wanted) } else { Err(wanted - self.capacity) }
    }

    #[inline]
    const fn admitted(self, reset_at_us: u64, next_at_us: u64) -> Verdict {
        let used = self.used + self.cost;
        Verdict {
            outcome: Outcome::Allowed,
            limit: self.capacity,
            remaining: self.capacity - used,
            debt: 0,
            reset_after_us: reset_at_us.saturating_sub(self.now_us),
            next_after_us: if used == 0 { 0 } else { next_at_us.saturating_sub(self.now_us) },
        }
    }

    #[inline]
    const fn refused(self, reset_at_us: u64, passes_at_us: u64) -> Verdict {
        Verdict {
            outcome: Outcome::Refused(Retry::After(passes_at_us.saturating_sub(self.now_us))),
            limit: self.capacity,
            remaining: self.capacity.saturating_sub(self.used),
            debt: self.used.saturating_sub(self.capacity),
            reset_after_us: reset_at_us.saturating_sub(self.now_us),
            next_after_us: 0,
        }
    }
}

/// A step of a meter whose state is wide.
#[inline]
fn step_wide(meter: &Meter, packed: Packed, now_us: u64, cost: u64) -> Option<(Option<Packed>, Verdict)> {
    let [stored, part] = packed.more;
    let (units, per_us) = (meter.rate().units(), meter.rate().per_us());
    if units != 1 || part != 0 {
        return None;
    }
    let (used, since_us) = level((stored, packed.word), per_us, now_us)?;
    let asked = Asked { capacity: meter.capacity(), used, cost, now_us };
    let after = |units: u64| since_us.checked_add(units.checked_mul(per_us)?);
    Some(match asked.wanted() {
        Ok(wanted) => {
            let left = Packed { word: fit(since_us, PACKED_BITS)?, more: [wanted, 0] };
            (Some(left), asked.admitted(after(wanted)?, after(1)?))
        }
        Err(missing) => (None, asked.refused(after(used)?, after(missing)?)),
    })
}

/// The level of a meter that loses a unit every so often, from what was stored when; and since when it is that.
#[expect(clippy::inline_always, reason = "a dozen instructions, called once for each width")]
#[inline(always)]
fn level((stored, since_us): (u64, u64), per_us: u64, now_us: u64) -> Option<(u64, u64)> {
    if stored == 0 {
        return Some((0, now_us));
    }
    let elapsed_us = now_us.checked_sub(since_us)?;
    // A division takes longer than to see that there is nothing to divide.
    let drained = if elapsed_us < per_us { 0 } else { elapsed_us / per_us };
    Some(if drained >= stored { (0, now_us) } else { (stored - drained, since_us + drained * per_us) })
}

/// How many windows ago that of a word was; `None` if it is ahead: the clock was set back.
#[inline]
fn age(word: u64, index: u64, index_bits: u32) -> Option<u64> {
    let age = low(index.wrapping_sub(word >> (PACKED_BITS - index_bits)), index_bits);
    let is_ahead = age >= 3 << (index_bits - 2) && low(word, PACKED_BITS - index_bits) > 0;
    (!is_ahead).then_some(age)
}

/// A step of two weighted buckets.
#[inline]
fn buckets(
    word: u64,
    (length_us, index_bits): (u64, u32),
    (capacity, cost): (u64, u64),
    now_us: u64,
) -> Option<(Option<u64>, Verdict)> {
    let (index, half) = (now_us / length_us, half_of(index_bits));
    let start_us = index * length_us;
    let [first, second] = [low(word >> half, half), low(word, half)];
    let [newest, oldest] = match age(word, index, index_bits)? {
        0 => [first, second],
        1 => [0, first],
        _ => [0, 0],
    };
    let used =
        newest + if oldest == 0 { 0 } else { scaled_up(oldest, start_us + length_us - now_us, length_us) };
    let asked = Asked { capacity, used, cost, now_us };
    let faded_us =
        |room: u64, fading: u64| length_us.saturating_sub(scaled_down(room, length_us, fading.max(1)));
    if let Ok(wanted) = asked.wanted() {
        let newest = newest + cost;
        let counts = fit(newest, half)? << half | oldest;
        let left = low(index, index_bits) << (PACKED_BITS - index_bits) | counts;
        // The next unit is available when one has faded: of the oldest count, or else of the newest.
        let next_at_us = match wanted.checked_sub(newest + 1) {
            Some(room) => start_us + faded_us(room, oldest),
            None => start_us + length_us + faded_us(wanted.saturating_sub(1), newest),
        };
        return Some((Some(left), asked.admitted(start_us + 2 * length_us, next_at_us)));
    }
    // Until the oldest has faded enough; or, if that is all of it, until then and the newest has.
    let passes_at_us = match capacity.checked_sub(newest + cost) {
        Some(room) => start_us + faded_us(room, oldest),
        None => start_us + length_us + faded_us(capacity - cost, newest),
    };
    let reset_at_us = start_us + if newest > 0 { 2 * length_us } else { length_us };
    Some((None, asked.refused(reset_at_us, passes_at_us)))
}

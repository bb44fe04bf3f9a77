//! `concurrency`: how many are inside at once.
//!
//! Promise: the units in slots that have not ended never exceed the limit; a slot that is not given back, because its
//! holder crashed, ends by itself. Slots are kept in the order of their ends, so that expiry looks only at what expired;
//! giving one back looks through the slots of its key.

use std::time::Duration;

use crate::algorithm::add;
use crate::limit::{LimitError, amount_in_range, micros};
use crate::portable::{Portable, put, take, take_len, take_span, take_used};
use crate::time::Timestamp;
use crate::verdict::{Outcome, Retry, Standing};

/// The name under which a plan holds its slots and its reservation: chosen by the caller, unique among those in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u128);

/// A number of slots, and how long each lasts unless it is renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Concurrency {
    slots: u64,
    term_us: u64,
}

/// The slots that are held, the first to end first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SlotsState {
    slots: Vec<Slot>,
    stamp_us: u64,
}

/// Units that are held under a ticket, which is kept as bytes: it has no need of a 16-byte alignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slot {
    end_us: u64,
    ticket: [u8; 16],
    units: u64,
}

impl SlotsState {
    pub(crate) fn empty_at_us(&self) -> u64 {
        self.slots.last().map_or(0, |slot| slot.end_us)
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Slot>()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    pub(crate) const fn stamp_us(&self) -> u64 {
        self.stamp_us
    }

    fn take(&mut self, ticket: Ticket) -> Option<Slot> {
        let place = self.slots.iter().position(|slot| slot.ticket == ticket.0.to_ne_bytes())?;
        Some(self.slots.remove(place))
    }

    fn put(&mut self, slot: Slot) {
        let place = self.slots.partition_point(|other| other.end_us <= slot.end_us);
        self.slots.insert(place, slot);
    }

    /// Those that have not ended. A clock that stepped back too far finds none: see [`Timestamp::is_void_at`].
    fn live(&self, now: Timestamp) -> &[Slot] {
        if Timestamp::from_micros(self.stamp_us).is_void_at(now) {
            return &[];
        }
        let ended = self.slots.partition_point(|slot| slot.end_us <= now.as_micros());
        &self.slots[ended..]
    }

    /// Drops those that have ended.
    fn forget(&mut self, now: Timestamp) {
        let ended = self.slots.len() - self.live(now).len();
        self.slots.drain(..ended);
        if self.slots.is_empty() {
            *self = Self::default();
        }
    }
}

impl Concurrency {
    pub(crate) fn new(slots: u64, term: Duration) -> Result<Self, LimitError> {
        Ok(Self { slots: amount_in_range(slots)?, term_us: micros(term)? })
    }

    pub(crate) const fn slots(&self) -> u64 {
        self.slots
    }

    /// The same with another number of slots.
    pub(crate) const fn with_slots(self, slots: u64) -> Self {
        Self { slots, ..self }
    }

    pub(crate) const fn term_us(&self) -> u64 {
        self.term_us
    }

    pub(crate) fn judge(&self, state: Option<&SlotsState>, now: Timestamp, cost: u64) -> Outcome {
        if cost > self.slots {
            return Outcome::Refused(Retry::Never);
        }
        let live = state.map_or(&[][..], |state| state.live(now));
        match held(live) + cost {
            wanted if wanted > self.slots => {
                Outcome::Refused(Retry::Within(ends_within_us(live, now, wanted - self.slots)))
            }
            _ => Outcome::Allowed,
        }
    }

    /// Takes `cost` units under that ticket; one that holds some already holds more, until the later end.
    pub(crate) fn charge(&self, state: &mut SlotsState, now: Timestamp, cost: u64, ticket: Ticket) {
        state.forget(now);
        state.stamp_us = state.stamp_us.max(now.as_micros());
        let old = state.take(ticket);
        let (end_us, units) = old.map_or((0, 0), |slot| (slot.end_us, slot.units));
        let end_us = end_us.max(state.stamp_us.saturating_add(self.term_us));
        state.put(Slot { end_us, ticket: ticket.0.to_ne_bytes(), units: add(units, cost) });
    }

    /// Gives units back for callers who cannot name theirs: from the slots that would end first.
    pub(crate) fn refund(state: &mut SlotsState, now: Timestamp, mut units: u64) {
        state.forget(now);
        for slot in &mut state.slots {
            let taken = units.min(slot.units);
            slot.units -= taken;
            units -= taken;
        }
        state.slots.retain(|slot| slot.units > 0);
    }

    /// Gives the slot back; how many units it held, 0 if it had ended or never was.
    pub(crate) fn release(state: &mut SlotsState, now: Timestamp, ticket: Ticket) -> u64 {
        state.forget(now);
        state.take(ticket).map_or(0, |slot| slot.units)
    }

    /// Lets the slot last a whole term from now; `None` if it has ended or never was.
    pub(crate) fn renew(&self, state: &mut SlotsState, now: Timestamp, ticket: Ticket) -> Option<Timestamp> {
        state.forget(now);
        let slot = state.take(ticket)?;
        state.stamp_us = state.stamp_us.max(now.as_micros());
        let end_us = slot.end_us.max(now.as_micros().saturating_add(self.term_us));
        state.put(Slot { end_us, ..slot });
        Some(Timestamp::from_micros(end_us))
    }

    pub(crate) fn standing(state: Option<&SlotsState>, now: Timestamp) -> Standing {
        let live = state.map_or(&[][..], |state| state.live(now));
        match live.last() {
            Some(last) => Standing { used: held(live), reset_at_us: last.end_us },
            None => Standing::UNUSED,
        }
    }
}

fn held(live: &[Slot]) -> u64 {
    live.iter().fold(0, |held, slot| add(held, slot.units))
}

/// How long until slots with that many units have ended by themselves.
fn ends_within_us(live: &[Slot], now: Timestamp, units: u64) -> u64 {
    let mut ended = 0;
    let enough = |slot: &&Slot| {
        ended = add(ended, slot.units);
        ended >= units
    };
    live.iter().find(enough).map_or(0, |slot| slot.end_us.saturating_sub(now.as_micros()))
}

impl Portable for Concurrency {
    fn write(&self, out: &mut Vec<u8>) {
        put(self.slots, out);
        put(self.term_us, out);
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        Self::new(take(input)?, take_span(input)?).ok()
    }
}

impl Portable for SlotsState {
    fn write(&self, out: &mut Vec<u8>) {
        put(self.stamp_us, out);
        put(self.slots.len() as u64, out);
        for slot in &self.slots {
            put(slot.end_us, out);
            put(slot.units, out);
            out.extend(u128::from_ne_bytes(slot.ticket).to_le_bytes());
        }
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        let stamp_us = take(input)?;
        let len = take_len(input, 2 + size_of::<Ticket>())?;
        let slot = |_| {
            let (end_us, units) = (take(input)?, take_used(input)?);
            let (ticket, rest) = input.split_first_chunk()?;
            *input = rest;
            Some(Slot { end_us, units, ticket: u128::from_le_bytes(*ticket).to_ne_bytes() })
        };
        let slots: Vec<_> = (0..len).map(slot).collect::<Option<_>>()?;
        slots.is_sorted_by_key(|slot| slot.end_us).then_some(Self { slots, stamp_us })
    }
}

//! `concurrency`: how many are inside at once.
//!
//! Promise: the units in slots that have not ended never exceed the limit; a slot that is not given back, because its
//! holder crashed, ends by itself. Slots are kept in the order of their ends, so that expiry looks only at what expired.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::algorithm::add;
use crate::limit::{LimitError, amount_in_range, micros};
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

/// The slots that are held, by end and by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SlotsState {
    by_end: BTreeMap<(u64, Ticket), u64>,
    by_name: BTreeMap<Ticket, u64>,
    held: u64,
    stamp_us: u64,
}

impl SlotsState {
    pub(crate) fn empty_at_us(&self) -> u64 {
        self.by_end.last_key_value().map_or(0, |((end_us, _), _)| *end_us)
    }

    /// Both maps, with what their nodes cost on average when they are two thirds full.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.by_end.len() * 96
    }

    fn take(&mut self, slot: Ticket) -> Option<(u64, u64)> {
        let end_us = self.by_name.remove(&slot)?;
        let units = self.by_end.remove(&(end_us, slot))?;
        self.held -= units;
        Some((end_us, units))
    }

    fn put(&mut self, slot: Ticket, end_us: u64, units: u64) {
        self.by_name.insert(slot, end_us);
        self.by_end.insert((end_us, slot), units);
        self.held += units;
    }

    fn ended_units(&self, now_us: u64) -> u64 {
        self.by_end.iter().take_while(|((end_us, _), _)| *end_us <= now_us).map(|(_, units)| units).sum()
    }
}

impl Concurrency {
    pub(crate) fn new(slots: u64, term: Duration) -> Result<Self, LimitError> {
        Ok(Self { slots: amount_in_range(slots)?, term_us: micros(term)? })
    }

    pub(crate) const fn slots(&self) -> u64 {
        self.slots
    }

    pub(crate) const fn term_us(&self) -> u64 {
        self.term_us
    }

    pub(crate) fn judge(&self, state: Option<&SlotsState>, now: Timestamp, cost: u64) -> Outcome {
        if cost > self.slots {
            return Outcome::Refused(Retry::Never);
        }
        let held = held(state, now);
        match (state, held + cost) {
            (Some(state), wanted) if wanted > self.slots => {
                Outcome::Refused(Retry::Within(ends_within_us(state, now, wanted - self.slots)))
            }
            _ => Outcome::Allowed,
        }
    }

    /// Takes `cost` units under that name; a name that holds some already holds more, until the later end.
    pub(crate) fn charge(&self, state: &mut SlotsState, now: Timestamp, cost: u64, slot: Ticket) {
        forget(state, now);
        let (end_us, units) = state.take(slot).unwrap_or_default();
        let now_us = now.as_micros().max(state.stamp_us);
        state.stamp_us = now_us;
        state.put(slot, end_us.max(now_us.saturating_add(self.term_us)), add(units, cost));
    }

    /// Gives units back that nobody names: from the slots that would end first.
    pub(crate) fn refund(state: &mut SlotsState, now: Timestamp, mut units: u64) {
        forget(state, now);
        while units > 0 {
            let Some((&(end_us, slot), _)) = state.by_end.first_key_value() else { return };
            let (_, held) = state.take(slot).unwrap_or_default();
            if held > units {
                state.put(slot, end_us, held - units);
            }
            units = units.saturating_sub(held);
        }
    }

    /// Gives the slot back; how many units it held, 0 if it had ended or never was.
    pub(crate) fn release(state: &mut SlotsState, now: Timestamp, slot: Ticket) -> u64 {
        forget(state, now);
        state.take(slot).map_or(0, |(_, units)| units)
    }

    /// Lets the slot last a whole term from now; `None` if it has ended or never was.
    pub(crate) fn renew(&self, state: &mut SlotsState, now: Timestamp, slot: Ticket) -> Option<Timestamp> {
        forget(state, now);
        let (end_us, units) = state.take(slot)?;
        state.stamp_us = state.stamp_us.max(now.as_micros());
        let end_us = end_us.max(now.as_micros().saturating_add(self.term_us));
        state.put(slot, end_us, units);
        Some(Timestamp::from_micros(end_us))
    }

    pub(crate) fn standing(state: Option<&SlotsState>, now: Timestamp) -> Standing {
        match (state, held(state, now)) {
            (Some(state), used) if used > 0 => Standing { used, reset_at_us: state.empty_at_us() },
            _ => Standing::UNUSED,
        }
    }
}

/// Units in slots that have not ended. A clock that stepped back too far finds none: see [`Timestamp::is_void_at`].
fn held(state: Option<&SlotsState>, now: Timestamp) -> u64 {
    match state {
        Some(state) if !Timestamp::from_micros(state.stamp_us).is_void_at(now) => {
            state.held - state.ended_units(now.as_micros())
        }
        _ => 0,
    }
}

/// Drops the slots that have ended.
fn forget(state: &mut SlotsState, now: Timestamp) {
    if Timestamp::from_micros(state.stamp_us).is_void_at(now) {
        *state = SlotsState::default();
    }
    while let Some((&(end_us, slot), _)) = state.by_end.first_key_value() {
        if end_us > now.as_micros() {
            return;
        }
        state.take(slot);
    }
}

/// How long until slots with that many units have ended by themselves.
fn ends_within_us(state: &SlotsState, now: Timestamp, mut units: u64) -> u64 {
    let live = state.by_end.iter().skip_while(|((end_us, _), _)| *end_us <= now.as_micros());
    for ((end_us, _), held) in live {
        if *held >= units {
            return end_us.saturating_sub(now.as_micros());
        }
        units -= held;
    }
    0
}

//! The counters of a plan that are in the table, with their lock bits taken.

use smallvec::SmallVec;
use tidegate_core::{Plan, State, Timestamp};

use super::eviction::Need;
use super::lookup::SlotLookup;
use super::registry::Registered;
use super::slot::{Content, Hash, Slot};
use super::table::{Claim, Table};
use crate::ways::Intent;

/// A slot that was looked for is not where it was: look again.
pub(super) struct Moved;

/// Counters by the charges that they belong to. What is dropped without being written is as it was.
pub(super) struct Held<'a> {
    table: &'a Table,
    counters: SmallVec<[Counter<'a>; 4]>,
    /// The counter of each charge; `None` if it is not in the table.
    of: SmallVec<[Option<usize>; 8]>,
    /// The limit of each charge, if its states are packed: looked up before any lock bit is taken.
    entries: SmallVec<[Option<&'a Registered>; 8]>,
}

struct Counter<'a> {
    lookup: SlotLookup<'a>,
    state: State,
    /// The charge that changed it last.
    changed_by: Option<usize>,
    /// Whether its lock bit is held.
    locked: bool,
    forgotten: bool,
}

/// A state that did not fit into its slot, which is free now, and the charge that it is of.
pub(super) struct Spilled {
    pub(super) index: usize,
    pub(super) state: State,
}

impl<'a> Held<'a> {
    /// Finds the plan's counters, gives places to those that are to be charged and are nowhere, and takes all lock bits in
    /// the order of their addresses.
    pub(super) fn take(
        table: &'a Table,
        plan: &Plan,
        (now, intent): (Timestamp, Intent),
        is_elsewhere: impl Fn(usize) -> bool,
    ) -> Result<Self, Moved> {
        let hashes: SmallVec<[Hash; 8]> = plan.charges().map(|charge| table.hash(charge.key)).collect();
        let entries = plan.charges().map(|charge| table.registry.enter(charge.limit)).collect();
        let mut held = Self { table, counters: SmallVec::new(), of: SmallVec::new(), entries };
        for index in 0..plan.len() {
            let twin = hashes[..index].iter().position(|hash| *hash == hashes[index]);
            if let Some(twin) = twin {
                held.of.push(held.of[twin]);
                continue;
            }
            let mut lookup = table.find(hashes[index], Table::likely_width(plan.get(index).limit), now);
            let there = lookup.is_found()
                || intent == Intent::Charge
                    && !is_elsewhere(index)
                    && held.entries[index].is_some_and(|entry| {
                        let share = entry.limit.share();
                        let need = Need { share, now, pinned: &hashes };
                        table.claim(&mut lookup, entry, need) == Claim::Made
                    });
            held.of.push(there.then_some(held.counters.len()));
            if there {
                held.counters.push(Counter {
                    lookup,
                    state: State::EMPTY,
                    changed_by: None,
                    locked: false,
                    forgotten: false,
                });
            }
        }
        held.lock(now)?;
        Ok(held)
    }

    fn lock(&mut self, now: Timestamp) -> Result<(), Moved> {
        let mut order: SmallVec<[usize; 8]> = (0..self.counters.len()).collect();
        order.sort_by_key(|index| self.counters[*index].lookup.order());
        for index in order {
            let counter = &mut self.counters[index];
            counter.locked = counter.lookup.lock();
            let Some(content) = counter.lookup.slot().filter(|_| counter.locked).and_then(Slot::held) else {
                return Err(Moved);
            };
            counter.state = self.table.state(content, now);
        }
        Ok(())
    }

    /// Whether the counter of a charge is here.
    pub(super) fn has(&self, index: usize) -> bool {
        self.of[index].is_some_and(|place| !self.counters[place].forgotten)
    }

    pub(super) fn state(&self, index: usize) -> Option<&State> {
        self.of[index].map(|place| &self.counters[place].state)
    }

    pub(super) fn change<T>(&mut self, index: usize, change: impl FnOnce(&mut State) -> T) -> Option<T> {
        let counter = &mut self.counters[self.of[index]?];
        (counter.changed_by, counter.forgotten) = (Some(index), false);
        Some(change(&mut counter.state))
    }

    /// Forgets a counter; whether it was here.
    pub(super) fn forget(&mut self, index: usize) -> bool {
        let Some(place) = self.of[index] else { return false };
        let counter = &mut self.counters[place];
        counter.state = State::EMPTY;
        !std::mem::replace(&mut counter.forgotten, true)
    }

    /// Writes what was changed, and lets all lock bits go.
    pub(super) fn write(mut self, now: Timestamp) -> SmallVec<[Spilled; 1]> {
        let mut spilled = SmallVec::new();
        for place in 0..self.counters.len() {
            let changed_by = self.counters[place].changed_by;
            let packed = changed_by.and_then(|charge| self.pack(place, charge, now));
            let counter = &mut self.counters[place];
            counter.locked = false;
            match (changed_by, packed) {
                _ if counter.forgotten => counter.lookup.unlock_free(),
                (Some(_), Some(content)) => counter.lookup.unlock_with(content),
                (None, _) => counter.lookup.unlock(),
                (Some(_), None) => {
                    counter.lookup.unlock_free();
                    let index = self.of.iter().position(|of| *of == Some(place)).unwrap_or(0);
                    spilled.push(Spilled { index, state: std::mem::take(&mut counter.state) });
                }
            }
        }
        spilled
    }

    fn pack(&self, place: usize, charge: usize, now: Timestamp) -> Option<Content> {
        let (entry, counter) = (self.entries[charge]?, &self.counters[place]);
        if entry.width() != counter.lookup.width() {
            return None;
        }
        let packed = entry.packing.pack(&entry.limit, &counter.state, now)?;
        Some(Content::new(counter.lookup.hash, entry.number, packed))
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        for counter in self.counters.iter().filter(|counter| counter.locked) {
            counter.lookup.unlock();
        }
    }
}

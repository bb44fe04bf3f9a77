//! A group of a decided plan: what the store said of it, and what was therefore due.

use std::ops::Range;

use tidegate_core::{Charge, Pay, Timestamp};

use super::Event;
use crate::contract::Answer;

/// The charges of one group, with the answer that they got.
pub(super) struct Group<'a> {
    pub(super) event: &'a Event,
    pub(super) answer: &'a Answer,
    pub(super) members: Range<usize>,
}

/// What a charge had to pay, by the store's own word on its group.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    Nothing,
    /// All of its cost.
    Whole,
    /// As much of its cost as refusals may charge: until twice the limit is used.
    Refusal,
}

impl<'a> Group<'a> {
    /// The groups of a plan, in order.
    pub(super) fn all(event: &'a Event, answer: &'a Answer) -> Vec<Self> {
        let places: Vec<usize> = (0..event.plan.len()).collect();
        let groups = places.chunk_by(|a, b| event.plan.get(*a).group == event.plan.get(*b).group);
        groups.map(|group| Self { event, answer, members: group[0]..group[0] + group.len() }).collect()
    }

    pub(super) fn now(&self) -> Timestamp {
        self.event.now
    }

    pub(super) fn charge(&self, index: usize) -> Charge<'a> {
        self.event.plan.get(index)
    }

    /// The members that had to pay that much.
    pub(super) fn due(&self, due: Due) -> impl Iterator<Item = usize> {
        self.members.clone().filter(move |index| self.due_of(*index) == due)
    }

    /// What all of its charges on that key cost together.
    pub(super) fn total(&self, charge: &Charge<'_>) -> u64 {
        let twins =
            self.members.clone().map(|index| self.charge(index)).filter(|other| other.key == charge.key);
        twins.fold(0, |total, twin| total.saturating_add(twin.cost))
    }

    /// Whether the charge is the first of the group on its key: the one that pays for all.
    pub(super) fn is_first(&self, index: usize) -> bool {
        let key = self.charge(index).key;
        (self.members.start..index).all(|earlier| self.charge(earlier).key != key)
    }

    pub(super) fn passed(&self) -> bool {
        self.members.clone().all(|index| self.answer.verdicts[index].allowed())
    }

    /// Whether it was charged on admission: it passed, and so did the first group.
    pub(super) fn admitted(&self) -> bool {
        self.answer.allowed() && self.passed()
    }

    /// Whether the charge is a gate, and was charged.
    pub(super) fn closed(&self, index: usize) -> bool {
        matches!(self.charge(index).pay, Pay::IfRefused { .. }) && self.answer.paid(index)
    }

    fn due_of(&self, index: usize) -> Due {
        let charge = self.charge(index);
        match charge.pay {
            Pay::IfAdmitted | Pay::Always if self.admitted() => Due::Whole,
            Pay::Always => Due::Refusal,
            Pay::IfRefused { of } if charge.cost > 0 && self.closes(index, of) => Due::Whole,
            _ => Due::Nothing,
        }
    }

    /// Whether a gate had to close: its group counts, it was open, and one of the limits before it was not.
    fn closes(&self, index: usize, of: u8) -> bool {
        let counts = self.charge(index).group == 0 || self.answer.allowed();
        let before = index - usize::from(of)..index;
        counts && self.had_room(index) && before.into_iter().any(|index| !self.had_room(index))
    }

    /// Whether the charge found room. A gate that has closed in this step refuses, but was open.
    fn had_room(&self, index: usize) -> bool {
        self.answer.verdicts[index].allowed() || self.closed(index)
    }
}

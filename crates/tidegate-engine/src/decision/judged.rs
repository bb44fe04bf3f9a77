//! What was charged beside what the store said about it.

use tidegate_core::{Outcome, Retry, Verdict};

use super::{Decision, LimitView};
use crate::meaning::Part;

/// A limit's part in a decision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judged<'d> {
    /// Its place among the parts.
    pub(crate) place: usize,
    pub(crate) part: &'d Part,
    pub(crate) verdict: &'d Verdict,
    pub(crate) paid: bool,
    /// Whether the rule's gate was or now is closed, and for how long.
    pub(crate) blocked_us: u64,
}

impl Judged<'_> {
    /// Whether it lets the request pass.
    pub(crate) fn allows(&self) -> bool {
        self.verdict.allowed() && self.blocked_us == 0
    }
}

/// Every limit of a decision: its parts without the gates.
pub(super) struct Limits<'d> {
    decision: &'d Decision,
    next: usize,
    left: usize,
}

impl<'d> Limits<'d> {
    pub(super) fn new(decision: &'d Decision) -> Self {
        Self { decision, next: 0, left: decision.judged().count() }
    }
}

impl<'d> Iterator for Limits<'d> {
    type Item = LimitView<'d>;

    fn next(&mut self) -> Option<Self::Item> {
        let judged = self.decision.judged_from(self.next).next()?;
        self.next = judged.place + 1;
        self.left = self.left.saturating_sub(1);
        Some(self.decision.view(judged))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Limits<'_> {}

impl Decision {
    /// The limits that the store had a word on, with what their rules' gates said.
    #[inline]
    pub(crate) fn judged(&self) -> impl Iterator<Item = Judged<'_>> {
        self.judged_from(0)
    }

    /// The same from that part on.
    #[inline]
    pub(super) fn judged_from(&self, first: usize) -> impl Iterator<Item = Judged<'_>> {
        let verdicts = self.answer.as_ref().map_or(&[][..], |answer| &answer.verdicts);
        let paid = |place| self.answer.as_ref().is_some_and(|answer| answer.paid(place));
        let all = self.meaning.parts.iter().zip(verdicts).enumerate().skip(first);
        all.filter(|(_, (part, _))| !part.is_gate()).map(move |(place, (part, verdict))| {
            let blocked_us = if self.meaning.has_gates { self.blocked_us(place, part) } else { 0 };
            Judged { place, part, verdict, paid: paid(place), blocked_us }
        })
    }

    /// A gate that refused, or that has just been closed, holds for the limits that it guards: those right before it.
    #[inline(never)]
    fn blocked_us(&self, place: usize, part: &Part) -> u64 {
        let behind = || (place + 1..).zip(self.meaning.parts.iter().skip(place + 1));
        let mut guards = behind().take_while(|(_, other)| other.is_beside(part));
        let Some((gate, _)) = guards.find(|(_, other)| other.is_gate()) else { return 0 };
        let Some(answer) = &self.answer else { return 0 };
        match answer.verdicts.get(gate) {
            Some(Verdict { outcome: Outcome::Refused(Retry::After(us) | Retry::Within(us)), .. }) => *us,
            Some(verdict) if answer.paid(gate) => verdict.reset_after_us,
            _ => 0,
        }
    }
}

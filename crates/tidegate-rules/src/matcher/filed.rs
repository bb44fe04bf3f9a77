//! A rule where it is filed, and what is done when a request comes upon it.

use smallvec::SmallVec;

use super::equals::Equals;
use crate::condition::{Condition, Facts};

/// A rule under one of its pivots.
#[derive(Clone, Copy, Debug)]
pub(super) struct Filed {
    pub(super) rule: u32,
    pub(super) known: Known,
}

/// What is known of a condition once its pivot is found: that part is not asked again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// The pivot is necessary, and not enough.
    Nothing,
    /// This part of `all` holds.
    Part(u16),
    /// All other parts are [at that place](super::equals::Equals), and must hold too.
    Equals(u32),
    /// The condition holds.
    Whole,
}

/// The rules under one pivot. Most are alone, and then lie with the pivot, one look into memory nearer.
pub(super) enum List {
    One(Filed),
    Many(Box<[Filed]>),
}

impl From<Vec<Filed>> for List {
    fn from(filed: Vec<Filed>) -> Self {
        match *filed {
            [one] => Self::One(one),
            _ => Self::Many(filed.into()),
        }
    }
}

/// Asks the rules that a request comes upon, and keeps those that hold.
pub(super) struct Hits<'m, 'v> {
    conditions: &'m [Condition],
    equals: &'m Equals,
    pub(super) facts: &'m Facts<'v>,
    found: &'m mut SmallVec<[u32; 16]>,
    #[cfg(test)]
    pub(super) asked: usize,
}

impl<'m, 'v> Hits<'m, 'v> {
    pub(super) fn new(
        (conditions, equals): (&'m [Condition], &'m Equals),
        facts: &'m Facts<'v>,
        found: &'m mut SmallVec<[u32; 16]>,
    ) -> Self {
        Self {
            conditions,
            equals,
            facts,
            found,
            #[cfg(test)]
            asked: 0,
        }
    }

    /// Asks the rules of a list under a pivot.
    #[inline]
    pub(super) fn take_list(&mut self, list: &List) {
        match list {
            List::One(one) => self.ask(*one),
            List::Many(many) => self.ask_all(many),
        }
    }

    /// Asks the rules of a list. Most lists are empty.
    #[inline]
    pub(super) fn take(&mut self, list: &[Filed]) {
        if !list.is_empty() {
            self.ask_all(list);
        }
    }

    #[inline(never)]
    fn ask_all(&mut self, list: &[Filed]) {
        for filed in list {
            self.ask(*filed);
        }
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "most lists have one rule, and most of its condition is known")]
    fn ask(&mut self, filed: Filed) {
        #[cfg(test)]
        {
            self.asked += 1;
        }
        let holds = match filed.known {
            Known::Whole => true,
            Known::Equals(place) => self.equals.hold(place, self.facts),
            Known::Part(_) | Known::Nothing => self.holds(filed),
        };
        if holds {
            self.found.push(filed.rule);
        }
    }

    #[inline(never)]
    fn holds(&self, filed: Filed) -> bool {
        match (filed.known, &self.conditions[filed.rule as usize]) {
            (Known::Part(part), Condition::All(parts)) => {
                let others = parts.iter().enumerate().filter(|(place, _)| *place != usize::from(part));
                others.map(|(_, other)| other).all(|other| other.holds(self.facts))
            }
            (_, condition) => condition.holds(self.facts),
        }
    }
}

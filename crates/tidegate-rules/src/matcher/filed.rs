//! A rule where it is filed, and what is done when a request comes upon it.

use std::ops::Deref;
use std::slice;

use smallvec::SmallVec;

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

impl Deref for List {
    type Target = [Filed];

    fn deref(&self) -> &[Filed] {
        match self {
            Self::One(one) => slice::from_ref(one),
            Self::Many(many) => many,
        }
    }
}

/// Asks the rules that a request comes upon, and keeps those that hold.
pub(super) struct Hits<'m, 'v> {
    conditions: &'m [Condition],
    pub(super) facts: &'m Facts<'v>,
    found: &'m mut SmallVec<[u32; 16]>,
    #[cfg(test)]
    pub(super) asked: usize,
}

impl<'m, 'v> Hits<'m, 'v> {
    pub(super) fn new(
        conditions: &'m [Condition],
        facts: &'m Facts<'v>,
        found: &'m mut SmallVec<[u32; 16]>,
    ) -> Self {
        Self {
            conditions,
            facts,
            found,
            #[cfg(test)]
            asked: 0,
        }
    }

    /// Asks the rules of a list. Most lists are empty.
    #[inline]
    pub(super) fn take(&mut self, list: &[Filed]) {
        if !list.is_empty() {
            self.ask(list);
        }
    }

    #[inline(never)]
    fn ask(&mut self, list: &[Filed]) {
        #[cfg(test)]
        {
            self.asked += list.len();
        }
        for filed in list {
            if filed.known == Known::Whole || self.holds(*filed) {
                self.found.push(filed.rule);
            }
        }
    }

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

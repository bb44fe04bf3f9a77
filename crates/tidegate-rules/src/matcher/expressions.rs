//! Rules found by regular expressions that have no literal text: all of an attribute are tried at once.

use regex::{RegexSet, RegexSetBuilder};

use super::filed::{Filed, Hits};

/// The most bytes of a compiled set for each of its expressions, which are limited themselves.
const BYTES_PER_EXPRESSION: usize = 2 << 20;

/// Lists by regular expressions.
pub(super) struct Expressions {
    set: RegexSet,
    lists: Box<[Box<[Filed]>]>,
}

impl Expressions {
    /// `None` if the set would be too big.
    pub(super) fn new(expressions: &[(Box<str>, Vec<Filed>)]) -> Option<Self> {
        let set = RegexSetBuilder::new(expressions.iter().map(|(pattern, _)| pattern))
            .size_limit(expressions.len().saturating_mul(BYTES_PER_EXPRESSION))
            .build()
            .ok()?;
        Some(Self { set, lists: expressions.iter().map(|(_, list)| list.as_slice().into()).collect() })
    }

    /// Takes the lists of those that match. This allocates.
    pub(super) fn look_up(&self, value: &str, hits: &mut Hits<'_, '_>) {
        for expression in &self.set.matches(value) {
            hits.take(&self.lists[expression]);
        }
    }
}

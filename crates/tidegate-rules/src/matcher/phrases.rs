//! Rules found by a literal text that the value contains, and by expressions that have none: each value is read once.

use aho_corasick::automaton::OverlappingState;
use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use regex::{RegexSet, RegexSetBuilder};
use smallvec::SmallVec;

use super::filed::{Filed, Hits};

/// Up to so many bytes of text the automaton is a table, at most 1 KiB for each byte; beyond, it is slower and smaller.
const MOST_TABLE_BYTES: usize = 16 << 10;

/// The most bytes of a compiled set for each of its expressions, which are limited themselves.
const BYTES_PER_EXPRESSION: usize = 2 << 20;

/// Lists by texts that a value contains, in whatever case.
pub(super) struct Phrases {
    automaton: AhoCorasick,
    lists: Box<[Box<[Filed]>]>,
}

impl Phrases {
    /// `None` if the automaton would be too big.
    pub(super) fn new(phrases: &[(Box<str>, Vec<Filed>)]) -> Option<Self> {
        let bytes: usize = phrases.iter().map(|(text, _)| text.len()).sum();
        let kind =
            if bytes <= MOST_TABLE_BYTES { AhoCorasickKind::DFA } else { AhoCorasickKind::ContiguousNFA };
        let automaton = AhoCorasick::builder()
            .kind(Some(kind))
            .match_kind(MatchKind::Standard)
            .ascii_case_insensitive(true)
            .build(phrases.iter().map(|(text, _)| text.as_bytes()))
            .ok()?;
        Some(Self { automaton, lists: phrases.iter().map(|(_, list)| list.as_slice().into()).collect() })
    }

    /// Takes each list once whose text the value contains, however often it does.
    pub(super) fn look_up(&self, value: &str, hits: &mut Hits<'_, '_>) {
        let mut seen: SmallVec<[usize; 16]> = SmallVec::new();
        let mut state = OverlappingState::start();
        loop {
            self.automaton.find_overlapping(value, &mut state);
            let Some(found) = state.get_match() else { return };
            let phrase = found.pattern().as_usize();
            if let Err(place) = seen.binary_search(&phrase) {
                seen.insert(place, phrase);
                hits.take(&self.lists[phrase]);
            }
        }
    }
}

/// Lists by regular expressions, all tried at once.
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

    pub(super) fn look_up(&self, value: &str, hits: &mut Hits<'_, '_>) {
        for expression in &self.set.matches(value) {
            hits.take(&self.lists[expression]);
        }
    }
}

//! Rules found by a literal text that the value contains: each value is read once, whatever the number of texts.

use aho_corasick::automaton::Automaton;
use aho_corasick::{Anchored, StartKind, dfa, nfa::contiguous};
use smallvec::SmallVec;

use super::filed::{Filed, Hits, List};

/// Up to so many bytes of text the automaton is a table, at most 1 KiB for each byte; beyond, it is slower and smaller.
const MOST_TABLE_BYTES: usize = 16 << 10;

/// Lists by texts that a value contains, in whatever case.
pub(super) struct Phrases {
    states: States,
    lists: Box<[List]>,
}

enum States {
    Table(dfa::DFA),
    Compact(contiguous::NFA),
}

impl Phrases {
    /// `None` if the automaton would be too big.
    pub(super) fn new(phrases: &[(Box<str>, Vec<Filed>)]) -> Option<Self> {
        let texts: Vec<&[u8]> = phrases.iter().map(|(text, _)| text.as_bytes()).collect();
        let bytes: usize = texts.iter().map(|text| text.len()).sum();
        let states = if bytes <= MOST_TABLE_BYTES { table(&texts) } else { compact(&texts) };
        let lists = phrases.iter().map(|(_, list)| list.clone().into()).collect();
        states.map(|states| Self { states, lists })
    }

    /// Takes each list once whose text the value contains, however often it does.
    pub(super) fn look_up(&self, value: &str, hits: &mut Hits<'_, '_>) {
        let mut seen: SmallVec<[usize; 16]> = SmallVec::new();
        let found = |phrase: usize| {
            if let Err(place) = seen.binary_search(&phrase) {
                seen.insert(place, phrase);
                hits.take_list(&self.lists[phrase]);
            }
        };
        match &self.states {
            States::Table(automaton) => scan(automaton, value, found),
            States::Compact(automaton) => scan(automaton, value, found),
        }
    }
}

// No prefilter: it jumps to bytes that begin a text, and with many texts most bytes do.

fn table(texts: &[&[u8]]) -> Option<States> {
    let mut builder = dfa::DFA::builder();
    builder.ascii_case_insensitive(true).prefilter(false).start_kind(StartKind::Unanchored);
    builder.build(texts).ok().map(States::Table)
}

fn compact(texts: &[&[u8]]) -> Option<States> {
    let mut builder = contiguous::NFA::builder();
    builder.ascii_case_insensitive(true).prefilter(false);
    builder.build(texts).ok().map(States::Compact)
}

/// Tells each text where it ends.
fn scan(automaton: &impl Automaton, value: &str, mut found: impl FnMut(usize)) {
    let start = automaton.start_state(Anchored::No);
    let mut state = start.expect("it was built to begin anywhere");
    for byte in value.bytes() {
        state = automaton.next_state(Anchored::No, state, byte);
        if automaton.is_special(state) && automaton.is_match(state) {
            for nth in 0..automaton.match_len(state) {
                found(automaton.match_pattern(state, nth).as_usize());
            }
        }
    }
}

//! Which rules have a line of their own: the busiest. What the others count is added up.
//!
//! Who is busiest changes, and a count that steps back would look like a restart. So each rule remembers how much of its
//! count went into the sum of the others, where the counts of rules that are gone are as well: the sum never shrinks, no
//! line ever does, and together they are exact. A rule that comes back begins a new line.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

/// The most rules with a line of their own.
pub(crate) const MOST_RULES: usize = 200;

/// The name under which the others are added up, as a domain and as a rule.
pub(super) const OTHER: &str = "other";

/// Counts of one rule: by outcome, then requests without its key and requests whose cost could not be read.
pub(super) type Row = [u64; 8];

/// A rule and its counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// The domain.
    pub domain: Box<str>,
    /// The rule.
    pub rule: Box<str>,
    /// The counts.
    pub counts: Row,
}

/// Remembers what went where.
#[derive(Debug, Default)]
pub(crate) struct Busiest(Mutex<HashMap<Name, Seen>>);

/// The domain and the rule.
type Name = (Box<str>, Box<str>);

#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    last: Row,
    in_other: Row,
}

impl Busiest {
    /// Lines for the `most` busiest rules, by name, then one for all others and those that are gone if there are any.
    pub(crate) fn lines(&self, mut all: Vec<Line>, gone: Row, most: usize) -> Vec<Line> {
        let total = |line: &Line| line.counts.iter().sum::<u64>();
        let sum = |line: &Line| *line.domain == *OTHER && *line.rule == *OTHER;
        let name = |line: &Line| (line.domain.clone(), line.rule.clone());
        all.sort_by_cached_key(|line| (sum(line), std::cmp::Reverse(total(line)), name(line)));
        let own = all.iter().take(most).filter(|line| !sum(line)).count();

        let (mut rules, mut other) = (self.0.lock().unwrap_or_else(PoisonError::into_inner), gone);
        for (rank, line) in all.iter_mut().enumerate() {
            let seen = rules.entry(name(line)).or_default();
            seen.note(line.counts, rank >= own);
            for (index, part) in seen.in_other.iter().enumerate() {
                line.counts[index] -= part;
                other[index] += part;
            }
        }
        // Rules that are gone are forgotten: reloads must not make this grow for ever.
        if rules.len() > all.len() {
            let names: HashSet<_> = all.iter().map(name).collect();
            rules.retain(|rule, _| names.contains(rule));
        }
        let others = all.len() > own || other.iter().any(|count| *count > 0);
        all.truncate(own);
        all.sort_by_key(name);
        if others {
            all.push(Line { domain: OTHER.into(), rule: OTHER.into(), counts: other });
        }
        all
    }
}

impl Seen {
    /// Takes note of counts; whether what they grew by goes to the others.
    fn note(&mut self, counts: Row, to_other: bool) {
        // It was gone and is back: what it had counted is among the gone.
        if counts.iter().zip(&self.last).any(|(count, last)| count < last) {
            *self = Self::default();
        }
        if to_other {
            for (index, part) in self.in_other.iter_mut().enumerate() {
                *part += counts[index] - self.last[index];
            }
        }
        self.last = counts;
    }
}

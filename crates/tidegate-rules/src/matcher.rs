//! Which rules match a request, without asking each.
//!
//! Every rule is filed under pivots: facts of which at least one is there whenever the rule's condition holds, such as
//! "`org` is `o-17`". A request finds the lists under its own values, and only the rules on them are asked about the rest of
//! their condition. So the cost follows the rules that match or nearly do, not those that exist. Rules without a pivot
//! (a bare `not`) are asked every time.
//!
//! What bounds the work of one request, whatever its values: one hash, one walk and a few searches for each attribute; no
//! text longer than the longest in the rules is hashed; a glob's walk enters only those branches of the rules' own tree
//! whose path fits, and is never deeper than the longest glob; looking for literals reads a value once; a rule is asked at
//! most as often as it is filed, and each test of it is bounded by the value's length times the test's own.

mod pivot;
mod literal;
mod choice;
mod equals;
mod filed;
mod index;
mod trie;
mod forest;
mod phrases;
mod expressions;

use std::fmt;

use smallvec::SmallVec;

use crate::condition::{Condition, Facts};
use choice::Popularity;
use equals::Equals;
use filed::{Filed, Hits, Known};
use index::{Builder, Index};

/// All rules' conditions, ready to be asked at once.
pub struct Matcher {
    conditions: Vec<Condition>,
    /// What is left of conditions once a part is known.
    equals: Equals,
    index: Index,
    /// Rules without a pivot.
    always: Vec<Filed>,
    /// Rules without a condition.
    unconditional: Vec<u32>,
}

impl Matcher {
    /// The rules' numbers are their places in the list.
    ///
    /// # Panics
    /// If there are more than 2^32 rules.
    pub fn new(conditions: Vec<Condition>) -> Self {
        let popularity = Popularity::of(&conditions);
        let (mut index, mut always, mut unconditional) = (Builder::default(), Vec::new(), Vec::new());
        let mut equals = Equals::default();
        for (number, condition) in conditions.iter().enumerate() {
            let rule = u32::try_from(number).expect("memory ends before so many rules");
            match popularity.choose(condition) {
                Some(choice) => choice.filings.into_iter().for_each(|(pivot, known)| {
                    index.file(pivot, Filed { rule, known: left_to_ask(condition, known, &mut equals) });
                }),
                None if is_none(condition) => unconditional.push(rule),
                None => always.push(Filed { rule, known: Known::Nothing }),
            }
        }
        Self { index: index.build(), conditions, equals, always, unconditional }
    }

    /// Puts the numbers of all rules whose condition holds into `found`, ascending, each once, in place of what it held.
    ///
    /// They are those for which [`Condition::holds`]. Nothing is allocated while `found` has room, unless more than a few
    /// regular expressions on one attribute have no literal text to find them by.
    pub fn matches(&self, facts: &Facts<'_>, found: &mut SmallVec<[u32; 16]>) {
        found.clear();
        self.unconditional.iter().for_each(|rule| found.push(*rule));
        let mut hits = Hits::new((&self.conditions, &self.equals), facts, found);
        hits.take(&self.always);
        self.index.look_up(&mut hits);
        if !found.is_sorted_by(|one, next| one < next) {
            found.sort_unstable();
            found.dedup();
        }
    }

    /// How many rules have no pivot and are asked at every request.
    pub fn always_asked(&self) -> usize {
        self.always.len()
    }
}

/// What is known of a condition, with what is left to ask if that takes few steps.
fn left_to_ask(condition: &Condition, known: Known, equals: &mut Equals) -> Known {
    match (condition, known) {
        (Condition::All(parts), Known::Part(part)) => equals.add(parts, part).map_or(known, Known::Equals),
        _ => known,
    }
}

fn is_none(condition: &Condition) -> bool {
    matches!(condition, Condition::All(parts) if parts.is_empty())
}

/// Sizes only: what rules compare with may be a key or a token.
impl fmt::Debug for Matcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes = (self.conditions.len(), self.always.len());
        f.debug_struct("Matcher")
            .field("rules", &sizes.0)
            .field("always_asked", &sizes.1)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;

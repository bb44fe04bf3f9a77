//! Which pivots a rule is filed under: those on which it meets the fewest others.

use std::collections::HashMap;

use super::filed::Known;
use super::pivot::{Key, Pivot, Step, offers};
use crate::condition::{Condition, Test};
use crate::name::{AttributeId, Keyed, keyed};

/// How many rules speak of each pivot. One that many speak of (`method` is `GET`) is met often and tells little.
pub(super) struct Popularity(HashMap<Pivot, u32, Keyed>);

/// Where to file a rule: whenever its condition holds, at least one of these does.
pub(super) struct Choice {
    pub(super) filings: Vec<(Pivot, Known)>,
    /// The smaller, the fewer requests come upon it.
    weight: u32,
}

impl Popularity {
    pub(super) fn of(conditions: &[Condition]) -> Self {
        let mut popularity = Self(HashMap::with_hasher(keyed()));
        for condition in conditions {
            popularity.count(condition);
        }
        popularity
    }

    fn count(&mut self, condition: &Condition) {
        match condition {
            Condition::All(parts) | Condition::Any(parts) => parts.iter().for_each(|part| self.count(part)),
            Condition::Not(part) => self.count(part),
            Condition::Is(attribute, test) => {
                let keys = offers(test).into_iter().flat_map(|(keys, _)| keys);
                keys.for_each(|key| *self.0.entry(Pivot { attribute: *attribute, key }).or_default() += 1);
            }
        }
    }

    /// The best pivots of a condition, if it has any.
    pub(super) fn choose(&self, condition: &Condition) -> Option<Choice> {
        match condition {
            Condition::Is(attribute, test) => self.choose_test(*attribute, test),
            Condition::All(parts) => (0_u16..)
                .zip(parts.iter().take(usize::from(u16::MAX)))
                .filter_map(|(place, part)| Some(self.choose(part)?.within_all(place)))
                .min_by_key(|choice| choice.weight),
            Condition::Any(branches) => all_of(branches.iter().map(|branch| self.choose(branch))),
            Condition::Not(part) => self.choose_not(part),
        }
    }

    /// The best pivots of a condition's opposite. What fails a test may be anything; only presence and absence turn round.
    fn choose_not(&self, condition: &Condition) -> Option<Choice> {
        match condition {
            Condition::Is(attribute, Test::Present) => self.choose_test(*attribute, &Test::Absent),
            Condition::Is(attribute, Test::Absent) => self.choose_test(*attribute, &Test::Present),
            Condition::Is(..) => None,
            Condition::Not(part) => self.choose(part),
            Condition::All(parts) => all_of(parts.iter().map(|part| self.choose_not(part))),
            Condition::Any(branches) => branches
                .iter()
                .filter_map(|branch| Some(self.choose_not(branch)?.within_not()))
                .min_by_key(|choice| choice.weight),
        }
    }

    fn choose_test(&self, attribute: AttributeId, test: &Test) -> Option<Choice> {
        let choices = offers(test).into_iter().map(|(keys, known)| {
            let filings: Vec<_> = keys.into_iter().map(|key| (Pivot { attribute, key }, known)).collect();
            let weight = filings.iter().map(|(pivot, _)| self.weight(pivot)).max().unwrap_or(0);
            Choice { filings, weight }
        });
        choices.min_by_key(|choice| choice.weight)
    }

    fn weight(&self, pivot: &Pivot) -> u32 {
        let sharers = self.0.get(pivot).copied().unwrap_or(1).max(1);
        sharers.ilog2() + handicap(&pivot.key)
    }
}

/// What a kind of key costs to look up and how often it misleads, against an exact value; one more is twice the rules.
fn handicap(key: &Key) -> u32 {
    match key {
        Key::Value(_) => 0,
        Key::Path(path) => {
            let literal = |step: &Step| matches!(step, Step::Literal(text) if !text.is_empty());
            1 + if path.steps.iter().any(literal) { 0 } else { 6 }
        }
        Key::Network(network) => 1 + if network.prefix_len() < 8 { 4 } else { 0 },
        Key::Prefix(text) => 2 + short(text),
        Key::Phrase(text) => 3 + short(text),
        Key::Absent => 6,
        Key::Expression(_) => 8,
        Key::Present => 10,
    }
}

fn short(text: &str) -> u32 {
    if text.len() < 3 { 5 } else { 0 }
}

/// Any branch may be the one that holds, so that each needs its pivot; the worst decides.
fn all_of(branches: impl Iterator<Item = Option<Choice>>) -> Option<Choice> {
    branches.into_iter().try_fold(Choice { filings: Vec::new(), weight: 0 }, |mut all, branch| {
        let branch = branch?.within_any();
        all.filings.extend(branch.filings);
        all.weight = all.weight.max(branch.weight);
        Some(all)
    })
}

impl Choice {
    /// As a part of `all`: a pivot that proves the part does not prove the others.
    fn within_all(self, place: u16) -> Self {
        self.knowing(|known| if known == Known::Whole { Known::Part(place) } else { Known::Nothing })
    }

    /// As a branch of `any`: a pivot that proves the branch proves all.
    fn within_any(self) -> Self {
        self.knowing(|known| if known == Known::Whole { known } else { Known::Nothing })
    }

    /// Under `not` nothing is skipped.
    fn within_not(self) -> Self {
        self.knowing(|_| Known::Nothing)
    }

    fn knowing(mut self, then: impl Fn(Known) -> Known) -> Self {
        self.filings.iter_mut().for_each(|(_, known)| *known = then(*known));
        self
    }
}

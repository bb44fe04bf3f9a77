//! Whether two conditions can never hold for one request, told from their form alone. What cannot be told is no.

use super::implies::implies;
use crate::condition::{Condition, Facts, Test};
use crate::glob::{Glob, Segment};
use crate::name::AttributeId;

/// Steps after which a pair of conditions is given up: nested `any` and `all` could take very many.
const MOST_STEPS: usize = 1_000;

/// Whether no request surely meets both.
pub(super) fn exclude(one: &Condition, other: &Condition) -> bool {
    Steps(MOST_STEPS).exclude(one, other)
}

struct Steps(usize);

impl Steps {
    fn exclude(&mut self, one: &Condition, other: &Condition) -> bool {
        let Some(left) = self.0.checked_sub(1) else { return false };
        self.0 = left;
        match (one, other) {
            (Condition::Any(branches), part) | (part, Condition::Any(branches)) => {
                branches.iter().all(|branch| self.exclude(branch, part))
            }
            (Condition::All(parts), whole) | (whole, Condition::All(parts)) => {
                parts.iter().any(|part| self.exclude(part, whole))
            }
            (Condition::Not(not), part) | (part, Condition::Not(not)) => implies(part, not),
            (Condition::Is(attribute, test), Condition::Is(asked, wanted)) => {
                attribute == asked && are_apart(*attribute, test, wanted)
            }
        }
    }
}

/// Whether no value surely passes both tests.
fn are_apart(attribute: AttributeId, one: &Test, other: &Test) -> bool {
    match (one, other) {
        (Test::Absent, Test::Absent) => false,
        (Test::Absent, _) | (_, Test::Absent) => true,
        (Test::OneOf(values), test) | (test, Test::OneOf(values)) => {
            values.iter().all(|value| !passes(attribute, value, test))
        }
        (Test::Prefix(one), Test::Prefix(other)) => !one.starts_with(&**other) && !other.starts_with(&**one),
        (Test::Glob(one), Test::Glob(other)) => begin_apart(one, other),
        _ => false,
    }
}

fn passes(attribute: AttributeId, value: &str, test: &Test) -> bool {
    let mut facts = Facts::new();
    facts.set(attribute, value);
    test.passes(attribute, &facts)
}

/// Whether two globs differ in a segment that means itself in both, before any that stands for several.
fn begin_apart(one: &Glob, other: &Glob) -> bool {
    let before_rest = |(one, other): &(&Segment, &Segment)| {
        !matches!(one, Segment::Rest) && !matches!(other, Segment::Rest)
    };
    let mut pairs = one.segments().iter().zip(other.segments()).take_while(before_rest);
    pairs.any(|pair| matches!(pair, (Segment::Literal(one), Segment::Literal(other)) if one != other))
}

#[cfg(test)]
mod tests;

//! When a rule applies: conditions over the attributes of a request.
//!
//! They are what the compiler makes of `match:`. [`Condition::holds`] is their meaning, plainly; the matcher's index finds
//! the same rules without asking each.

mod facts;
mod regex;
mod specificity;
mod test;

pub use facts::Facts;
pub(crate) use facts::PLACES;
pub(crate) use regex::groups_of_every_match;
pub use regex::whole_value_regex;
pub use test::Test;
pub(crate) use test::unmapped;

use crate::name::AttributeId;

/// When a rule applies.
#[derive(Clone, Debug)]
pub enum Condition {
    /// All of these hold; always, if there are none.
    All(Vec<Condition>),
    /// At least one of these holds; never, if there are none.
    Any(Vec<Condition>),
    /// This does not hold. An attribute that is not there fails every test but [`Test::Absent`], so that its `Not` holds.
    Not(Box<Condition>),
    /// An attribute passes a test.
    Is(AttributeId, Test),
}

impl Condition {
    /// Whether it holds for these facts.
    #[inline]
    pub fn holds(&self, facts: &Facts<'_>) -> bool {
        match self {
            Self::Is(attribute, test) => test.passes(*attribute, facts),
            Self::All(parts) => Self::all_hold(parts, facts),
            Self::Any(parts) => Self::any_holds(parts, facts),
            Self::Not(part) => !Self::all_hold(std::slice::from_ref(part), facts),
        }
    }

    fn all_hold(parts: &[Self], facts: &Facts<'_>) -> bool {
        parts.iter().all(|part| part.holds(facts))
    }

    fn any_holds(parts: &[Self], facts: &Facts<'_>) -> bool {
        parts.iter().any(|part| part.holds(facts))
    }

    /// How narrow it is: of a group's rules with the same priority the most specific applies.
    ///
    /// One value counts 1000 (also a glob without signs), one of several 900, a glob 500 and 5 for each segment that means
    /// itself, a prefix 400 and 1 for each byte up to 99, networks 200 and up to 128 by the length of the widest, a regular
    /// expression 150, numbers, presence and absence 100, `not` 10. `all` is the sum of its parts, `any` the least of its
    /// branches, no condition 0. So a further condition in `all` never makes a rule less specific, nor one less in `any`.
    pub fn specificity(&self) -> u32 {
        specificity::of(self)
    }
}

#[cfg(test)]
mod tests;

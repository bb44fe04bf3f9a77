//! Captures: values that rules take out of an attribute by a glob (`/v1/orders/{id}`) or a named group of a regular expression.

use std::sync::Arc;

use regex::Regex;

use crate::condition::{Condition, Facts};
use crate::glob::Glob;
use crate::name::AttributeId;

/// One pattern that captures a name. A name that several patterns capture has one of these for each, in the order of the file.
#[derive(Clone)]
pub struct CaptureSource {
    /// The attribute that the pattern is matched against.
    pub attribute: AttributeId,
    pub(crate) pattern: Pattern,
    /// The branches of `any` that the pattern stands in; all of them hold if this source is the one that matched.
    pub(crate) branches: Vec<Arc<Condition>>,
}

/// A pattern, with the index of its capture.
#[derive(Clone)]
pub(crate) enum Pattern {
    Glob(Glob, usize),
    Regex(Regex, usize),
}

/// The attribute only: what a pattern compares with may be a secret.
impl std::fmt::Debug for CaptureSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CaptureSource({:?})", self.attribute)
    }
}

impl CaptureSource {
    fn value<'v>(&self, facts: &Facts<'v>) -> Option<&'v str> {
        let value = facts.get(self.attribute)?;
        match &self.pattern {
            Pattern::Glob(glob, index) => glob.capture(value, *index),
            Pattern::Regex(regex, group) => Some(&value[regex.captures(value)?.get(*group)?.range()]),
        }
    }

    fn in_branch(&self, facts: &Facts<'_>) -> bool {
        self.branches.iter().all(|branch| branch.holds(facts))
    }
}

/// The captured value: that of the first source whose branch of `any` holds, or else of the first that matches.
///
/// A request that is only counted meets none of the branches of `match`, so that the second case is needed.
pub(crate) fn captured<'v>(sources: &[CaptureSource], facts: &Facts<'v>) -> Option<&'v str> {
    if let [only] = sources {
        return only.value(facts);
    }
    let in_branch = sources.iter().filter(|source| source.in_branch(facts));
    let found = in_branch.into_iter().find_map(|source| source.value(facts));
    found.or_else(|| sources.iter().find_map(|source| source.value(facts)))
}

//! Which rules match a request, without asking each.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::condition::{Condition, Facts};

/// All rules' conditions, ready to be asked at once.
#[derive(Debug)]
pub struct Matcher {
    conditions: Vec<Arc<Condition>>,
}

impl Matcher {
    /// The rules' numbers are their places in the list.
    pub fn new(conditions: Vec<Arc<Condition>>) -> Self {
        Self { conditions }
    }

    /// Puts the numbers of all rules whose condition holds into `found`, ascending, each once, in place of what it held.
    pub fn matches(&self, facts: &Facts<'_>, found: &mut SmallVec<[u32; 16]>) {
        found.clear();
        let holding = (0..).zip(&self.conditions).filter(|(_, condition)| condition.holds(facts));
        found.extend(holding.map(|(rule, _)| rule));
    }
}

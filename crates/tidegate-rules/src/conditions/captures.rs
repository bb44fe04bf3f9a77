//! What the patterns of a rule's `match` and `count` capture, for its `by`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::capture::{CaptureSource, Pattern};
use crate::condition::Condition;
use crate::name::AttributeId;

/// All captures of a condition, in the order of the file.
#[derive(Default)]
pub(crate) struct Captures {
    found: Vec<Captured>,
    /// Names under `not`, which capture nothing.
    under_not: HashSet<String>,
}

struct Captured {
    name: String,
    source: CaptureSource,
    /// Whether every request that meets the condition has it, or one of this name beside it.
    always: bool,
}

/// The captures of a rule, by their names.
#[derive(Default)]
pub(crate) struct Named {
    by_name: HashMap<String, Sources>,
    under_not: HashSet<String>,
}

/// The patterns that capture one name.
pub(crate) struct Sources {
    pub(crate) all: Arc<[CaptureSource]>,
    /// Whether every request that meets the condition has the name.
    pub(crate) always: bool,
}

impl Captures {
    /// Adds a capture of a pattern; `always` says whether every match of the pattern has it.
    pub(super) fn add(&mut self, name: &str, attribute: AttributeId, (pattern, always): (Pattern, bool)) {
        let source = CaptureSource { attribute, pattern, branches: Vec::new() };
        self.found.push(Captured { name: name.to_owned(), source, always });
    }

    pub(super) fn len(&self) -> usize {
        self.found.len()
    }

    /// Drops those that were found since then: a `not` captures nothing.
    pub(super) fn drop_since(&mut self, start: usize) {
        self.under_not.extend(self.found.drain(start..).map(|capture| capture.name));
    }

    /// Has those that were found since then depend on a branch of `any`.
    pub(super) fn put_in_branch(&mut self, start: usize, branch: &Condition) {
        if start == self.found.len() {
            return;
        }
        let branch = Arc::new(branch.clone());
        for capture in &mut self.found[start..] {
            capture.source.branches.push(Arc::clone(&branch));
        }
    }

    /// Settles which names each of several alternatives captures. `starts` holds where each of them begins.
    pub(super) fn settle_alternatives(&mut self, starts: &[usize]) {
        let Some(first) = starts.first() else { return };
        let ends = starts.iter().skip(1).copied().chain([self.found.len()]);
        let mut alternatives: HashMap<String, usize> = HashMap::new();
        for (start, end) in starts.iter().copied().zip(ends) {
            let always = self.found[start..end].iter().filter(|capture| capture.always);
            let names: HashSet<&str> = always.map(|capture| capture.name.as_str()).collect();
            for name in names {
                *alternatives.entry(name.to_owned()).or_default() += 1;
            }
        }
        for capture in &mut self.found[*first..] {
            capture.always = alternatives.get(&capture.name) == Some(&starts.len());
        }
    }

    /// Those of `match`, then those of `count`.
    pub(crate) fn beside(self, counted: Self) -> Named {
        let matched: HashSet<String> = self.found.iter().map(|capture| capture.name.clone()).collect();
        let mut grouped: HashMap<String, (Vec<CaptureSource>, bool)> = HashMap::new();
        let counted_too = counted.found.into_iter().map(|capture| {
            let always = capture.always && !matched.contains(&capture.name);
            Captured { always, ..capture }
        });
        for Captured { name, source, always } in self.found.into_iter().chain(counted_too) {
            let (sources, any_always) = grouped.entry(name).or_default();
            sources.push(source);
            *any_always |= always;
        }
        let named = |(name, (sources, always)): (String, (Vec<_>, bool))| {
            (name, Sources { all: sources.into(), always })
        };
        let under_not = self.under_not.into_iter().chain(counted.under_not).collect();
        Named { by_name: grouped.into_iter().map(named).collect(), under_not }
    }
}

impl Named {
    pub(crate) fn of(&self, name: &str) -> Option<&Sources> {
        self.by_name.get(name)
    }

    pub(crate) fn is_under_not(&self, name: &str) -> bool {
        self.under_not.contains(name)
    }

    /// The names, in one order, so that of two that are as near the same one is told each time.
    pub(crate) fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.by_name.keys().map(String::as_str).collect();
        names.sort_unstable();
        names
    }
}

//! What the patterns of a rule's `match` and `count` capture, for its `by`.

use std::sync::Arc;

use crate::capture::{CaptureSource, Pattern};
use crate::condition::Condition;
use crate::name::AttributeId;

/// All captures of a condition, in the order of the file.
#[derive(Default)]
pub(crate) struct Captures {
    found: Vec<Captured>,
    /// Names under `not`, which capture nothing.
    under_not: Vec<String>,
}

struct Captured {
    name: String,
    source: CaptureSource,
    /// Whether every request that meets the condition has it, or one of this name beside it.
    always: bool,
}

impl Captures {
    pub(super) fn add(&mut self, name: &str, attribute: AttributeId, pattern: Pattern) {
        let source = CaptureSource { attribute, pattern, branches: Vec::new() };
        self.found.push(Captured { name: name.to_owned(), source, always: true });
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
        for capture in &mut self.found[start..] {
            capture.source.branches.push(branch.clone());
        }
    }

    /// Settles which names each of several alternatives captures. `starts` holds where each of them begins.
    pub(super) fn settle_alternatives(&mut self, starts: &[usize]) {
        let Some(first) = starts.first() else { return };
        let ends = starts.iter().skip(1).copied().chain([self.found.len()]);
        let ranges: Vec<_> = starts.iter().copied().zip(ends).collect();
        let in_all = |name: &str| {
            let has = |capture: &Captured| capture.always && capture.name == name;
            ranges.iter().all(|(start, end)| self.found[*start..*end].iter().any(has))
        };
        let settled: Vec<bool> = self.found[*first..].iter().map(|capture| in_all(&capture.name)).collect();
        for (capture, always) in self.found[*first..].iter_mut().zip(settled) {
            capture.always = always;
        }
    }

    /// Those of `match`, then those of `count`.
    pub(crate) fn beside(mut self, counted: Self) -> Self {
        for mut capture in counted.found {
            capture.always &= !self.names().any(|name| *name == *capture.name);
            self.found.push(capture);
        }
        self.under_not.extend(counted.under_not);
        self
    }

    /// The sources of a name, and whether every request has it that meets the condition.
    pub(crate) fn of(&self, name: &str) -> Option<(Arc<[CaptureSource]>, bool)> {
        let own = || self.found.iter().filter(|capture| capture.name == name);
        let sources: Arc<[CaptureSource]> = own().map(|capture| capture.source.clone()).collect();
        (!sources.is_empty()).then(|| (sources, own().any(|capture| capture.always)))
    }

    pub(crate) fn is_under_not(&self, name: &str) -> bool {
        self.under_not.iter().any(|other| other == name)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.found.iter().map(|capture| capture.name.as_str())
    }
}

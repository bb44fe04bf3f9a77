//! What a check takes along from station to station. It is large and filled where it stands: each station is lent it, and
//! only the decision leaves it.

use std::sync::Arc;
use std::time::Instant;

use arc_swap::Guard;
use tidegate_core::Timestamp;

use crate::decision::Decision;
use crate::loaded::Loaded;
use crate::observe::RuleCounts;
use crate::resolve::Resolved;
use crate::settle::Word;

/// A check on its way.
pub(crate) struct Way {
    /// The rules that it sees from start to end.
    loaded: Guard<Arc<Loaded>>,
    /// The place of its domain among them.
    place: Option<usize>,
    pub(crate) started: Instant,
    pub(crate) now: Timestamp,
    pub(crate) resolved: Resolved,
    pub(crate) word: Word,
    pub(crate) decision: Decision,
}

impl Way {
    #[inline]
    pub(crate) fn new(loaded: Guard<Arc<Loaded>>, now: Timestamp) -> Self {
        Self {
            loaded,
            place: None,
            started: Instant::now(),
            now,
            resolved: Resolved::default(),
            word: Word::NotAsked,
            decision: Decision::free(now),
        }
    }

    /// Finds the rules of the check's domain.
    pub(crate) fn enter(&mut self, domain: &str) {
        self.place = self.loaded.place(domain);
        let loaded = self.place.and_then(|place| self.loaded.at(place));
        self.decision.domain = loaded.map(|loaded| Arc::clone(&loaded.domain));
        self.decision.version = self.loaded.snapshot.version();
    }

    /// A decision that may be half made is begun again.
    pub(crate) fn begin_again(&mut self) {
        let Decision { version, .. } = self.decision;
        let domain = self.decision.domain.take();
        self.decision = Decision { version, domain, ..Decision::free(self.now) };
    }

    /// Where the decisions of its domain's rules are counted.
    pub(crate) fn counts(&self) -> &[Arc<RuleCounts>] {
        let loaded = self.place.and_then(|place| self.loaded.at(place));
        loaded.map_or(&[], |loaded| &loaded.counts)
    }
}

//! What a check takes along from station to station. The plan and the decision are large and filled where they stand, with
//! whoever asks: the way is only lent them.

use std::sync::Arc;
use std::time::Instant;

use arc_swap::Guard;
use tidegate_core::{Plan, Ticket};

use crate::decision::Decision;
use crate::loaded::Loaded;
use crate::observe::RuleCounts;
use crate::settle::Silence;

/// A check on its way.
pub(crate) struct Way<'d> {
    /// The rules that it sees from start to end.
    loaded: Guard<Arc<Loaded>>,
    /// The place of its domain among them.
    place: Option<usize>,
    pub(crate) started: Instant,
    /// What the store is asked.
    pub(crate) plan: &'d mut Plan,
    /// Why it gave no answer.
    pub(crate) silence: Silence,
    pub(crate) decision: &'d mut Decision,
}

impl<'d> Way<'d> {
    /// A way that begins now, to a decision that lets everything pass.
    #[inline]
    pub(crate) fn new(loaded: Guard<Arc<Loaded>>, plan: &'d mut Plan, decision: &'d mut Decision) -> Self {
        let (started, silence) = (Instant::now(), Silence::NotAsked);
        Self { loaded, place: None, started, plan, silence, decision }
    }

    /// Finds the rules of the check's domain.
    pub(crate) fn enter(&mut self, domain: &str, ticket: Ticket) {
        self.place = self.loaded.place(domain);
        let loaded = self.place.and_then(|place| self.loaded.at(place));
        self.decision.domain = loaded.map(|loaded| Arc::clone(&loaded.domain));
        self.decision.version = self.loaded.snapshot.version();
        self.decision.id = ticket;
        self.plan.set_ticket(ticket);
    }

    /// A decision that may be half made is begun again.
    #[cold]
    pub(crate) fn begin_again(&mut self) {
        let Decision { id, at, version, .. } = *self.decision;
        let domain = self.decision.domain.take();
        *self.decision = Decision { id, version, domain, ..Decision::free(at) };
    }

    /// Where the decisions of its domain's rules are counted.
    pub(crate) fn counts(&self) -> &[Arc<RuleCounts>] {
        let loaded = self.place.and_then(|place| self.loaded.at(place));
        loaded.map_or(&[], |loaded| &loaded.counts)
    }
}

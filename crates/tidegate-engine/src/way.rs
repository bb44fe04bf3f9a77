//! What a check takes along from station to station. The plan and the decision are large and filled where they stand, with
//! whoever asks: the way is only lent them.

use std::sync::Arc;
use std::time::Instant;

use tidegate_core::{Plan, Ticket};

use crate::decision::Decision;
use crate::loaded::Loaded;
use crate::settle::Silence;

/// A check on its way.
pub(crate) struct Way<'d> {
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
    pub(crate) fn new(plan: &'d mut Plan, decision: &'d mut Decision) -> Self {
        Self { started: Instant::now(), plan, silence: Silence::NotAsked, decision }
    }

    /// Finds the rules of the check's domain, which it sees from start to end.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "every check comes here once")]
    pub(crate) fn enter(&mut self, domain: &str, loaded: &Loaded, ticket: Ticket) {
        self.decision.domain = loaded.domain(domain).map(Arc::clone);
        self.decision.version = loaded.version;
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
}

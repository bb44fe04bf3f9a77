//! A check between the two halves of its path: [`Engine::begin`](crate::Engine::begin) has made its plan, and the store
//! has not answered yet.

use std::sync::Arc;
use std::time::Instant;

use tidegate_core::{Plan, Ticket, Timestamp};
use tidegate_store::StoreError;

use crate::check::Malformed;
use crate::decision::{Decision, Trouble};
use crate::loaded::Loaded;
use crate::observe::Observed;

/// A check whose plan is made. It borrows nothing of the check, so that it can outlive the bytes of the request.
///
/// Dropped without [`Engine::finish`](crate::Engine::finish), it is counted as abandoned.
#[derive(Debug)]
pub struct Pending<'e> {
    guard: AbandonGuard<'e>,
    pub(crate) started: Instant,
    pub(crate) plan: Plan,
    /// Lets everything pass until it is settled.
    pub(crate) decision: Decision,
    pub(crate) failure: Option<BeginFailure>,
    /// Why the store did not answer.
    pub(crate) error: Option<StoreError>,
}

/// Why there is no plan although there should be one.
#[derive(Debug)]
pub(crate) enum BeginFailure {
    /// The check is malformed. Boxed because it is rare and large.
    Malformed(Box<Malformed>),
    /// The rules' class decides without the store.
    Trouble(Trouble),
}

impl<'e> Pending<'e> {
    /// A check that begins now.
    #[inline]
    pub(crate) fn new(observed: &'e Observed, now: Timestamp) -> Self {
        Self {
            guard: AbandonGuard::armed(observed),
            started: Instant::now(),
            plan: Plan::new(),
            decision: Decision::free(now),
            failure: None,
            error: None,
        }
    }

    /// When the decision is made.
    pub(crate) fn now(&self) -> Timestamp {
        self.decision.at
    }

    /// Finds the rules of the domain; the check sees them from start to end.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "every check comes here once")]
    pub(crate) fn enter(&mut self, domain: &str, loaded: &Loaded, ticket: Ticket) {
        self.decision.domain = loaded.domain(domain).map(Arc::clone);
        self.decision.version = loaded.version;
        self.decision.id = ticket;
        self.plan.set_ticket(ticket);
    }

    /// Drops what a station may have half written, and keeps the identity of the decision.
    #[cold]
    pub(crate) fn clear_decision(&mut self) {
        let Decision { id, at, version, .. } = self.decision;
        let domain = self.decision.domain.take();
        self.decision = Decision { id, version, domain, ..Decision::free(at) };
    }

    /// From here on it is not abandoned.
    pub(crate) fn disarm(&mut self) {
        self.guard.disarm();
    }
}

/// Counts what is dropped before it is finished.
#[derive(Debug)]
pub(crate) struct AbandonGuard<'e>(Option<&'e Observed>);

impl<'e> AbandonGuard<'e> {
    pub(crate) const fn armed(observed: &'e Observed) -> Self {
        Self(Some(observed))
    }

    pub(crate) const fn disarm(&mut self) {
        self.0 = None;
    }
}

impl Drop for AbandonGuard<'_> {
    fn drop(&mut self) {
        if let Some(observed) = self.0 {
            observed.abandoned();
        }
    }
}

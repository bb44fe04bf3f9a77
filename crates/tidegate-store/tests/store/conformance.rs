//! The reference store, bare and inside a layer, through the suite that every store must pass.

use std::future::Future;

use tidegate_core::{Plan, Ticket, Timestamp};
use tidegate_store::history::Claims;
use tidegate_store::layer::{Fallback, Members};
use tidegate_store::{Answer, Hold, Memory, Reference, Settlement, Store, StoreError, Verdicts, conformance};

/// The simplest layer: everything goes through.
struct Through<S>(S);

impl<S: Store> Store for Through<S> {
    fn decide(&self, plan: &Plan, now: Timestamp) -> impl Future<Output = Result<Answer, StoreError>> + Send {
        self.0.decide(plan, now)
    }
    fn read(&self, plan: &Plan, now: Timestamp) -> impl Future<Output = Result<Answer, StoreError>> + Send {
        self.0.read(plan, now)
    }
    async fn reserve(&self, plan: &Plan, hold: Hold, now: Timestamp) -> Result<Answer, StoreError> {
        self.0.reserve(plan, hold, now).await
    }
    async fn commit(&self, ticket: Ticket, costs: &[u64], now: Timestamp) -> Result<Settlement, StoreError> {
        self.0.commit(ticket, costs, now).await
    }
    async fn cancel(&self, ticket: Ticket, now: Timestamp) -> Result<Settlement, StoreError> {
        self.0.cancel(ticket, now).await
    }
    async fn release(&self, plan: &Plan, now: Timestamp) -> Result<u64, StoreError> {
        self.0.release(plan, now).await
    }
    async fn renew(&self, plan: &Plan, now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
        self.0.renew(plan, now).await
    }
    async fn refund(&self, plan: &Plan, charged_at: Timestamp, now: Timestamp) -> Result<(), StoreError> {
        self.0.refund(plan, charged_at, now).await
    }
    async fn raise(&self, plan: &Plan, now: Timestamp) -> Result<Verdicts, StoreError> {
        self.0.raise(plan, now).await
    }
    async fn reset(&self, plan: &Plan, now: Timestamp) -> Result<usize, StoreError> {
        self.0.reset(plan, now).await
    }
}

#[test]
fn the_reference_store_conforms() {
    conformance::run(Reference::new, Claims::default());
}

#[test]
fn the_memory_store_conforms() {
    conformance::run(Memory::new, Claims::default());
}

#[test]
fn a_stack_of_layers_around_it_conforms() {
    conformance::run(|| Through(Through(Reference::new())), Claims::default());
}

#[test]
fn a_fallback_around_a_store_that_answers_conforms() {
    let make = || Fallback::new(Memory::new(), Memory::with_cap(1 << 20), Members::default());
    conformance::run(make, Claims::default());
}

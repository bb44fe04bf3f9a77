//! The reference store, bare and inside a layer, through the suite that every store must pass.

use tidegate_core::Timestamp;
use tidegate_store::history::Claims;
use tidegate_store::layer::{Fallback, Members};
use tidegate_store::{Act, Done, Memory, Reference, Store, StoreError, conformance};

/// The simplest layer: everything goes through.
struct Through<S>(S);

impl<S: Store> Store for Through<S> {
    async fn run(&self, act: Act<'_>, now: Timestamp) -> Result<Done, StoreError> {
        self.0.run(act, now).await
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

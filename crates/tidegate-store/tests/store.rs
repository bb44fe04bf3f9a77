//! The reference store as a whole: through the conformance suite, within its bounds, and without allocating.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "store/allocations.rs"]
mod allocations;
#[path = "store/attack.rs"]
mod attack;
#[path = "store/bounds.rs"]
mod bounds;
#[path = "store/checkpoint.rs"]
mod checkpoint;
#[path = "store/conformance.rs"]
mod conformance;
#[path = "store/differential.rs"]
mod differential;
#[path = "store/fallback.rs"]
mod fallback;
#[path = "store/lost.rs"]
mod lost;
#[path = "store/table.rs"]
mod table;
#[path = "store/mutants.rs"]
mod mutants;

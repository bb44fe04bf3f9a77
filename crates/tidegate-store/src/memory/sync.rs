//! What threads share, in one place, so that the same code runs under a model checker (`--cfg loom`), which tries every order
//! in which threads can meet, and every value that a load may see.

#[cfg(not(loom))]
mod real {
    pub(crate) use std::hint::spin_loop;
    pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
    pub(crate) use std::thread::yield_now;
}

#[cfg(loom)]
mod model {
    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
    pub(crate) use loom::thread::yield_now;

    pub(crate) fn spin_loop() {
        yield_now();
    }
}

/// How often a waiter looks before it lets others run.
const LOOKS: u32 = 64;

/// Waits a moment, the longer the more often it was called.
pub(super) fn pause(looks: &mut u32) {
    *looks += 1;
    if looks.is_multiple_of(LOOKS) { yield_now() } else { spin_loop() }
}

#[cfg(loom)]
pub(super) use model::*;
#[cfg(not(loom))]
pub(super) use real::*;

//! What threads share, in one place, so that the same code runs under a model checker (`--cfg loom`), which tries every order
//! in which threads can meet, and every value that a load may see.

#[cfg(not(loom))]
mod real {
    pub(crate) use std::hint::spin_loop;
    pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
    pub(crate) use std::thread::yield_now;

    /// Somebody's view of what a [`Home`] held.
    pub(crate) type View<T> = arc_swap::Guard<std::sync::Arc<T>>;

    /// Where a value lives that is replaced as a whole.
    pub(crate) struct Home<T>(arc_swap::ArcSwap<T>);

    impl<T> Home<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(arc_swap::ArcSwap::from_pointee(value))
        }

        #[inline]
        pub(crate) fn view(&self) -> View<T> {
            self.0.load()
        }

        pub(crate) fn replace(&self, value: T) {
            self.0.store(std::sync::Arc::new(value));
        }
    }
}

#[cfg(loom)]
mod model {
    use std::sync::Arc;

    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
    pub(crate) use loom::thread::yield_now;

    pub(crate) fn spin_loop() {
        yield_now();
    }

    pub(crate) type View<T> = Arc<T>;

    pub(crate) struct Home<T>(loom::sync::Mutex<Arc<T>>);

    impl<T> Home<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(loom::sync::Mutex::new(Arc::new(value)))
        }

        pub(crate) fn view(&self) -> View<T> {
            Arc::clone(&self.0.lock().expect("no thread panics"))
        }

        pub(crate) fn replace(&self, value: T) {
            *self.0.lock().expect("no thread panics") = Arc::new(value);
        }
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

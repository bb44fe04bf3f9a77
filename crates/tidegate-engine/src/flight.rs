//! How many checks may wait for the store at once: a permit is a guard, and `Drop` gives it back.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// A bound on the checks that wait for the store. A check that the store answers without waiting needs no permit, so
/// that a store in memory does not make all cores write one counter. The rarer acts always take one.
#[derive(Debug)]
pub struct FlightLimit {
    waiting: AtomicUsize,
    most: usize,
    refused: AtomicU64,
}

/// A place among the checks that wait, until it is dropped.
#[derive(Debug)]
pub struct FlightPermit<'f>(&'f FlightLimit);

impl FlightLimit {
    /// Lets so many checks wait at once.
    pub const fn new(most: usize) -> Self {
        Self { waiting: AtomicUsize::new(0), most, refused: AtomicU64::new(0) }
    }

    /// A permit, unless all are taken; that is counted.
    pub fn acquire(&self) -> Option<FlightPermit<'_>> {
        let waiting = self.waiting.fetch_add(1, Relaxed);
        let permit = FlightPermit(self);
        if waiting < self.most {
            return Some(permit);
        }
        self.refused.fetch_add(1, Relaxed);
        None
    }

    /// A permit beyond the bound: for acts that give back, which are never turned away.
    pub fn acquire_beyond(&self) -> FlightPermit<'_> {
        self.waiting.fetch_add(1, Relaxed);
        FlightPermit(self)
    }

    /// How many wait now.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Relaxed)
    }

    /// How many found no permit.
    pub fn refused(&self) -> u64 {
        self.refused.load(Relaxed)
    }
}

impl Default for FlightLimit {
    /// Without a bound.
    fn default() -> Self {
        Self::new(usize::MAX)
    }
}

impl Drop for FlightPermit<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_permit_is_free_again() {
        let limit = FlightLimit::new(1);
        let permit = limit.acquire().unwrap();
        assert!(limit.acquire().is_none());
        assert_eq!((limit.waiting(), limit.refused()), (1, 1));
        drop(permit);
        assert!(limit.acquire().is_some());
        assert_eq!((limit.waiting(), limit.refused()), (0, 1));
    }

    #[test]
    fn permits_beyond_the_bound_count() {
        let limit = FlightLimit::new(1);
        let _permits = [limit.acquire_beyond(), limit.acquire_beyond()];
        assert_eq!((limit.waiting(), limit.acquire().is_none()), (2, true));
    }
}

//! How much is under way: a seat is a guard, and leaving it is `Drop`.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

#[derive(Debug)]
pub(super) struct Flight {
    seated: AtomicUsize,
    most: usize,
}

/// A place among what is under way.
#[derive(Debug)]
pub(super) struct Seat<'f>(&'f Flight);

impl Flight {
    pub(super) const fn new(most: usize) -> Self {
        Self { seated: AtomicUsize::new(0), most }
    }

    /// A seat, unless all are taken.
    pub(super) fn board(&self) -> Option<Seat<'_>> {
        let seated = self.seated.fetch_add(1, Relaxed);
        let seat = Seat(self);
        (seated < self.most).then_some(seat)
    }

    /// A seat, whether or not there is one.
    pub(super) fn squeeze_in(&self) -> Seat<'_> {
        self.seated.fetch_add(1, Relaxed);
        Seat(self)
    }

    pub(super) fn count(&self) -> usize {
        self.seated.load(Relaxed)
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        self.0.seated.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seat_is_free_again_once_it_is_left() {
        let flight = Flight::new(1);
        let seat = flight.board().unwrap();
        assert!(flight.board().is_none());
        assert_eq!(flight.count(), 1);
        drop(seat);
        assert!(flight.board().is_some());
        assert_eq!(flight.count(), 0);
    }

    #[test]
    fn who_squeezes_in_takes_a_seat_as_well() {
        let flight = Flight::new(1);
        let _seats = [flight.squeeze_in(), flight.squeeze_in()];
        assert_eq!((flight.count(), flight.board().is_none()), (2, true));
    }
}

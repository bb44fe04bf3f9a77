//! How much is under way: a seat is a guard, and leaving it is `Drop`. Where nobody waits, nothing is under way, and no seat is
//! counted: it is a number that all cores would write with every check.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

#[derive(Debug)]
pub(super) struct Flight {
    seated: AtomicUsize,
    most: usize,
    /// Whether those who board may have to wait.
    is_counted: bool,
}

/// A place among what is under way.
#[derive(Debug)]
pub(super) struct Seat<'f>(Option<&'f Flight>);

impl Flight {
    pub(super) const fn new(most: usize, is_counted: bool) -> Self {
        Self { seated: AtomicUsize::new(0), most, is_counted }
    }

    /// A seat, unless all are taken.
    pub(super) fn board(&self) -> Option<Seat<'_>> {
        if !self.is_counted {
            return Some(Seat(None));
        }
        let seated = self.seated.fetch_add(1, Relaxed);
        let seat = Seat(Some(self));
        (seated < self.most).then_some(seat)
    }

    /// A seat, whether or not there is one.
    pub(super) fn squeeze_in(&self) -> Seat<'_> {
        if !self.is_counted {
            return Seat(None);
        }
        self.seated.fetch_add(1, Relaxed);
        Seat(Some(self))
    }

    pub(super) fn count(&self) -> usize {
        self.seated.load(Relaxed)
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        if let Some(flight) = self.0 {
            flight.seated.fetch_sub(1, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seat_is_free_again_once_it_is_left() {
        let flight = Flight::new(1, true);
        let seat = flight.board().unwrap();
        assert!(flight.board().is_none());
        assert_eq!(flight.count(), 1);
        drop(seat);
        assert!(flight.board().is_some());
        assert_eq!(flight.count(), 0);
    }

    #[test]
    fn who_squeezes_in_takes_a_seat_as_well() {
        let flight = Flight::new(1, true);
        let _seats = [flight.squeeze_in(), flight.squeeze_in()];
        assert_eq!((flight.count(), flight.board().is_none()), (2, true));
    }

    #[test]
    fn where_nobody_waits_nothing_is_counted() {
        let flight = Flight::new(1, false);
        let _seats = [flight.board(), flight.board(), Some(flight.squeeze_in())].map(Option::unwrap);
        assert_eq!(flight.count(), 0);
    }
}

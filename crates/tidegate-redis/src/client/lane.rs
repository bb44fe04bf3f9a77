//! Lanes: threads whose calls go over connections of their own.

use std::cell::Cell;

thread_local! {
    static LANE: Cell<Option<usize>> = const { Cell::new(None) };
}

/// From now on calls from this thread go over connections of that [lane](super::Settings::lanes). It should be the thread of the
/// lane's runtime.
pub fn stay_on_lane(lane: usize) {
    LANE.set(Some(lane));
}

/// The lane of this thread, if it stays on one.
pub(crate) fn own() -> Option<usize> {
    LANE.get()
}

//! How long a caller waits, and what is left of it when something is asked on its behalf.

use std::time::Duration;

use tidegate_core::Timestamp;

/// How long a caller waits for its answer, counted from when its question was read. One question may be several checks:
/// what the first ones took is not there for the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Patience(Option<Waits>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Waits {
    since: Timestamp,
    lasts: Duration,
}

impl Patience {
    /// Counts from now on, if the caller said how long it waits. The clock is not read otherwise.
    pub(crate) fn new(lasts: Option<Duration>, now: impl FnOnce() -> Timestamp) -> Self {
        Self(lasts.map(|lasts| Waits { since: now(), lasts }))
    }

    /// What is left of it; nothing at all if it is over.
    pub(crate) fn left(self, now: impl FnOnce() -> Timestamp) -> Option<Duration> {
        let Waits { since, lasts } = self.0?;
        Some(lasts.saturating_sub(Duration::from_micros(now().since(since))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_spent_is_not_left() {
        let at = |ms: u64| move || Timestamp::from_micros(ms * 1000);
        let patience = Patience::new(Some(Duration::from_millis(20)), at(5));
        assert_eq!(patience.left(at(5)), Some(Duration::from_millis(20)));
        assert_eq!(patience.left(at(18)), Some(Duration::from_millis(7)));
        assert_eq!(patience.left(at(99)), Some(Duration::ZERO));
        assert_eq!(patience.left(at(0)), Some(Duration::from_millis(20)), "a clock that steps back");
    }

    #[test]
    fn whoever_says_nothing_has_no_end_and_no_clock_is_read() {
        let nobody = || -> Timestamp { panic!("the clock is read") };
        assert_eq!(Patience::new(None, nobody).left(nobody), None);
    }
}

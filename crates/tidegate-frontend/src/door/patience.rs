//! How long a caller waits, and what is left of it when something is asked on its behalf.

use std::time::Duration;

use tidegate_core::Timestamp;

/// What an answer needs on its way to the caller.
const ANSWER_TIME: Duration = Duration::from_millis(1);

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

    /// What is left of it; zero from nine tenths on, or if less than [`ANSWER_TIME`] remains. The class then decides
    /// without the store, so that the last checks of a batch do not take the time that its answer needs.
    pub(crate) fn left(self, now: impl FnOnce() -> Timestamp) -> Option<Duration> {
        let Waits { since, lasts } = self.0?;
        let left = lasts.saturating_sub(Duration::from_micros(now().since(since)));
        let is_first = left == lasts;
        Some(if is_first || left > ANSWER_TIME.max(lasts / 10) { left } else { Duration::ZERO })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_time_for_the_answer() {
        let at = |ms: u64| move || Timestamp::from_micros(ms * 1000);
        let patience = Patience::new(Some(Duration::from_millis(20)), at(5));
        assert_eq!(patience.left(at(5)), Some(Duration::from_millis(20)));
        assert_eq!(patience.left(at(18)), Some(Duration::from_millis(7)));
        for later in [23, 24, 99] {
            assert_eq!(patience.left(at(later)), Some(Duration::ZERO), "the answer needs the rest");
        }
        assert_eq!(patience.left(at(0)), Some(Duration::from_millis(20)), "a clock that steps back");
    }

    #[test]
    fn whoever_says_nothing_has_no_end_and_no_clock_is_read() {
        let nobody = || -> Timestamp { panic!("the clock is read") };
        assert_eq!(Patience::new(None, nobody).left(nobody), None);
    }
}

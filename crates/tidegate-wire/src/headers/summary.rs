//! What the reports of one check come to: which of them binds most, and when a refused client should return.

use tidegate_core::Timestamp;

use super::report::{Report, Wait};
use super::{Settings, seconds_up};

/// The reports of one check, and what follows from them. Headers and body are written from the same one, so that they
/// agree.
///
/// ```
/// use tidegate_core::{Limit, State, Timestamp};
/// use tidegate_wire::{Report, Settings, Summary};
/// let limit = Limit::fixed_window(1, tidegate_core::Window::Aligned(std::time::Duration::from_secs(60)))?;
/// let (mut state, now) = (State::EMPTY, Timestamp::ZERO);
/// limit.step(&mut state, now, 1)?;
/// let verdict = limit.step(&mut state, now, 1)?;
/// let reports = [Report::new("per-user", &limit, &verdict)];
///
/// let settings = Settings { retry_jitter_percent: 20, ..Settings::default() };
/// let summary = Summary::new(&reports, now);
/// assert_eq!(summary.retry_after_s(), Some(60));
/// assert_eq!(summary.jittered(&settings, u64::MAX / 2).retry_after_s(), Some(66));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Summary<'a> {
    reports: &'a [Report<'a>],
    now: Timestamp,
    most_restrictive: Option<&'a Report<'a>>,
    retry_after_us: Option<u64>,
}

impl<'a> Summary<'a> {
    /// Sums up the reports of a check that was made at `now`.
    pub fn new(reports: &'a [Report<'a>], now: Timestamp) -> Self {
        let most_restrictive = most_restrictive(reports).map(|index| &reports[index]);
        let retry_after_us = match most_restrictive.and_then(Report::wait) {
            Some(Wait::Us(us)) => Some(us),
            Some(Wait::Never) | None => None,
        };
        Self { reports, now, most_restrictive, retry_after_us }
    }

    /// Lengthens the wait by 0 to [`Settings::retry_jitter_percent`], in proportion to `random`, which should be spread
    /// evenly over all numbers and be another one for each check.
    #[must_use]
    pub fn jittered(mut self, settings: &Settings, random: u64) -> Self {
        self.retry_after_us = self.retry_after_us.map(|us| {
            let most_us = narrow(u128::from(us) * u128::from(settings.retry_jitter_percent) / 100);
            us.saturating_add(narrow((u128::from(most_us) * u128::from(random)) >> u64::BITS))
        });
        self
    }

    /// Says when to return where the reports do not: the service was too busy to ask, say. A longer wait that they ask for
    /// stays, and so does their word that no waiting helps.
    #[must_use]
    pub fn retrying_after_s(mut self, seconds: u64) -> Self {
        if self.most_restrictive.and_then(Report::wait) != Some(Wait::Never) {
            self.retry_after_us = self.retry_after_us.max(Some(seconds.saturating_mul(1_000_000)));
        }
        self
    }

    /// The reports, in the order in which they were given.
    pub const fn reports(&self) -> &'a [Report<'a>] {
        self.reports
    }

    /// Those that refused.
    pub fn refused(&self) -> impl Iterator<Item = &'a Report<'a>> + use<'a> {
        self.reports.iter().filter(|report| !report.verdict.allowed())
    }

    /// The report that binds most; see [`most_restrictive`].
    pub const fn most_restrictive(&self) -> Option<&'a Report<'a>> {
        self.most_restrictive
    }

    /// The one that binds most, if the check was refused.
    pub fn denied_by(&self) -> Option<&'a Report<'a>> {
        self.most_restrictive.filter(|report| !report.verdict.allowed())
    }

    /// When the refused request is worth repeating, in seconds from now, rounded up; `None` if it was not refused or can
    /// never pass.
    pub fn retry_after_s(&self) -> Option<u64> {
        self.retry_after_us.map(seconds_up)
    }

    pub(super) const fn now(&self) -> Timestamp {
        self.now
    }
}

/// The index of the report that binds most: of refusals the one with the longest retry-after, "never" being longest;
/// of admissions the one with the least remaining share of its limit; the first of equals.
pub fn most_restrictive(reports: &[Report<'_>]) -> Option<usize> {
    (0..reports.len())
        .reduce(|most, next| if reports[next].binds_more_than(&reports[most]) { next } else { most })
}

fn narrow(us: u128) -> u64 {
    u64::try_from(us).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;
    use tidegate_core::{Limit, Outcome, Retry, Verdict};

    use super::*;

    /// When a client that was refused is told to return, with that jitter and random number.
    fn told_s(retry: Retry, percent: u8, random: u64) -> Option<u64> {
        let limit = Limit::sliding_window(8, Duration::from_secs(60)).unwrap();
        let outcome = Outcome::Refused(retry);
        let verdict =
            Verdict { outcome, limit: 8, remaining: 0, debt: 0, reset_after_us: 0, next_after_us: 0 };
        let settings = Settings { retry_jitter_percent: percent, ..Settings::default() };
        let reports = [Report::new("a", &limit, &verdict)];
        Summary::new(&reports, Timestamp::ZERO).jittered(&settings, random).retry_after_s()
    }

    #[test]
    fn jitter_is_spread_over_the_percentage() {
        let wait = Retry::After(100_000_000);
        for (random, seconds) in [(0, 100), (u64::MAX / 4 + 1, 105), (u64::MAX / 2 + 1, 110), (u64::MAX, 120)]
        {
            assert_eq!(told_s(wait, 20, random), Some(seconds));
            assert_eq!(told_s(wait, 0, random), Some(100));
        }
        assert_eq!(told_s(Retry::After(u64::MAX), u8::MAX, u64::MAX), Some(u64::MAX.div_ceil(1_000_000)));
    }

    #[test]
    fn jitter_gives_no_hope_to_what_can_never_pass() {
        assert_eq!(told_s(Retry::Never, 20, u64::MAX), None);
    }

    #[test]
    fn a_wait_that_is_set_does_not_shorten_that_of_the_reports() {
        let limit = Limit::sliding_window(8, Duration::from_secs(60)).unwrap();
        let set = |outcome| {
            let verdict =
                Verdict { outcome, limit: 8, remaining: 0, debt: 0, reset_after_us: 0, next_after_us: 0 };
            let reports = [Report::new("a", &limit, &verdict)];
            Summary::new(&reports, Timestamp::ZERO).retrying_after_s(5).retry_after_s()
        };
        assert_eq!(Summary::new(&[], Timestamp::ZERO).retrying_after_s(5).retry_after_s(), Some(5));
        assert_eq!(set(Outcome::Allowed), Some(5));
        assert_eq!(set(Outcome::Refused(Retry::After(1))), Some(5));
        assert_eq!(set(Outcome::Refused(Retry::After(9_000_000))), Some(9));
        assert_eq!(set(Outcome::Refused(Retry::Never)), None);
    }

    proptest! {
        #[test]
        fn jitter_is_never_early_and_never_more_than_its_percentage(
            us in prop_oneof![1..100_000_000_u64, any::<u64>()], percent: u8, random: u64,
        ) {
            let told = told_s(Retry::After(us), percent, random).unwrap();
            let most_us = u128::from(us.max(1)) * (100 + u128::from(percent)) / 100;
            prop_assert!(told >= seconds_up(us.max(1)));
            prop_assert!(u128::from(told) <= most_us.div_ceil(1_000_000));
        }
    }
}

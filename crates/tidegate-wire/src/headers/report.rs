//! One limit as a client may know it, and how two of them compare.

use std::fmt;

use tidegate_core::{Algorithm, Limit, Outcome, Retry, Verdict};

/// One limit as a client may know it: its policy name, its numbers, and how the check fared with it.
///
/// Only limits that are enforced belong here: a client that is told of a shadow rule's refusal would heed it.
///
/// ```
/// use tidegate_core::{Limit, State, Timestamp};
/// use tidegate_wire::{Report, Unit};
/// let limit = Limit::sliding_window(1 << 20, std::time::Duration::from_secs(60))?;
/// let verdict = limit.step(&mut State::EMPTY, Timestamp::ZERO, 2048)?;
/// let report = Report { unit: Unit::ContentBytes, ..Report::new("upload", &limit, &verdict) };
/// assert_eq!((report.rule, report.used()), ("upload", 2048));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// The policy's name. A rule with several limits is several policies, each with a name of its own.
    pub name: &'a str,
    /// The name of the rule that the limit belongs to.
    pub rule: &'a str,
    /// Its numbers.
    pub limit: &'a Limit,
    /// What they are numbers of.
    pub unit: Unit,
    /// The store's word on it.
    pub verdict: &'a Verdict,
    /// The name of what is counted by, such as `user`. Never its value.
    pub dimension: Option<&'a str>,
    /// The name of the part of the API that the limit is for, such as `search`.
    pub resource: Option<&'a str>,
    /// Which of the policy's counters was charged.
    pub partition_key: Option<PartitionKey<'a>>,
}

/// What a limit counts (the draft's *quota unit*).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unit {
    /// Requests, or points that requests cost.
    #[default]
    Requests,
    /// Requests that are under way at the same time.
    ConcurrentRequests,
    /// Bytes of content.
    ContentBytes,
}

/// A keyed hash of the values that a limit counts by. It never is the values themselves, which may be secrets: whoever
/// makes one has hashed them. It is left out of debug prints, since it links requests to one another.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PartitionKey<'a>(&'a [u8]);

/// How long a refused request has to wait, in order of length.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Wait {
    Us(u64),
    Never,
}

impl<'a> Report<'a> {
    /// A report on a policy that is a rule's only limit. It counts concurrent requests if the limit does, else requests;
    /// dimension, resource and partition key are not told.
    pub const fn new(name: &'a str, limit: &'a Limit, verdict: &'a Verdict) -> Self {
        let unit = Unit::of(limit);
        Self { name, rule: name, limit, unit, verdict, dimension: None, resource: None, partition_key: None }
    }

    /// Units that count against the limit, which may be more than it has.
    pub const fn used(&self) -> u64 {
        self.verdict.used()
    }

    /// `None` if it was not refused. Never 0, so that no client is told to come back at once.
    pub(super) fn wait(&self) -> Option<Wait> {
        match self.verdict.outcome {
            Outcome::Refused(Retry::After(us) | Retry::Within(us)) => Some(Wait::Us(us.max(1))),
            Outcome::Refused(Retry::Never) => Some(Wait::Never),
            Outcome::Allowed | Outcome::Delayed { .. } => None,
        }
    }

    /// The instant that `t` and `Reset` speak of: when more of the limit is available.
    pub(super) fn more_after_us(&self) -> u64 {
        match self.wait() {
            Some(Wait::Us(us)) => us,
            Some(Wait::Never) | None => {
                self.limit.more_after_us(self.verdict).unwrap_or(self.verdict.reset_after_us)
            }
        }
    }

    pub(super) fn binds_more_than(&self, other: &Report<'_>) -> bool {
        match (self.wait(), other.wait()) {
            (None, None) => self.has_less_left_than(other),
            (mine, others) => mine > others,
        }
    }

    /// Compares `remaining / capacity` by cross-multiplication: exact, and two 64-bit numbers fit into 128.
    fn has_less_left_than(&self, other: &Report<'_>) -> bool {
        let cross =
            |a: &Report<'_>, b: &Report<'_>| u128::from(a.verdict.remaining) * u128::from(b.verdict.limit);
        cross(self, other) < cross(other, self)
    }
}

impl Unit {
    /// What a limit counts unless something else is said of it.
    pub const fn of(limit: &Limit) -> Self {
        match limit.algorithm() {
            Algorithm::Concurrency => Self::ConcurrentRequests,
            _ => Self::Requests,
        }
    }
}

impl<'a> PartitionKey<'a> {
    /// The hash as the caller has made it.
    pub const fn from_keyed_hash(hash: &'a [u8]) -> Self {
        Self(hash)
    }

    pub(super) const fn bytes(self) -> &'a [u8] {
        self.0
    }
}

impl fmt::Debug for PartitionKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PartitionKey(..)")
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_debug_print_shows_no_partition_key() {
        let limit = Limit::concurrency(8, Duration::from_secs(1)).unwrap();
        let verdict = Verdict {
            outcome: Outcome::Allowed,
            limit: 8,
            remaining: 3,
            debt: 0,
            reset_after_us: 0,
            next_after_us: 0,
        };
        let key = Some(PartitionKey::from_keyed_hash(&[171, 172]));
        let report = Report { partition_key: key, ..Report::new("a", &limit, &verdict) };
        let printed = format!("{report:?}");
        assert!(printed.contains("PartitionKey(..)") && !printed.contains("171"), "{printed}");
    }

    #[test]
    fn what_is_used_includes_debts_and_never_overflows() {
        let limit = Limit::concurrency(8, Duration::from_secs(1)).unwrap();
        for (remaining, debt, used) in [(8, 0, 0), (3, 0, 5), (0, 4, 12), (9, 0, 0), (0, u64::MAX, u64::MAX)]
        {
            let verdict = Verdict {
                outcome: Outcome::Allowed,
                limit: 8,
                remaining,
                debt,
                reset_after_us: 0,
                next_after_us: 0,
            };
            assert_eq!(Report::new("a", &limit, &verdict).used(), used);
        }
    }
}

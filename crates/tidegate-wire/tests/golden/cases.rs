//! The checks whose answers are written down.

use std::time::Duration;

use tidegate_core::{Limit, Outcome, Rate, Retry, Timestamp, Verdict, Window};
use tidegate_wire::{PartitionKey, Report, Unit};

pub(crate) const NOW: Timestamp = Timestamp::from_micros(1_700_000_000_500_000);

/// A policy, and how a check fared with it.
pub(crate) struct Policy {
    name: &'static str,
    limit: Limit,
    unit: Option<Unit>,
    verdict: Verdict,
}

/// A check by name, as the policies that it met.
pub(crate) fn cases() -> Vec<(&'static str, Vec<Policy>)> {
    let after_s = |seconds: u64| Outcome::Refused(Retry::After(seconds * 1_000_000 - 1));
    let never = Outcome::Refused(Retry::Never);
    vec![
        ("no limit applies", vec![]),
        ("one limit, allowed", vec![per_user(Outcome::Allowed, 41)]),
        ("one limit, refused", vec![per_user(after_s(12), 0)]),
        ("a request that costs more than the limit", vec![per_user(never, 100)]),
        (
            "three limits, allowed",
            vec![per_user(Outcome::Allowed, 41), hourly(4100), slots(Outcome::Allowed, 3)],
        ),
        ("three limits, two refused", vec![per_user(after_s(12), 0), hourly(4100), slots(after_s(30), 0)]),
        ("bytes, allowed", vec![upload(Outcome::Allowed, 1_000_000)]),
        ("bytes, refused with a debt", vec![in_debt(upload(after_s(50), 0), 2048)]),
        ("slots, refused", vec![slots(Outcome::Refused(Retry::Within(29_000_001)), 0)]),
        ("a name that must be escaped", vec![Policy { name: r#"we"ird\name"#, ..per_user(after_s(1), 0) }]),
        ("a name that no field can hold", vec![Policy { name: "naïve", ..per_user(after_s(1), 0) }]),
    ]
}

/// The reports with all that can be said of them: each counts by `user`, for the part `core`.
pub(crate) fn reports(policies: &[Policy]) -> Vec<Report<'_>> {
    policies.iter().map(Policy::report).collect()
}

impl Policy {
    fn report(&self) -> Report<'_> {
        let report = Report::new(self.name, &self.limit, &self.verdict);
        Report {
            unit: self.unit.unwrap_or(report.unit),
            dimension: Some("user"),
            resource: Some("core"),
            partition_key: Some(PartitionKey::from_keyed_hash(&[0x5e, 0xed, 0xc0, 0xff, 0xee])),
            ..report
        }
    }
}

fn policy(name: &'static str, limit: Limit, outcome: Outcome, remaining: u64) -> Policy {
    let verdict = Verdict {
        outcome,
        limit: limit.capacity(),
        remaining,
        debt: 0,
        reset_after_us: 35_400_000,
        next_after_us: 0,
    };
    Policy { name, limit, unit: None, verdict }
}

fn per_user(outcome: Outcome, remaining: u64) -> Policy {
    let rate = Rate::new(100, Duration::from_secs(60)).unwrap();
    policy("per-user", Limit::gcra(rate, 100).unwrap(), outcome, remaining)
}

fn hourly(remaining: u64) -> Policy {
    let window = Window::Aligned(Duration::from_secs(3600));
    policy("hourly", Limit::fixed_window(5000, window).unwrap(), Outcome::Allowed, remaining)
}

fn slots(outcome: Outcome, remaining: u64) -> Policy {
    policy("slots", Limit::concurrency(8, Duration::from_secs(30)).unwrap(), outcome, remaining)
}

fn upload(outcome: Outcome, remaining: u64) -> Policy {
    let limit = Limit::sliding_window(1 << 20, Duration::from_secs(60)).unwrap();
    Policy { unit: Some(Unit::ContentBytes), ..policy("upload", limit, outcome, remaining) }
}

fn in_debt(mut policy: Policy, debt: u64) -> Policy {
    policy.verdict.debt = debt;
    policy
}

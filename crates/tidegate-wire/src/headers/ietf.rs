//! The IETF's fields, one function per version of the draft.

use super::lines::{HeaderLines, is_printable};
use super::list::{self, List};
use super::report::{PartitionKey, Report, Unit, Wait};
use super::summary::Summary;
use super::{names, seconds_up};

const QUOTA: u8 = b'q';
const WINDOW: u8 = b'w';
const UNIT: &str = "qu";
const REMAINING: u8 = b'r';
const RESET: u8 = b't';
const PARTITION_KEY: &str = "pk";

/// Whether the partition keys that reports carry are told.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PartitionKeys {
    Told,
    Hidden,
}

/// A report as draft-10's lists hold it.
struct Member<'a> {
    report: &'a Report<'a>,
    key: Option<&'a [u8]>,
}

/// draft-ietf-httpapi-ratelimit-headers-10. A name that no structured field can hold costs its report the place in it.
pub(super) fn write_draft_10(out: &mut HeaderLines, summary: &Summary<'_>, keys: PartitionKeys) {
    let latest_s = summary.retry_after_s().unwrap_or(u64::MAX);
    let members = || {
        let told = summary.reports().iter().filter(|report| is_printable(report.name));
        told.map(move |report| Member {
            report,
            key: report.partition_key.filter(|_| keys == PartitionKeys::Told).map(PartitionKey::bytes),
        })
    };
    out.list(names::RATELIMIT_POLICY, |list| members().for_each(|member| member.push_policy(list)));
    out.list(names::RATELIMIT, |list| members().for_each(|member| member.push_standing(list, latest_s)));
}

/// draft-ietf-httpapi-ratelimit-headers-03: the most restrictive limit, then all that have a window, without names.
/// What can never pass has a reset all the same: this version knows no answer without one.
pub(super) fn write_draft_03(out: &mut HeaderLines, summary: &Summary<'_>) {
    let Some(most) = summary.most_restrictive() else { return };
    out.list(names::RATELIMIT_LIMIT, |limits| {
        limits.integer(most.verdict.limit);
        for report in summary.reports() {
            if let Some(us) = report.limit.window_us() {
                limits.integer(report.verdict.limit).number(WINDOW, seconds_up(us));
            }
        }
    });
    out.number(names::RATELIMIT_REMAINING, most.verdict.remaining.min(list::MOST));
    out.number(names::RATELIMIT_RESET, seconds_up(most.more_after_us()));
}

impl Member<'_> {
    fn push_policy(&self, out: &mut List<'_>) {
        let limit = self.report.limit;
        let policy = out.string(self.report.name).number(QUOTA, self.report.verdict.limit);
        if let Some(us) = limit.window_us() {
            policy.number(WINDOW, seconds_up(us));
        }
        if let Some(unit) = quota_unit(self.report.unit) {
            policy.text(UNIT, unit);
        }
        if let Some(key) = self.key {
            policy.bytes(PARTITION_KEY, key);
        }
    }

    /// `t` is left out where waiting does not help, and where it would be later than `Retry-After`.
    fn push_standing(&self, out: &mut List<'_>, latest_s: u64) {
        let remaining = self.report.verdict.remaining;
        let standing = out.string(self.report.name).number(REMAINING, remaining);
        let reset_s = seconds_up(self.report.more_after_us());
        if reset_s <= latest_s && self.report.wait() != Some(Wait::Never) {
            standing.number(RESET, reset_s);
        }
        if let Some(key) = self.key {
            standing.bytes(PARTITION_KEY, key);
        }
    }
}

/// Requests are what is meant where nothing is said, and the draft spells them in two ways.
const fn quota_unit(unit: Unit) -> Option<&'static str> {
    match unit {
        Unit::Requests => None,
        Unit::ConcurrentRequests => Some("concurrent-requests"),
        Unit::ContentBytes => Some("content-bytes"),
    }
}

//! The IETF's fields, one function per version of the draft.

use http::header::{HeaderMap, HeaderName, HeaderValue};
use sfv::{StringRef, string_ref};

use super::list::{self, List};
use super::report::{PartitionKey, Report, Unit, Wait};
use super::summary::Summary;
use super::{RATELIMIT, RATELIMIT_LIMIT, RATELIMIT_POLICY, RATELIMIT_REMAINING, RATELIMIT_RESET, seconds_up};

const QUOTA: &str = "q";
const WINDOW: &str = "w";
const UNIT: &str = "qu";
const REMAINING: &str = "r";
const RESET: &str = "t";
const PARTITION_KEY: &str = "pk";

/// Whether the partition keys that reports carry are told.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PartitionKeys {
    Told,
    Hidden,
}

/// A report as draft-10's lists hold it.
struct Member<'a> {
    name: &'a StringRef,
    report: &'a Report<'a>,
    key: Option<&'a [u8]>,
}

/// draft-ietf-httpapi-ratelimit-headers-10. A name that no structured field can hold costs its report the place in it.
pub(super) fn write_draft_10(out: &mut HeaderMap, summary: &Summary<'_>, keys: PartitionKeys) {
    let latest_s = summary.retry_after_s().unwrap_or(u64::MAX);
    let (mut policies, mut standings) = (List::default(), List::default());
    for report in summary.reports() {
        let Ok(name) = StringRef::from_str(report.name) else { continue };
        let key = report.partition_key.filter(|_| keys == PartitionKeys::Told).map(PartitionKey::bytes);
        let member = Member { name, report, key };
        member.push_policy(&mut policies);
        member.push_standing(&mut standings, latest_s);
    }
    append(out, RATELIMIT_POLICY, policies);
    append(out, RATELIMIT, standings);
}

/// draft-ietf-httpapi-ratelimit-headers-03: the most restrictive limit, then all that have a window, without names.
/// What can never pass has a reset all the same: this version knows no answer without one.
pub(super) fn write_draft_03(out: &mut HeaderMap, summary: &Summary<'_>) {
    let Some(most) = summary.most_restrictive() else { return };
    let mut limits = List::default();
    limits.integer(most.limit.capacity());
    for report in summary.reports() {
        if let Some(us) = report.limit.window_us() {
            limits.integer(report.limit.capacity()).number(WINDOW, seconds_up(us));
        }
    }
    out.remove(RATELIMIT_LIMIT);
    append(out, RATELIMIT_LIMIT, limits);
    out.insert(RATELIMIT_REMAINING, most.verdict.remaining.min(list::MOST).into());
    out.insert(RATELIMIT_RESET, seconds_up(most.reset_after_us()).into());
}

impl Member<'_> {
    fn push_policy(&self, out: &mut List) {
        let limit = self.report.limit;
        let policy = out.string(self.name).number(QUOTA, limit.capacity());
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
    fn push_standing(&self, out: &mut List, latest_s: u64) {
        let remaining = self.report.verdict.remaining;
        let standing = out.string(self.name).number(REMAINING, remaining);
        let reset_s = seconds_up(self.report.reset_after_us());
        if reset_s <= latest_s && self.report.wait() != Some(Wait::Never) {
            standing.number(RESET, reset_s);
        }
        if let Some(key) = self.key {
            standing.bytes(PARTITION_KEY, key);
        }
    }
}

/// Requests are what is meant where nothing is said, and the draft spells them in two ways.
const fn quota_unit(unit: Unit) -> Option<&'static StringRef> {
    match unit {
        Unit::Requests => None,
        Unit::ConcurrentRequests => Some(string_ref("concurrent-requests")),
        Unit::ContentBytes => Some(string_ref("content-bytes")),
    }
}

fn append(out: &mut HeaderMap, name: HeaderName, list: List) {
    if let Some(value) = list.finish().and_then(|list| HeaderValue::try_from(list).ok()) {
        out.append(name, value);
    }
}

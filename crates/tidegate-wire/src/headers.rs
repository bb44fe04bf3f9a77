//! What clients are told about their limits: one encoder for every door that speaks HTTP.
//!
//! It takes the verdicts of one check and writes the `RateLimit` fields of draft-ietf-httpapi-ratelimit-headers-10, the
//! older `X-RateLimit-*` on request, and `Retry-After` on a refusal.

#[cfg(test)]
mod tests;

use http::header::{HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use sfv::{Integer, KeyRef, ListSerializer, StringRef, key_ref, string_ref};
use tidegate_core::{Limit, Outcome, Retry, Timestamp, Verdict};

/// `RateLimit-Policy`: the limits that apply, whatever is left of them.
pub const RATELIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
/// `RateLimit`: what is left of each limit.
pub const RATELIMIT: HeaderName = HeaderName::from_static("ratelimit");
/// `X-RateLimit-Limit`: the amount of the most restrictive limit.
pub const X_RATELIMIT_LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
/// `X-RateLimit-Remaining`: what is left of it.
pub const X_RATELIMIT_REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
/// `X-RateLimit-Reset`: when more of it is available.
pub const X_RATELIMIT_RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// One limit as a client may know it: its policy name, its numbers, and how the check fared with it.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// The policy's name.
    pub name: &'a str,
    /// Its numbers.
    pub limit: &'a Limit,
    /// The store's word on it.
    pub verdict: &'a Verdict,
}

/// Which headers are written. `Retry-After` always is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Settings {
    /// The IETF's `RateLimit` fields.
    pub ietf: Ietf,
    /// The `X-RateLimit-*` fields that came before.
    pub legacy: Legacy,
}

/// Which version of the IETF's fields is written. The draft is still moving, hence by number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Ietf {
    /// `RateLimit-Policy` and `RateLimit` as of draft-ietf-httpapi-ratelimit-headers-10.
    #[default]
    Draft10,
    /// Neither.
    Off,
}

/// Whether `X-RateLimit-*` is written, and what its `Reset` means: services do not agree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Legacy {
    /// Not at all.
    #[default]
    Off,
    /// With `Reset` as seconds since the Unix epoch, as GitHub has it.
    Epoch,
    /// With `Reset` as seconds from now, as Envoy has it.
    Delta,
}

/// Writes what the reports of one check say to the client.
///
/// The IETF fields are lists and are appended: what a server behind us said of its own limits stays. The others hold
/// one value and are replaced. Times are rounded up to whole seconds, so that nobody is called back too early.
///
/// `t` is the time until the whole limit is available again, except that a refused report says when to retry: waiting
/// for all of a bucket that refills steadily would be needlessly long, and `Retry-After` should not be earlier than
/// `t`. For the same reason a refusal leaves `t` out of a report that passed and whose reset is later still. What can
/// never pass has no `t`: no waiting helps.
///
/// A name that no structured field can hold (beyond printable ASCII) costs its report the place in the IETF fields,
/// and nothing else.
///
/// ```
/// use http::HeaderMap;
/// use tidegate_core::{Limit, Rate, State, Timestamp};
/// use tidegate_wire::headers::{Legacy, Report, Settings, write};
///
/// let limit = Limit::gcra(Rate::new(100, std::time::Duration::from_secs(60))?, 100)?;
/// let (mut state, now) = (State::EMPTY, Timestamp::from_micros(1_700_000_000_000_000));
/// let verdict = limit.step(&mut state, now, 20)?;
/// let reports = [Report { name: "per-user", limit: &limit, verdict: &verdict }];
///
/// let mut headers = HeaderMap::new();
/// write(&mut headers, &reports, now, &Settings { legacy: Legacy::Epoch, ..Settings::default() });
/// assert_eq!(headers["ratelimit-policy"], r#""per-user";q=100;w=60"#);
/// assert_eq!(headers["ratelimit"], r#""per-user";r=80;t=12"#);
/// assert_eq!(headers["x-ratelimit-reset"], "1700000012");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write(out: &mut HeaderMap, reports: &[Report<'_>], now: Timestamp, settings: &Settings) {
    match settings.ietf {
        Ietf::Draft10 => write_draft_10(out, reports),
        Ietf::Off => {}
    }
    if let Some(most) = most_restrictive(reports) {
        write_legacy(out, &reports[most], now, settings.legacy);
    }
    if let Some(seconds) = retry_after_s(reports) {
        out.insert(RETRY_AFTER, seconds.into());
    }
}

/// The index of the report that binds most: of refusals the one with the longest retry-after, "never" being longest;
/// of admissions the one with the least remaining share of its limit; the first of equals.
pub fn most_restrictive(reports: &[Report<'_>]) -> Option<usize> {
    (0..reports.len())
        .reduce(|most, next| if reports[next].binds_more_than(&reports[most]) { next } else { most })
}

/// When the refused request is worth repeating; `None` if it was not refused or can never pass.
pub(crate) fn retry_after_s(reports: &[Report<'_>]) -> Option<u64> {
    match reports[most_restrictive(reports)?].wait()? {
        Wait::Us(us) => Some(seconds_up(us)),
        Wait::Never => None,
    }
}

/// How long a refused request has to wait, in order of length.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Wait {
    Us(u64),
    Never,
}

impl Report<'_> {
    /// `None` if it was not refused. Never 0, so that no client is told to come back at once.
    fn wait(&self) -> Option<Wait> {
        match self.verdict.outcome {
            Outcome::Refused(Retry::After(us) | Retry::Within(us)) => Some(Wait::Us(us.max(1))),
            Outcome::Refused(Retry::Never) => Some(Wait::Never),
            Outcome::Allowed | Outcome::Delayed { .. } => None,
        }
    }

    /// The instant that `t` and `Reset` speak of: the retry of a refusal, otherwise when the limit is whole again.
    fn reset_after_us(&self) -> u64 {
        match self.wait() {
            Some(Wait::Us(us)) => us,
            Some(Wait::Never) | None => self.verdict.reset_after_us,
        }
    }

    fn binds_more_than(&self, other: &Self) -> bool {
        match (self.wait(), other.wait()) {
            (None, None) => self.has_less_left_than(other),
            (mine, others) => mine > others,
        }
    }

    /// Compares `remaining / capacity` by cross-multiplication: exact, and two 64-bit numbers fit into 128.
    fn has_less_left_than(&self, other: &Self) -> bool {
        let cross = |a: &Self, b: &Self| u128::from(a.verdict.remaining) * u128::from(b.limit.capacity());
        cross(self, other) < cross(other, self)
    }
}

const QUOTA: &KeyRef = key_ref("q");
const WINDOW: &KeyRef = key_ref("w");
const UNIT: &KeyRef = key_ref("qu");
const REMAINING: &KeyRef = key_ref("r");
const RESET: &KeyRef = key_ref("t");
const CONCURRENT_REQUESTS: &StringRef = string_ref("concurrent-requests");

fn write_draft_10(out: &mut HeaderMap, reports: &[Report<'_>]) {
    let latest_s = retry_after_s(reports).unwrap_or(u64::MAX);
    let (mut policies, mut standings) = (ListSerializer::new(), ListSerializer::new());
    for report in reports {
        let Ok(name) = StringRef::from_str(report.name) else { continue };
        let policy = policies.bare_item(name).parameter(QUOTA, integer(report.limit.capacity()));
        match report.limit.window_us() {
            Some(us) => policy.parameter(WINDOW, integer(seconds_up(us))),
            None => policy.parameter(UNIT, CONCURRENT_REQUESTS),
        };
        let standing = standings.bare_item(name).parameter(REMAINING, integer(report.verdict.remaining));
        let reset_s = seconds_up(report.reset_after_us());
        if reset_s <= latest_s && report.wait() != Some(Wait::Never) {
            standing.parameter(RESET, integer(reset_s));
        }
    }
    append(out, RATELIMIT_POLICY, policies.finish());
    append(out, RATELIMIT, standings.finish());
}

fn append(out: &mut HeaderMap, name: HeaderName, list: Option<String>) {
    if let Some(value) = list.and_then(|list| HeaderValue::try_from(list).ok()) {
        out.append(name, value);
    }
}

fn write_legacy(out: &mut HeaderMap, report: &Report<'_>, now: Timestamp, legacy: Legacy) {
    let reset_s = match legacy {
        Legacy::Off => return,
        Legacy::Epoch => seconds_up(now.plus_us(report.reset_after_us()).as_micros()),
        Legacy::Delta => seconds_up(report.reset_after_us()),
    };
    out.insert(X_RATELIMIT_LIMIT, report.limit.capacity().into());
    out.insert(X_RATELIMIT_REMAINING, report.verdict.remaining.into());
    out.insert(X_RATELIMIT_RESET, reset_s.into());
}

const fn seconds_up(us: u64) -> u64 {
    us.div_ceil(1_000_000)
}

/// The nearest integer that a structured field can hold: fifteen digits (RFC 9651, 3.3.1).
fn integer(value: u64) -> Integer {
    Integer::try_from(value).unwrap_or(Integer::MAX)
}

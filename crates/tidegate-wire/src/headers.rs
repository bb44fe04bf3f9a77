//! What clients are told about their limits: one encoder for every door that speaks HTTP.
//!
//! It takes the reports of one check and writes the IETF's `RateLimit` fields, the older `X-RateLimit-*` on request, and
//! on a refusal `Retry-After` and who refused.

mod settings;
mod report;
mod summary;
mod list;
mod lines;
pub mod names;
mod ietf;
mod legacy;
#[cfg(test)]
mod tests;

use http::header::{HeaderMap, HeaderName};

pub use legacy::denied_by;
pub use lines::HeaderLines;
pub use report::{PartitionKey, Report, Unit};
pub use settings::{Ietf, Legacy, SettingError, Settings};
pub use summary::{Summary, most_restrictive};

use ietf::PartitionKeys;

/// `RateLimit-Policy`: the limits that apply, whatever is left of them.
pub const RATELIMIT_POLICY: HeaderName = HeaderName::from_static(names::RATELIMIT_POLICY);
/// `RateLimit`: what is left of each limit.
pub const RATELIMIT: HeaderName = HeaderName::from_static(names::RATELIMIT);
/// `RateLimit-Limit`: draft-03's amount of the most restrictive limit, then of each with its window.
pub const RATELIMIT_LIMIT: HeaderName = HeaderName::from_static(names::RATELIMIT_LIMIT);
/// `RateLimit-Remaining`: draft-03's rest of the most restrictive limit.
pub const RATELIMIT_REMAINING: HeaderName = HeaderName::from_static(names::RATELIMIT_REMAINING);
/// `RateLimit-Reset`: draft-03's seconds until more of it is available.
pub const RATELIMIT_RESET: HeaderName = HeaderName::from_static(names::RATELIMIT_RESET);
/// `X-RateLimit-Limit`: the amount of the most restrictive limit.
pub const X_RATELIMIT_LIMIT: HeaderName = HeaderName::from_static(names::X_RATELIMIT_LIMIT);
/// `X-RateLimit-Remaining`: what is left of it.
pub const X_RATELIMIT_REMAINING: HeaderName = HeaderName::from_static(names::X_RATELIMIT_REMAINING);
/// `X-RateLimit-Reset`: when more of it is available.
pub const X_RATELIMIT_RESET: HeaderName = HeaderName::from_static(names::X_RATELIMIT_RESET);
/// `X-RateLimit-Used`: what has been taken of it.
pub const X_RATELIMIT_USED: HeaderName = HeaderName::from_static(names::X_RATELIMIT_USED);
/// `X-RateLimit-Resource`: the part of the API that it is for.
pub const X_RATELIMIT_RESOURCE: HeaderName = HeaderName::from_static(names::X_RATELIMIT_RESOURCE);
/// `X-RateLimit-Denied-By`: which rule refused, and by what it counts.
pub const X_RATELIMIT_DENIED_BY: HeaderName = HeaderName::from_static(names::X_RATELIMIT_DENIED_BY);

/// Writes what the reports of one check say to the client.
///
/// The fields of draft-10 are lists and are appended: what a server behind us said of its own limits stays. The others
/// are replaced. Times are rounded up to whole seconds, so that nobody is called back too early.
///
/// `t` and `Reset` are the time until more of the limit is available, as draft-10 has it: enough for the same request if it
/// was refused, one unit more than `r` otherwise. `Retry-After` should not be earlier than `t`, so that a refusal leaves `t`
/// out of a report that passed and whose next unit comes later. What can never pass has no `t`: no waiting helps.
///
/// A name that no structured field can hold (beyond printable ASCII) costs its report the place in the fields that tell
/// it, and nothing else. A resource without a name is not told.
///
/// ```
/// use http::HeaderMap;
/// use tidegate_core::{Limit, Rate, State, Timestamp};
/// use tidegate_wire::headers::{Legacy, Report, Settings, Summary, write};
///
/// let limit = Limit::gcra(Rate::new(100, std::time::Duration::from_secs(60))?, 100)?;
/// let (mut state, now) = (State::EMPTY, Timestamp::from_micros(1_700_000_000_000_000));
/// let verdict = limit.step(&mut state, now, 20)?;
/// let reports = [Report::new("per-user", &limit, &verdict)];
///
/// let mut headers = HeaderMap::new();
/// let settings = Settings { legacy: Legacy::Epoch, ..Settings::default() };
/// write(&mut headers, &Summary::new(&reports, now), &settings);
/// assert_eq!(headers["ratelimit-policy"], r#""per-user";q=100;w=60"#);
/// assert_eq!(headers["ratelimit"], r#""per-user";r=80;t=1"#);
/// assert_eq!(headers["x-ratelimit-reset"], "1700000001");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write(out: &mut HeaderMap, summary: &Summary<'_>, settings: &Settings) {
    of(summary, settings).put_into(out);
}

/// What [`write()`] writes, before it is put among other headers.
pub fn of(summary: &Summary<'_>, settings: &Settings) -> HeaderLines {
    let mut out = HeaderLines::about(summary.reports().len());
    let keys = if settings.partition_keys { PartitionKeys::Told } else { PartitionKeys::Hidden };
    match settings.ietf {
        Ietf::Draft10 => ietf::write_draft_10(&mut out, summary, keys),
        Ietf::Draft03 => ietf::write_draft_03(&mut out, summary),
        Ietf::Off => {}
    }
    legacy::write_legacy(&mut out, summary, *settings);
    let refused = summary.denied_by().filter(|_| settings.denied_by);
    if let Some((dimension, rule)) = refused.and_then(|report| Some((report.dimension?, report.rule))) {
        out.denied_by(dimension, rule);
    }
    if let Some(seconds) = summary.retry_after_s() {
        out.number(names::RETRY_AFTER, seconds);
    }
    out
}

const fn seconds_up(us: u64) -> u64 {
    us.div_ceil(1_000_000)
}

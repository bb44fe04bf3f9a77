//! The body of a refusal: problem details (RFC 9457) with the problem types of the RateLimit draft.
//!
//! It names the policies that refused and says when to come back. It never names who was counted: a body ends up in
//! logs and error trackers, and a counter's key may be a secret.

mod json;
#[cfg(test)]
mod tests;

use http::StatusCode;
use tidegate_core::{Outcome, Retry};

use crate::headers::{Report, retry_after_s};

/// The media type of [`Problem::to_json`].
pub const CONTENT_TYPE: &str = "application/problem+json";

/// Why a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// A limit is spent.
    QuotaExceeded,
    /// The service sheds load; the client did nothing wrong.
    ReducedCapacity,
    /// The client behaves like a bot or an attacker.
    AbnormalUsage,
}

/// What a refused client is told.
///
/// ```
/// use tidegate_wire::{Kind, Problem};
/// let problem = Problem::new(Kind::ReducedCapacity, "the service is busy").violating("batch").retry_after_s(2);
/// assert_eq!(problem.status(), 503);
/// let body = String::from_utf8(problem.to_json())?;
/// assert!(body.ends_with(r#""violated-policies":["batch"],"retry-after":2}"#));
/// # Ok::<(), std::string::FromUtf8Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    kind: Kind,
    detail: String,
    violated_policies: Vec<String>,
    retry_after_s: Option<u64>,
}

impl Kind {
    /// The URI of the problem type.
    pub const fn type_uri(self) -> &'static str {
        match self {
            Self::QuotaExceeded => "https://iana.org/assignments/http-problem-types#quota-exceeded",
            Self::ReducedCapacity => {
                "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"
            }
            Self::AbnormalUsage => "https://iana.org/assignments/http-problem-types#abnormal-usage-detected",
        }
    }

    /// The title under which the type is registered; the same for every occurrence.
    pub const fn title(self) -> &'static str {
        match self {
            Self::QuotaExceeded => "Quota Exceeded",
            Self::ReducedCapacity => "Temporary Reduced Capacity",
            Self::AbnormalUsage => "Abnormal Usage Detected",
        }
    }

    /// The status of the response.
    pub const fn status(self) -> StatusCode {
        match self {
            Self::QuotaExceeded | Self::AbnormalUsage => StatusCode::TOO_MANY_REQUESTS,
            Self::ReducedCapacity => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

impl Problem {
    /// A problem with a sentence on this occurrence of it; an empty one is left out.
    pub fn new(kind: Kind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), violated_policies: Vec::new(), retry_after_s: None }
    }

    /// Adds a policy that refused.
    #[must_use]
    pub fn violating(mut self, policy: impl Into<String>) -> Self {
        self.violated_policies.push(policy.into());
        self
    }

    /// Says when to come back, in seconds from now.
    #[must_use]
    pub const fn retry_after_s(mut self, seconds: u64) -> Self {
        self.retry_after_s = Some(seconds);
        self
    }

    /// The problem that the refused ones among the reports make, with the same retry time as the `Retry-After` header.
    ///
    /// ```
    /// use tidegate_core::{Limit, State, Timestamp};
    /// use tidegate_wire::{Kind, Problem, Report};
    /// let limit = Limit::sliding_log(100, std::time::Duration::from_secs(60))?;
    /// let mut state = State::EMPTY;
    /// let verdict = limit.step(&mut state, Timestamp::ZERO, 500)?;
    /// let reports = [Report { name: "per-user", limit: &limit, verdict: &verdict }];
    /// assert_eq!(
    ///     Problem::from_reports(Kind::QuotaExceeded, &reports).detail(),
    ///     "the request costs more than the whole limit of 100 per 60 s of policy per-user: it can never pass",
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_reports(kind: Kind, reports: &[Report<'_>]) -> Self {
        let refused = || reports.iter().filter(|report| !report.verdict.allowed());
        let retry_after_s = retry_after_s(reports);
        let retry = retry_after_s.map(|seconds| format!("retry in {seconds} s"));
        let detail = refused().map(clause).chain(retry).collect::<Vec<_>>().join("; ");
        let violated_policies = refused().map(|report| report.name.to_owned()).collect();
        Self { kind, detail, violated_policies, retry_after_s }
    }

    /// The kind.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// The status of the response.
    pub const fn status(&self) -> StatusCode {
        self.kind.status()
    }

    /// The sentence on this occurrence.
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// The body, to be sent as [`CONTENT_TYPE`].
    pub fn to_json(&self) -> Vec<u8> {
        let mut object = json::Object::new();
        object.text("type", self.kind.type_uri());
        object.text("title", self.kind.title());
        object.number("status", self.status().as_u16().into());
        if !self.detail.is_empty() {
            object.text("detail", &self.detail);
        }
        object.texts("violated-policies", &self.violated_policies);
        if let Some(seconds) = self.retry_after_s {
            object.number("retry-after", seconds);
        }
        object.finish()
    }
}

/// What one refused report has to say.
fn clause(report: &Report<'_>) -> String {
    let (amount, name) = (report.limit.capacity(), report.name);
    let per = report.limit.window_us().map_or_else(|| "at once".to_owned(), |us| format!("per {}", span(us)));
    match report.verdict.outcome {
        Outcome::Refused(Retry::Never) => format!(
            "the request costs more than the whole limit of {amount} {per} of policy {name}: it can never pass"
        ),
        _ => format!("limit of {amount} {per} reached for policy {name}"),
    }
}

/// A span for human eyes: in seconds, to the millisecond, rounded up.
fn span(us: u64) -> String {
    let ms = us.div_ceil(1000);
    match (ms / 1000, ms % 1000) {
        (seconds, 0) => format!("{seconds} s"),
        (seconds, ms) => format!("{} s", format!("{seconds}.{ms:03}").trim_end_matches('0')),
    }
}

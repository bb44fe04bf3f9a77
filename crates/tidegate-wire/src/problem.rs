//! The body of a refusal: problem details (RFC 9457) with the problem types of the RateLimit draft.
//!
//! It names the policies that refused and says when to come back. It never names who was counted: a body ends up in
//! logs and error trackers, and a counter's key may be a secret.

mod kind;
mod detail;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use http::StatusCode;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

use crate::headers::{Report, Summary};
use crate::json::FieldError;

pub use kind::Kind;

/// The media type of [`Problem::to_json`].
pub const CONTENT_TYPE: &str = "application/problem+json";

/// The members that a problem fills itself, in the order in which they are written.
const OWN: [&str; 6] = ["type", "title", "status", "detail", "instance", "violated-policies"];

/// The member that says when to come back.
const RETRY_AFTER: &str = "retry-after";

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
    status: StatusCode,
    title: Cow<'static, str>,
    detail: String,
    instance: Option<String>,
    violated_policies: Vec<String>,
    members: Vec<(Cow<'static, str>, Value)>,
}

impl Problem {
    /// A problem with a sentence on this occurrence of it; an empty one is left out.
    pub fn new(kind: Kind, detail: impl Into<String>) -> Self {
        Self {
            kind,
            status: kind.status(),
            title: kind.title().into(),
            detail: detail.into(),
            instance: None,
            violated_policies: Vec::new(),
            members: Vec::new(),
        }
    }

    /// A problem with the request itself rather than with limits: the status and its own title.
    ///
    /// ```
    /// use tidegate_wire::Problem;
    /// let problem = Problem::of_request(http::StatusCode::NOT_FOUND, "there is nothing under that id");
    /// assert_eq!(
    ///     String::from_utf8(problem.to_json())?,
    ///     r#"{"type":"about:blank","title":"Not Found","status":404,"detail":"there is nothing under that id"}"#,
    /// );
    /// # Ok::<(), std::string::FromUtf8Error>(())
    /// ```
    pub fn of_request(status: StatusCode, detail: impl Into<String>) -> Self {
        Self::new(Kind::BadRequest, detail).with_status(status)
    }

    /// The problem that the refused ones among the reports make: their policies, the same retry time as the
    /// `Retry-After` header, and limit and window (in seconds, rounded up) of the one that binds most.
    ///
    /// ```
    /// use tidegate_core::{Limit, State, Timestamp};
    /// use tidegate_wire::{Kind, Problem, Report, Summary};
    /// let limit = Limit::sliding_log(100, std::time::Duration::from_secs(60))?;
    /// let verdict = limit.step(&mut State::EMPTY, Timestamp::ZERO, 500)?;
    /// let reports = [Report::new("per-user", &limit, &verdict)];
    /// assert_eq!(
    ///     Problem::from_summary(Kind::QuotaExceeded, &Summary::new(&reports, Timestamp::ZERO)).detail(),
    ///     "the request costs more than the whole limit of 100 per 60 s of policy per-user: it can never pass",
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_summary(kind: Kind, summary: &Summary<'_>) -> Self {
        let mut problem = Self::new(kind, detail::detail(summary));
        problem.violated_policies = summary.refused().map(|report| report.name.to_owned()).collect();
        if let Some(seconds) = summary.retry_after_s() {
            problem = problem.retry_after_s(seconds);
        }
        if let Some(report) = summary.denied_by() {
            problem = problem.with_numbers_of(report);
        }
        problem
    }

    /// Adds a policy that refused.
    #[must_use]
    pub fn violating(mut self, policy: impl Into<String>) -> Self {
        self.violated_policies.push(policy.into());
        self
    }

    /// Answers with another status than the kind's. A problem without a type of its own has the title of its status (RFC 9457,
    /// 4.2.1), unless it was given another.
    #[must_use]
    pub fn with_status(mut self, status: StatusCode) -> Self {
        let of_status = |status: StatusCode| status.canonical_reason().unwrap_or("Refused");
        if self.kind.has_no_type() && self.title == of_status(self.status) {
            self.title = of_status(status).into();
        }
        self.status = status;
        self
    }

    /// Puts the operator's title in place of the kind's.
    #[must_use]
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = Cow::Owned(title.into());
        self
    }

    /// Puts the operator's words in place of ours; an empty sentence is left out.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = detail.into();
        self
    }

    /// The URI reference of this occurrence.
    #[must_use]
    pub fn with_instance(mut self, instance: impl Into<String>) -> Self {
        self.instance = Some(instance.into());
        self
    }

    /// The decision's id, as member `id`.
    #[must_use]
    pub fn with_id(self, id: impl Into<String>) -> Self {
        self.with_member("id", id.into())
    }

    /// The reason in one word for programs, such as `tenant-rate`, as member `code`.
    #[must_use]
    pub fn with_code(self, code: impl Into<String>) -> Self {
        self.with_member("code", code.into())
    }

    /// Says when to come back, in seconds from now, as member `retry-after`.
    #[must_use]
    pub fn retry_after_s(self, seconds: u64) -> Self {
        self.with_member(RETRY_AFTER, seconds)
    }

    /// Adds a member behind the others, or replaces the one of that name where it stands. The members of RFC 9457 and
    /// `violated-policies` are not for it and stay as they are.
    #[must_use]
    pub fn with_member(mut self, name: impl Into<Cow<'static, str>>, value: impl Into<Value>) -> Self {
        let (name, value) = (name.into(), value.into());
        if OWN.contains(&name.as_ref()) {
            return self;
        }
        match self.members.iter_mut().find(|(known, _)| *known == name) {
            Some((_, old)) => *old = value,
            None => self.members.push((name, value)),
        }
        self
    }

    /// The kind.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// The status of the response.
    pub const fn status(&self) -> StatusCode {
        self.status
    }

    /// The sentence on this occurrence.
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// When to come back, in seconds from now, if it says so.
    pub fn retry_after(&self) -> Option<u64> {
        let (_, seconds) = self.members.iter().find(|(name, _)| name == RETRY_AFTER)?;
        seconds.as_u64()
    }

    /// The body, to be sent as [`CONTENT_TYPE`].
    #[expect(clippy::missing_panics_doc, reason = "what cannot fail needs no warning")]
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("texts and JSON values under text names are always JSON")
    }

    fn with_numbers_of(self, report: &Report<'_>) -> Self {
        let problem = self.with_member("limit", report.verdict.limit);
        match report.limit.window_us() {
            Some(us) => problem.with_member("window", us.div_ceil(1_000_000)),
            None => problem,
        }
    }
}

impl Serialize for Problem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let [kind, title, status, detail, instance, violated_policies] = OWN;
        let mut body = serializer.serialize_map(None)?;
        body.serialize_entry(kind, self.kind.type_uri())?;
        body.serialize_entry(title, &self.title)?;
        body.serialize_entry(status, &self.status.as_u16())?;
        if !self.detail.is_empty() {
            body.serialize_entry(detail, &self.detail)?;
        }
        if let Some(uri) = &self.instance {
            body.serialize_entry(instance, uri)?;
        }
        if self.kind != Kind::BadRequest {
            body.serialize_entry(violated_policies, &self.violated_policies)?;
        }
        for (name, value) in &self.members {
            body.serialize_entry(name, value)?;
        }
        body.end()
    }
}

impl From<FieldError> for Problem {
    fn from(error: FieldError) -> Self {
        Self::of_request(StatusCode::BAD_REQUEST, error.to_string())
    }
}

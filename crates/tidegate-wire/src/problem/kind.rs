//! Why a request was refused, and the problem type that says so.

use http::StatusCode;

/// Why a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// A limit is spent.
    QuotaExceeded,
    /// The service sheds load, or could not decide; the client did nothing wrong.
    ReducedCapacity,
    /// The client behaves like a bot or an attacker.
    AbnormalUsage,
    /// A rule shuts the client out, whatever it has left. The status says it all.
    Blocked,
    /// The request itself is not one that can be answered: malformed, too large, of the wrong kind.
    BadRequest,
}

impl Kind {
    /// The URI of the problem type: the RateLimit draft's, or none of its own where the status says it all.
    pub const fn type_uri(self) -> &'static str {
        match self {
            Self::QuotaExceeded => "https://iana.org/assignments/http-problem-types#quota-exceeded",
            Self::ReducedCapacity => {
                "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"
            }
            Self::AbnormalUsage => "https://iana.org/assignments/http-problem-types#abnormal-usage-detected",
            Self::Blocked | Self::BadRequest => "about:blank",
        }
    }

    pub(super) const fn has_no_type(self) -> bool {
        matches!(self, Self::Blocked | Self::BadRequest)
    }

    /// The title under which the type is registered, or the status's own; the same for every occurrence.
    pub const fn title(self) -> &'static str {
        match self {
            Self::QuotaExceeded => "Quota Exceeded",
            Self::ReducedCapacity => "Temporary Reduced Capacity",
            Self::AbnormalUsage => "Abnormal Usage Detected",
            Self::Blocked => "Forbidden",
            Self::BadRequest => "Bad Request",
        }
    }

    /// The status of the response, unless a rule says otherwise.
    pub const fn status(self) -> StatusCode {
        match self {
            Self::QuotaExceeded | Self::AbnormalUsage => StatusCode::TOO_MANY_REQUESTS,
            Self::ReducedCapacity => StatusCode::SERVICE_UNAVAILABLE,
            Self::Blocked => StatusCode::FORBIDDEN,
            Self::BadRequest => StatusCode::BAD_REQUEST,
        }
    }
}

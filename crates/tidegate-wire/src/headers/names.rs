//! Names of headers as texts, of which [`super::HeaderLines`] are made.

pub(crate) const RATELIMIT_POLICY: &str = "ratelimit-policy";
pub(crate) const RATELIMIT: &str = "ratelimit";
pub(crate) const RATELIMIT_LIMIT: &str = "ratelimit-limit";
pub(crate) const RATELIMIT_REMAINING: &str = "ratelimit-remaining";
pub(crate) const RATELIMIT_RESET: &str = "ratelimit-reset";
pub(crate) const X_RATELIMIT_LIMIT: &str = "x-ratelimit-limit";
pub(crate) const X_RATELIMIT_REMAINING: &str = "x-ratelimit-remaining";
pub(crate) const X_RATELIMIT_RESET: &str = "x-ratelimit-reset";
pub(crate) const X_RATELIMIT_USED: &str = "x-ratelimit-used";
pub(crate) const X_RATELIMIT_RESOURCE: &str = "x-ratelimit-resource";
pub(crate) const X_RATELIMIT_DENIED_BY: &str = "x-ratelimit-denied-by";
/// `retry-after`
pub const RETRY_AFTER: &str = "retry-after";
/// What the body of an answer is.
/// `content-type`
pub const CONTENT_TYPE: &str = "content-type";

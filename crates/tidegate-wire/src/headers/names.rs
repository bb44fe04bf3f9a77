//! Names of headers as texts, of which [`super::HeaderLines`] are made.

pub(super) const RATELIMIT_POLICY: &str = "ratelimit-policy";
pub(super) const RATELIMIT: &str = "ratelimit";
pub(super) const RATELIMIT_LIMIT: &str = "ratelimit-limit";
pub(super) const RATELIMIT_REMAINING: &str = "ratelimit-remaining";
pub(super) const RATELIMIT_RESET: &str = "ratelimit-reset";
pub(super) const X_RATELIMIT_LIMIT: &str = "x-ratelimit-limit";
pub(super) const X_RATELIMIT_REMAINING: &str = "x-ratelimit-remaining";
pub(super) const X_RATELIMIT_RESET: &str = "x-ratelimit-reset";
pub(super) const X_RATELIMIT_USED: &str = "x-ratelimit-used";
pub(super) const X_RATELIMIT_RESOURCE: &str = "x-ratelimit-resource";
pub(super) const X_RATELIMIT_DENIED_BY: &str = "x-ratelimit-denied-by";
pub(crate) const RETRY_AFTER: &str = "retry-after";
/// What the body of an answer is.
#[cfg(any(feature = "http", feature = "rls"))]
pub(crate) const CONTENT_TYPE: &str = "content-type";

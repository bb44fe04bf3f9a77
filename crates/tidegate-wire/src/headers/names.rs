//! Names of headers as texts, of which [`super::HeaderLines`] are made.

/// `ratelimit-policy`
pub const RATELIMIT_POLICY: &str = "ratelimit-policy";
/// `ratelimit`
pub const RATELIMIT: &str = "ratelimit";
/// `ratelimit-limit`
pub const RATELIMIT_LIMIT: &str = "ratelimit-limit";
/// `ratelimit-remaining`
pub const RATELIMIT_REMAINING: &str = "ratelimit-remaining";
/// `ratelimit-reset`
pub const RATELIMIT_RESET: &str = "ratelimit-reset";
/// `x-ratelimit-limit`
pub const X_RATELIMIT_LIMIT: &str = "x-ratelimit-limit";
/// `x-ratelimit-remaining`
pub const X_RATELIMIT_REMAINING: &str = "x-ratelimit-remaining";
/// `x-ratelimit-reset`
pub const X_RATELIMIT_RESET: &str = "x-ratelimit-reset";
/// `x-ratelimit-used`
pub const X_RATELIMIT_USED: &str = "x-ratelimit-used";
/// `x-ratelimit-resource`
pub const X_RATELIMIT_RESOURCE: &str = "x-ratelimit-resource";
/// `x-ratelimit-denied-by`
pub const X_RATELIMIT_DENIED_BY: &str = "x-ratelimit-denied-by";
/// `retry-after`
pub const RETRY_AFTER: &str = "retry-after";
/// What the body of an answer is.
/// `content-type`
pub const CONTENT_TYPE: &str = "content-type";

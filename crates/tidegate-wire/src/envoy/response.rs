//! A response before it is encoded.

use std::borrow::Cow;

use http::StatusCode;
use smallvec::SmallVec;

use super::{ResponseMetadata, TimeUnit};
use crate::headers::HeaderLines;

/// What Envoy is told.
#[derive(Debug)]
pub struct RateLimitResponse<'d> {
    /// Whether the request may pass.
    pub allowed: bool,
    /// The status of a refusal over HTTP: what the rule says, or 429. Over gRPC Envoy has a status of its own.
    pub status: StatusCode,
    /// One for each descriptor, in order.
    pub statuses: SmallVec<[DescriptorStatus<'d>; 4]>,
    /// Headers for the client.
    pub to_client: HeaderLines,
    /// Headers for the upstream.
    pub to_upstream: Vec<(&'static str, String)>,
    /// The body of a refusal.
    pub body: Vec<u8>,
    /// For Envoy's other filters and its logs.
    pub metadata: ResponseMetadata<'d>,
}

/// Where a descriptor stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DescriptorStatus<'d> {
    /// Whether it is over its limit. A limit in shadow mode never is.
    pub over: bool,
    /// Of its limits the one that binds most; `None` without a limit.
    pub current: Option<CurrentLimit<'d>>,
    /// What is left of that limit; all there is for what is unlimited.
    pub remaining: u32,
    /// When it is whole again, or worth another try, in seconds, rounded up.
    pub reset_s: Option<u64>,
}

/// A limit as Envoy shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CurrentLimit<'d> {
    /// Its name.
    pub name: Cow<'d, str>,
    /// Requests per unit.
    pub amount: u32,
    /// The unit of time.
    pub unit: TimeUnit,
}

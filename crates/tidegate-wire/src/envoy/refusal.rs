//! The response to a request that cannot be asked because of what the client sent.

use http::StatusCode;
use smallvec::smallvec;

use super::{DescriptorStatus, RateLimitRequest, RateLimitResponse, ResponseMetadata};
use crate::headers::HeaderLines;
use crate::headers::names::CONTENT_TYPE;
use crate::problem::{self, Problem};

/// A refusal of what the client sent. Envoy lets requests pass that it gets an error for, so an error would be a way around
/// every limit.
pub fn refusal<'r>(request: &'r RateLimitRequest<'_>, reason: String) -> RateLimitResponse<'r> {
    let over = DescriptorStatus { over: true, current: None, remaining: 0, reset_s: None };
    let mut to_client = HeaderLines::default();
    to_client.text(CONTENT_TYPE, problem::CONTENT_TYPE);
    RateLimitResponse {
        allowed: false,
        status: StatusCode::TOO_MANY_REQUESTS,
        statuses: smallvec![over; request.descriptors.len()],
        to_client,
        to_upstream: Vec::new(),
        // The status is Envoy's: that of all refusals, and this one unless it is told another.
        body: Problem::of_request(StatusCode::TOO_MANY_REQUESTS, reason).to_json(),
        metadata: ResponseMetadata::of_refusal(request),
    }
}

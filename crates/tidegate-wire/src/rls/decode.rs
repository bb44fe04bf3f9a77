//! What Envoy sends.

use envoy_types::pb::envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;
use envoy_types::pb::envoy::service::ratelimit::v3::RateLimitRequest;

use crate::door::Patience;
use crate::ratelimit::{Asked, AskedLimit, Request, Unit};

pub(super) fn request(message: RateLimitRequest, patience: Patience) -> Request {
    Request {
        domain: message.domain,
        descriptors: message.descriptors.into_iter().map(asked).collect(),
        hits: message.hits_addend.into(),
        patience,
    }
}

fn asked(message: RateLimitDescriptor) -> Asked {
    let limit = message
        .limit
        .map(|limit| AskedLimit { amount: limit.requests_per_unit, unit: Unit::from_number(limit.unit) });
    Asked {
        entries: message.entries.into_iter().map(|entry| (entry.key, entry.value)).collect(),
        limit,
        hits: message.hits_addend.map(|hits| hits.value),
        negative: message.is_negative_hits,
    }
}

//! Envoy's rate limit service (`envoy.service.ratelimit.v3`): requests decoded from protobuf or JSON, responses encoded
//! as either.
//!
//! The protobuf is written by hand: messages are read where they lie, and nothing is allocated for a common request.

mod protobuf;
mod texts;
mod unit;
mod request;
mod response;
mod metadata;
mod decode;
mod encode;
mod refusal;
pub mod json;
#[cfg(test)]
mod tests;

pub use decode::{DecodeError, MessageBounds, decode_request};
pub use encode::{FRAME_BYTES, encode_response};
pub use metadata::{MetadataDecision, ResponseMetadata};
pub use protobuf::Unreadable;
pub use refusal::refusal;
pub use request::{HitsMode, LimitOverride, RateLimitRequest, RequestDescriptor};
pub use response::{CurrentLimit, DescriptorStatus, RateLimitResponse};
pub use texts::Texts;
pub use unit::TimeUnit;

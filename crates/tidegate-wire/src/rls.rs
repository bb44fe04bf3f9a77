//! Envoy's rate limit service (`envoy.service.ratelimit.v3`) over gRPC: decode, ask, encode.
//!
//! A question that is none is INVALID_ARGUMENT, with words that repeat no value. If nobody could decide and the class of
//! the rules refuses, [`Undecided`](crate::door::Undecided) says what Envoy is told. An answer that would come after the
//! caller's deadline (`grpc-timeout`) is DEADLINE_EXCEEDED; what was asked of a store by then may still be charged. The store
//! is told of the deadline too, and of an earlier one, so that what is decided without it comes in time.

mod decode;
mod encode;
pub(crate) mod deadline;
mod reflection;
#[cfg(test)]
mod tests;

use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_service_server::{
    RateLimitService, RateLimitServiceServer,
};
use envoy_types::pb::envoy::service::ratelimit::v3::{RateLimitRequest, RateLimitResponse};
use tidegate_store::Store;
use tonic::{Request, Response, Status};

use crate::door::Door;
use crate::ratelimit::{self, Failure};

pub use reflection::file_descriptor_set;

/// The name of the service, as Envoy calls it.
pub use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_service_server::SERVICE_NAME;

/// Answers Envoy through a door.
#[derive(Debug)]
pub struct RateLimits<S> {
    door: Door<S>,
}

/// The service, ready to be added to a tonic server. Its messages are bounded by the door's largest body.
pub fn service<S: Store + 'static>(door: Door<S>) -> RateLimitServiceServer<RateLimits<S>> {
    let most = door.settings().max_body_bytes;
    RateLimitServiceServer::new(RateLimits { door })
        .max_decoding_message_size(most)
        .max_encoding_message_size(most)
}

#[tonic::async_trait]
impl<S: Store + 'static> RateLimitService for RateLimits<S> {
    async fn should_rate_limit(
        &self,
        request: Request<RateLimitRequest>,
    ) -> Result<Response<RateLimitResponse>, Status> {
        let deadline = deadline::of(request.metadata());
        let trust = &self.door.settings().trust;
        let caller = trust.caller(request.extensions(), request.metadata().as_ref());
        let mut request = decode::request(request.into_inner(), self.door.patience(deadline));
        request.keep_what_counts(trust, caller);
        let answer = deadline::within(deadline, ratelimit::answer(&self.door, &request)).await?;
        match answer {
            Ok(response) => Ok(Response::new(encode::response(response))),
            Err(Failure::Sent(said)) => {
                Ok(Response::new(encode::response(ratelimit::refusal(&request, said))))
            }
            Err(failure) => Err(failed(failure)),
        }
    }
}

fn failed(failure: Failure) -> Status {
    match failure {
        Failure::Malformed(message) | Failure::Sent(message) => Status::invalid_argument(message),
        Failure::Undecided => Status::unavailable("it could not be decided whether the request may pass"),
    }
}

//! Envoy's rate limit service (`envoy.service.ratelimit.v3`) over gRPC.

use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_service_server::{
    RateLimitService, RateLimitServiceServer,
};
use envoy_types::pb::envoy::service::ratelimit::v3::{RateLimitRequest, RateLimitResponse};
use tidegate_store::Store;
use tonic::{Request, Response, Status};

use crate::door::Door;

/// Answers Envoy through a door.
#[derive(Debug)]
pub struct RateLimits<S> {
    #[expect(dead_code, reason = "the answers come with the next change")]
    door: Door<S>,
}

/// The service, ready to be added to a tonic server. Its messages are bounded by the door's largest body.
pub fn service<S: Store + 'static>(door: Door<S>) -> RateLimitServiceServer<RateLimits<S>> {
    let most = door.settings().max_body_bytes;
    RateLimitServiceServer::new(RateLimits { door }).max_decoding_message_size(most)
}

#[tonic::async_trait]
impl<S: Store + 'static> RateLimitService for RateLimits<S> {
    async fn should_rate_limit(
        &self,
        _request: Request<RateLimitRequest>,
    ) -> Result<Response<RateLimitResponse>, Status> {
        Err(Status::unimplemented("not yet"))
    }
}

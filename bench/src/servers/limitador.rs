//! limitador behind Envoy's service, as its own server does it: one thread, counters in memory, expressions over descriptors.
//!
//! Its server is no package, its library is. What is left out here costs its server more: metrics, traces, and the headers that it
//! can add.

use std::collections::HashMap;

use anyhow::{Result, anyhow};
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_response::Code;
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_service_server::{
    RateLimitService, RateLimitServiceServer,
};
use envoy_types::pb::envoy::service::ratelimit::v3::{RateLimitRequest, RateLimitResponse};
use limitador::RateLimiter;
use limitador::limit::{Context, Expression, Limit, Namespace};
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::Server;
use tonic::{Request, Response, Status};

use super::{ANY, stay};

struct Limitador(RateLimiter);

#[tonic::async_trait]
impl RateLimitService for Limitador {
    async fn should_rate_limit(
        &self,
        request: Request<RateLimitRequest>,
    ) -> Result<Response<RateLimitResponse>, Status> {
        let request = request.into_inner();
        let descriptors = request.descriptors.into_iter().map(|descriptor| {
            let entries = descriptor.entries.into_iter();
            entries.map(|entry| (entry.key, entry.value)).collect::<HashMap<_, _>>()
        });
        let mut context = Context::default();
        context.list_binding("descriptors".to_owned(), descriptors.collect());
        let answer = self.0.check_rate_limited_and_update(&Namespace::from(request.domain), &context, 1);
        let answer = answer.map_err(|error| Status::unavailable(error.to_string()))?;
        let code = if answer.limited { Code::OverLimit } else { Code::Ok };
        Ok(Response::new(RateLimitResponse { overall_code: code.into(), ..Default::default() }))
    }
}

pub(crate) fn serve() -> Result<()> {
    let limiter = RateLimiter::new(1_000_000);
    let user = Expression::parse("descriptors[0].user").map_err(|error| anyhow!("limitador: {error}"))?;
    limiter.add_limit(Limit::new("bench", 1_000_000, 3_600, [], [user]));
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let listener = runtime.block_on(TcpListener::bind(ANY))?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || {
        let service = RateLimitServiceServer::new(Limitador(limiter));
        let server = Server::builder().tcp_nodelay(true).add_service(service);
        runtime.block_on(server.serve_with_incoming(TcpListenerStream::new(listener)))
    });
    stay(&[address])
}

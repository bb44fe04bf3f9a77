//! The gRPC door: Envoy's rate limit service, one of our own, health and reflection.

use axum::Router;
use axum::response::{IntoResponse as _, Response};
use tidegate_frontend::door::Door;
use tidegate_frontend::{rls, v1};
use tonic::Status;
use tonic::service::Routes;
use tonic_health::pb::health_server::HealthServer;
use tonic_health::server::HealthService;
use tonic_reflection::server::Builder;

use crate::error::Error;
use crate::health::Health;
use crate::routed::Fallbacks;
use crate::stack::Stack;

/// Bytes of a question about health or descriptions: the name of something.
const MOST_NAME_BYTES: usize = 4 << 10;

/// The methods whose answer is a stream: health watches and reflection.
const STREAMS: [&str; 3] = [
    "/grpc.health.v1.Health/Watch",
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];

/// Everything that the door answers.
pub(crate) fn app(door: Door<Stack>, health: &Health) -> Result<Router, Error> {
    let health = HealthServer::new(HealthService::from_health_reporter(health.reporter()));
    let unusable = |error: tonic_reflection::server::Error| Error::Reflection(error.to_string());
    let (v1_reflection, v1alpha_reflection) =
        (descriptors().build_v1().map_err(unusable)?, descriptors().build_v1alpha().map_err(unusable)?);
    let routes = Routes::new(rls::service(door.clone()))
        .add_service(v1::service(door))
        .add_service(health.max_decoding_message_size(MOST_NAME_BYTES))
        .add_service(v1_reflection.max_decoding_message_size(MOST_NAME_BYTES))
        .add_service(v1alpha_reflection.max_decoding_message_size(MOST_NAME_BYTES));
    Ok(routes.prepare().into_axum_router())
}

fn descriptors() -> Builder<'static> {
    Builder::configure()
        .register_encoded_file_descriptor_set(rls::file_descriptor_set())
        .register_encoded_file_descriptor_set(v1::file_descriptor_set())
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
}

/// Whether the answer of a method is a stream.
pub(crate) fn is_stream(path: &str) -> bool {
    STREAMS.contains(&path)
}

/// How this listener answers where its routes cannot.
pub(crate) const FALLBACKS: Fallbacks = Fallbacks { timed_out, panicked, busy };

/// The answer to a call that took too long.
fn timed_out() -> Response {
    Status::deadline_exceeded("the call took too long").into_http::<axum::body::Body>().into_response()
}

/// The answer to a call that is too long while others are, or whose answer is.
fn busy() -> Response {
    let status = Status::resource_exhausted("too much is held at once; retry in 1 s");
    status.into_http::<axum::body::Body>().into_response()
}

/// The answer to a call that broke something.
fn panicked() -> Response {
    Status::internal("something broke on the way").into_http::<axum::body::Body>().into_response()
}

//! Whether the server lives and is ready, for those who ask over HTTP and over gRPC.

use std::sync::atomic::{AtomicBool, Ordering};

use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;

/// What gRPC's health service is asked for: everything, the service as envoyproxy/ratelimit names it, and our own.
const SERVICES: [&str; 3] = ["", "ratelimit", tidegate_frontend::v1::SERVICE_NAME];

/// Whether the server is ready. It is as soon as its doors are open, because rules are loaded before.
#[derive(Debug)]
pub(crate) struct Health {
    ready: AtomicBool,
    grpc: HealthReporter,
}

impl Health {
    /// Ready.
    pub(crate) async fn new() -> Self {
        let health = Self { ready: AtomicBool::new(true), grpc: HealthReporter::new() };
        health.tell(ServingStatus::Serving).await;
        health
    }

    /// Whether new requests are welcome.
    pub(crate) fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    /// From now on they are not.
    pub(crate) async fn leave(&self) {
        self.ready.store(false, Ordering::Release);
        self.tell(ServingStatus::NotServing).await;
    }

    /// Ends the streams of those who watch, so that their connections can be closed.
    pub(crate) async fn close(&self) {
        for service in SERVICES {
            self.grpc.clone().clear_service_status(service).await;
        }
    }

    /// For the gRPC service.
    pub(crate) fn reporter(&self) -> HealthReporter {
        self.grpc.clone()
    }

    async fn tell(&self, status: ServingStatus) {
        for service in SERVICES {
            self.grpc.set_service_status(service, status).await;
        }
    }
}

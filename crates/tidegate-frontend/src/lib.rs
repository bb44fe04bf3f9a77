//! The protocols that ask the engine. Each decodes a question with [`tidegate_wire`], asks through a [`Door`], and encodes
//! the decision: Envoy's rate limit service ([`rls`]), a gRPC service of our own ([`v1`]), HTTP and forward-auth ([`http`]),
//! the Redis protocol ([`resp`]). Sockets, time-outs and TLS belong to the listeners.

pub mod door;
mod ratelimit;
pub mod rls;
pub mod v1;
pub mod http;
pub mod resp;
pub mod openapi;

pub use door::{Door, DoorSettings};

//! What a client and an upstream see when Envoy asks our gRPC door.

mod limits;
mod costs;
mod modes;
mod trees;
mod headers;
mod health;
mod failure;
mod reload;

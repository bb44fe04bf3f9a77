//! The tower layer, over real sockets and in paused time.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../examples/axum.rs"]
#[allow(dead_code, reason = "only the application is used here, not its main")]
mod example;

#[path = "tower/in_process.rs"]
mod in_process;
#[path = "tower/over_grpc.rs"]
mod over_grpc;
#[path = "tower/over_http.rs"]
mod over_http;

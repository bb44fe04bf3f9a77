//! The real binary behind real sockets, on its own and behind real proxies.
//!
//! Each test starts what it needs on ports of the system's choosing, so that all of them run side by side. `make test`
//! installs proxies, promtool and k6 first; `tools/needs` does that alone.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod patience;
mod folder;
mod program;
mod client;
mod tidegate;
mod upstream;
mod golden;
mod page;
mod envoy;
mod proxy;

mod command_line;
mod start;
mod over_http;
mod openapi;
mod over_grpc;
mod over_resp;
mod reload;
mod switches;
mod stop;
mod restart;
mod metrics;
mod last_resort;
mod secrets;
mod trust;
mod hostile;
mod with_k6;
mod through_envoy;
mod through_proxies;
mod proxy_guides;
mod together;

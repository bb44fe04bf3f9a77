//! The store in real servers, beside the reference store.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "redis/server.rs"]
mod server;
#[path = "redis/conformance.rs"]
mod conformance;
#[path = "redis/history.rs"]
mod history;
#[path = "redis/course.rs"]
mod course;
#[path = "redis/differential.rs"]
mod differential;
#[path = "redis/tickets.rs"]
mod tickets;
#[path = "redis/across.rs"]
mod across;
#[path = "redis/keys.rs"]
mod keys;
#[path = "redis/joined.rs"]
mod joined;
#[path = "redis/routes.rs"]
mod routes;
#[path = "redis/full.rs"]
mod full;
#[path = "redis/formats.rs"]
mod formats;
#[path = "redis/upgrade.rs"]
mod upgrade;

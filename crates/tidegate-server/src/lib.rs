//! A server around the engine. It wires and decides nothing: settings become doors, files become rules in force, counts
//! become metrics, and signals become a stop that loses nothing.

pub mod config;
pub mod logging;
mod error;
mod clock;
mod checkpoint;
mod stack;
mod reach;
mod together;
mod live;
mod health;
mod routed;
mod callers;
mod notices;
mod grpc;
mod http;
mod resp;
pub mod explanation;
mod admin;
pub mod openapi;
mod metrics;
mod hint;
mod signals;
mod server;

pub use config::Config;
pub use error::Error;
pub use live::examine;
pub use server::{Addresses, Running, Stopped, check, start};
pub use signals::Stops;
pub use tidegate_redis::client::{Examined, Weight as Severity};

//! Counters in Redis or Valkey: one atomic script per check, on one server, behind Sentinel, or on a Cluster.
//!
//! Two halves that meet in [`Caller`]: the store, which makes [calls](Call) of plans and answers of replies, and the client, which
//! brings a call to the server that has its keys, and says what went wrong if it cannot.

mod call;
pub mod client;
mod settings;
mod store;
mod names;
mod lean;
mod draft;
mod reply;
mod value;
mod open;
mod scripts;
mod sha;
mod bytes;

pub use call::{Call, CallError, Caller, Fault, Priority, Script};
pub use client::Client;
pub use names::DEFAULT_PREFIX;
pub use settings::{Clock, Settings};
pub use store::Redis;

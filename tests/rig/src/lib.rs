//! Real servers for tests: Redis or Valkey alone, behind Sentinel, as a Cluster, and a proxy that misbehaves between.
//!
//! Everything here blocks, needs no runtime, listens on free ports of the loopback, and ends with its owner, even when the test
//! panics or is killed. Waiting is looking again with a ceiling. What cannot be done ends the test and says why.

pub mod patience;
mod port;
mod program;
mod server;
mod cluster;
mod sentinels;
mod proxy;
mod certificates;

pub use certificates::certificates;
pub use cluster::{Cluster, slot_of_tag};
pub use proxy::{Manner, Proxy};
pub use sentinels::Sentinels;
pub use server::{Flavour, Options, Server, ask_at};

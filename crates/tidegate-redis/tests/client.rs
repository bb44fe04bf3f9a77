//! The client against real servers, with every fault provoked for real. One test at a time, because faults take time and cores.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "client/scripts.rs"]
mod scripts;
#[path = "client/stage.rs"]
mod stage;
#[path = "client/single.rs"]
mod single;
#[path = "client/joined.rs"]
mod joined;
#[path = "client/refusals.rs"]
mod refusals;
#[path = "client/credentials.rs"]
mod credentials;
#[path = "client/encrypted.rs"]
mod encrypted;
#[path = "client/network.rs"]
mod network;
#[path = "client/cluster.rs"]
mod cluster;
#[path = "client/losses.rs"]
mod losses;
#[path = "client/sentinel.rs"]
mod sentinel;
#[path = "client/load.rs"]
mod load;

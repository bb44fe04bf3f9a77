//! A whole server in this process, on ports that the system chooses, asked through real sockets.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "server/world.rs"]
mod world;
#[path = "server/doors.rs"]
mod doors;
#[path = "server/rules.rs"]
mod rules;
#[path = "server/switches.rs"]
mod switches;
#[path = "server/bounds.rs"]
mod bounds;
#[path = "server/encrypted.rs"]
mod encrypted;
#[path = "server/resp.rs"]
mod resp;
#[path = "server/stop.rs"]
mod stop;
#[path = "server/trust.rs"]
mod trust;

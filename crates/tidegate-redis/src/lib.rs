//! Counters in Redis or Valkey: one atomic script per check, on one server, behind Sentinel, or on a Cluster.
//!
//! Two halves that meet in [`Caller`]: the store, which makes [calls](Call) of plans and answers of replies, and the client, which
//! brings a call to the server that has its keys, and says what went wrong if it cannot.
//!
//! What is in the server:
//!
//! | key, behind the prefix and the tag | value |
//! |---|---|
//! | entity | up to 16 small counters of one entity, 22 bytes each where their numbers are ordinary |
//! | entity `l` | the same for windows of an hour and more, and for calendars |
//! | … `oa`, `ob`, … | what a value runs over into; asked for only where a value says so |
//! | entity `g` or `s` and an id | a log, or the slots of a room |
//! | … `L` | loans of a value: what comes back by itself, and when |
//! | hash `n` | an admission under an idempotency key |
//! | ticket `r`, ticket `i` | what a reservation holds here, and how any node can settle it |
//! | tag `members` | who counts together |
//! | tag a number, `mark` | that the counters of this server are still there; one on each |
//!
//! Every value begins with the version of its [format](FORMAT). A node reads its own version and the one before (there is none before 1),
//! and writes the newest that all members know: so two versions can share servers while nodes are replaced. A node that meets a
//! newer one leaves it alone and says so. Every key has an end. Counts stop at 2^51, where the reference store's stop at 2^57; below
//! that both are equal to the digit.

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
mod members;
mod shards;
mod marks;
mod routed;

pub use call::{Call, CallError, Caller, Fault, Priority, Script, told};
pub use client::Client;
pub use marks::{Looked, Marks};
pub use members::{Assembly, Heartbeat, Member};
pub use names::DEFAULT_PREFIX;
pub use routed::Routed;
pub use scripts::scripts;
pub use settings::{Clock, Settings};
pub use shards::{Shard, Shards};
pub use store::Redis;
pub use value::VERSION as FORMAT;

//! Counters in Redis: what a check costs the server and the node, what a counter weighs, and what peers pay for the same.
//!
//! Servers are started by this program on free ports of the loopback and end with it. Where only the server's cost counts, what is
//! sent is made beforehand and goes as plain bytes, so that all ways are sent alike.

mod line;
mod calls;
mod work;
mod depths;
mod node;
mod bytes;
mod algorithms;
mod crowd;
#[cfg(feature = "limitador-redis")]
mod limitador;
mod services;

use std::process::{Command, Stdio};

use anyhow::Result;

use crate::bounds::Found;
use crate::servers;

/// How long and how wide to measure.
pub(crate) struct Plan {
    pub(crate) rounds: u32,
    /// Checks of one round.
    checks: usize,
    /// Entities whose counters are weighed.
    entities: u32,
}

impl Plan {
    pub(crate) fn full() -> Self {
        Self { rounds: 15, checks: 6_400, entities: FULL_ENTITIES }
    }

    pub(crate) fn quick() -> Self {
        Self { rounds: 3, checks: 640, entities: 10_000 }
    }
}

/// What the bounds of bytes are about.
const FULL_ENTITIES: u32 = 1_000_000;

pub(crate) fn report(plan: &Plan, found: &mut Found) -> Result<()> {
    println!("## Counters in Redis\n");
    let Some(version) = version() else {
        println!(
            "Skipped: there is no `redis-server` in target/tools/bin (`tools/needs` puts it there) or on the path.\n"
        );
        return Ok(());
    };
    println!("{version}\n");
    depths::report(plan, found)?;
    algorithms::report(plan)?;
    node::report(plan, found)?;
    bytes::report(plan, found)?;
    #[cfg(feature = "limitador-redis")]
    limitador::report(plan, found)?;
    #[cfg(not(feature = "limitador-redis"))]
    println!(
        "limitador's storage in Redis is left out: `cargo run --release --features limitador-redis` takes it in, and builds OpenSSL's \
         bindings and RocksDB for it (Debian: `apt-get install libssl-dev pkg-config libclang-dev g++`).\n"
    );
    services::report(plan, found)
}

/// What the server says of itself, if there is one.
fn version() -> Option<String> {
    let run =
        Command::new(servers::found("redis-server")?).arg("--version").stdin(Stdio::null()).output().ok()?;
    run.status.success().then(|| String::from_utf8_lossy(&run.stdout).trim().to_owned())
}

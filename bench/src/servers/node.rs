//! Our server as a child.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tidegate_server::Config;
use tidegate_server::config::{Checkpoint, Listen, Place, Redis, Runtime, StoreKind};

use super::{ANY, stay};

/// Serves from `memory` or the Redis at an address, with a runtime per core or one that is shared.
pub(crate) fn serve(store: &str, rules: PathBuf, runtime: &str) -> Result<()> {
    let config = Config {
        listen: Listen { grpc: Some(ANY), http: Some(ANY), resp: Some(ANY), admin: None },
        rules: Some(rules),
        runtime: match runtime {
            "per_core" => Runtime::PerCore,
            "shared" => Runtime::Shared,
            other => bail!("{other:?} is neither per_core nor shared"),
        },
        store: match store {
            "memory" => StoreKind::Memory,
            address => StoreKind::Redis(address.parse()?),
        },
        // Nobody is to be late, however busy the machine is.
        redis: Redis { deadline: Duration::from_secs(5), ..Redis::default() },
        checkpoint: Checkpoint { place: Place::Off, ..Checkpoint::default() },
        ..Config::default()
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let running = runtime.block_on(tidegate_server::start(&config))?;
    let addresses = running.addresses();
    let doors = [addresses.grpc, addresses.http, addresses.resp];
    let doors: Option<Vec<_>> = doors.into_iter().collect();
    stay(&doors.context("all doors are open")?)
}

//! HTTP and the Redis protocol, beside throttlecrab's.

use std::sync::Arc;

use anyhow::Result;
use tokio::runtime::Runtime;

use super::alike;
use super::load::runtime;
use super::requests::Requests;
use super::talk::{Talker, connect_http, connect_resp};
use super::target::{Target, cells, measure, over, table};
use super::{Plan, Servers};
use crate::bounds::{Figure, Found};
use crate::servers::{Process, how_to_get_throttlecrab};

/// Connections of the two columns; bounds are about the second.
const CONNECTIONS: [usize; 2] = [16, 128];

const PEER: &str = "throttlecrab";

pub(super) fn report(plan: &Plan, servers: &Servers<'_>, found: &mut Found) -> Result<()> {
    println!("### HTTP and the Redis protocol\n");
    println!(
        "100 000 keys, one request under way on each connection, or 16 commands sent at once. Microseconds of the server's processor \
         time per decision. Over HTTP ours matches a rule; over the Redis protocol both are sent the same `THROTTLE`.\n"
    );
    let runtime = runtime()?;
    let peer = servers.throttlecrab.as_ref();
    if let Some(peer) = peer {
        alike::check(peer.resp())?;
    }
    let all = || [("Tidegate", Some(&servers.per_core)), (PEER, peer)].into_iter();
    let there = || all().filter_map(|(name, process)| Some((name, process?)));

    let (ours, theirs) = (Arc::new(Requests::http()), Arc::new(Requests::throttlecrab_http()));
    let connect = |(name, process): (&'static str, &Process), connections| {
        let requests = if name == PEER { &theirs } else { &ours };
        runtime.block_on(connect_http(process.http(), requests, connections))
    };
    println!("HTTP:\n");
    let ratio = compare(plan, &runtime, &there().collect::<Vec<_>>(), connect, 1)?;
    found.note(Figure::HttpOverThrottlecrab, ratio);

    let requests = Arc::new(Requests::resp());
    let connect = |(_, process): (&'static str, &Process), connections| {
        runtime.block_on(connect_resp(process.resp(), &requests, connections))
    };
    println!("The Redis protocol, one command at a time:\n");
    let ratio = compare(plan, &runtime, &there().collect::<Vec<_>>(), connect, 1)?;
    found.note(Figure::RespOverThrottlecrab, ratio);
    println!("The Redis protocol, 16 commands at once:\n");
    let ratio = compare(plan, &runtime, &there().collect::<Vec<_>>(), connect, 16)?;
    found.note(Figure::PipelinedOverThrottlecrab, ratio);
    if peer.is_none() {
        println!("{}", how_to_get_throttlecrab());
    }
    Ok(())
}

/// Prints a table, and gives the ratio of the last column.
fn compare<'a, T: Talker>(
    plan: &Plan,
    runtime: &Runtime,
    servers: &[(&'static str, &'a Process)],
    connect: impl Fn((&'static str, &Process), usize) -> Result<Vec<T>>,
    together: usize,
) -> Result<Option<f64>> {
    let (mut columns, mut last) = (Vec::new(), Vec::new());
    for connections in CONNECTIONS {
        let target = |server: &(&'static str, &'a Process)| {
            Ok(Target::new(server.0, server.1, connect(*server, connections)?))
        };
        last = servers.iter().map(target).collect::<Result<Vec<_>>>()?;
        measure(plan, runtime, &mut last, together)?;
        columns.push((format!("{connections} connections"), cells(&last)));
    }
    println!("{}", table(&last, &columns));
    Ok(over(&last, PEER))
}

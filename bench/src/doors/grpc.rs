//! Envoy's rate limit service.

use std::sync::Arc;

use anyhow::Result;
use tidegate_rig::Server;
use tokio::runtime::Runtime;

use super::load::runtime;
use super::requests::Requests;
use super::talk::{GrpcCaller, connect_grpc};
use super::target::{Target, cells, measure, over, table};
use super::{Plan, Servers};
use crate::bounds::{Figure, Found};
use crate::report::{Figures, Table};
use crate::servers::{Layout, Process, how_to_get_limitador, how_to_get_ratelimit, how_to_get_throttlecrab};

/// Connections, and calls under way on each.
const WIDTHS: [(usize, usize); 4] = [(1, 128), (3, 43), (8, 16), (64, 2)];

/// The width that bounds are about, and the one that shows how evenly cores are used.
pub(super) const USUAL: (usize, usize) = (8, 16);
const WIDE: (usize, usize) = (64, 2);

const OURS: &str = "Tidegate";
const SHARED: &str = "Tidegate, `--runtime shared`";
const EMPTY: &str = "empty service, our layout";
const EMPTY_BY_DEFAULT: &str = "empty service, tokio's default";
const THROTTLECRAB: &str = "throttlecrab";
const LIMITADOR: &str = "limitador";
const LIMITADOR_LIBRARY: &str = "limitador's library, empty service";
const RATELIMIT: &str = "envoyproxy/ratelimit";

pub(super) const ENVOY: &str = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
const THROTTLE: &str = "/throttlecrab.RateLimiter/Throttle";

pub(super) fn report(plan: &Plan, servers: &Servers<'_>, found: &mut Found) -> Result<()> {
    println!("### gRPC\n");
    println!(
        "One descriptor, 100 000 keys, 128 calls under way. Microseconds of the server's processor time per decision: median \
         (quartiles), and the median of the ratios to ours in the same round. throttlecrab has a call of its own; limitador is \
         its server with counters in memory, and its library alone behind a service of ours on one thread, as its server does it; \
         envoyproxy/ratelimit has a Redis whose time is not counted here.\n"
    );
    let redis = Server::start();
    let others = Others {
        empty: Process::empty(Layout::Cores)?,
        empty_by_default: Process::empty(Layout::Default)?,
        limitador: Process::limitador(servers.folder)?,
        limitador_library: Process::limitador_library()?,
        ratelimit: Process::ratelimit(&redis, servers.folder)?,
    };
    let runtime = runtime()?;
    let mut columns = Vec::new();
    let mut rows = None;
    for width in WIDTHS {
        eprintln!("doors: gRPC, {} connections", width.0);
        let mut targets = targets(&runtime, servers, &others, width)?;
        let before = servers.per_core.used_by_threads("tidegate-core")?;
        measure(plan, &runtime, &mut targets, 1)?;
        if width == USUAL {
            note(&targets, found);
        }
        if width == WIDE {
            let after = servers.per_core.used_by_threads("tidegate-core")?;
            found.note(Figure::CoresUneven, uneven(&before, &after));
        }
        columns.push((format!("{} connections", width.0), cells(&targets)));
        rows = Some(targets);
    }
    if let Some(targets) = rows {
        println!("{}", table(&targets, &columns));
    }
    if others.ratelimit.is_none() {
        println!("{}", how_to_get_ratelimit());
    }
    if others.limitador.is_none() {
        println!("{}", how_to_get_limitador());
    }
    if servers.throttlecrab.is_none() {
        println!("{}", how_to_get_throttlecrab());
    }
    descriptors(plan, &runtime, servers, found)
}

struct Others {
    empty: Process,
    empty_by_default: Process,
    limitador: Option<Process>,
    limitador_library: Process,
    ratelimit: Option<Process>,
}

type GrpcTarget<'a> = Target<'a, GrpcCaller>;

fn targets<'a>(
    runtime: &Runtime,
    servers: &'a Servers<'_>,
    others: &'a Others,
    width: (usize, usize),
) -> Result<Vec<GrpcTarget<'a>>> {
    let (envoy, throttle) = (Arc::new(Requests::envoy(1)), Arc::new(Requests::throttlecrab()));
    let all = [
        (OURS, Some(&servers.per_core)),
        (SHARED, Some(&servers.shared)),
        (EMPTY, Some(&others.empty)),
        (EMPTY_BY_DEFAULT, Some(&others.empty_by_default)),
        (THROTTLECRAB, servers.throttlecrab.as_ref()),
        (LIMITADOR, others.limitador.as_ref()),
        (LIMITADOR_LIBRARY, Some(&others.limitador_library)),
        (RATELIMIT, others.ratelimit.as_ref()),
    ];
    let there = all.into_iter().filter_map(|(name, process)| Some((name, process?)));
    there
        .map(|(name, process)| {
            let (path, requests) = if name == THROTTLECRAB { (THROTTLE, &throttle) } else { (ENVOY, &envoy) };
            let talkers = runtime.block_on(connect_grpc((process.grpc(), path), requests, width))?;
            Ok(Target::new(name, process, talkers))
        })
        .collect()
}

fn note(targets: &[GrpcTarget<'_>], found: &mut Found) {
    found.note(Figure::GrpcOverEmpty, over(targets, EMPTY));
    found.note(Figure::GrpcOverEmptyByDefault, over(targets, EMPTY_BY_DEFAULT));
    found.note(Figure::GrpcOverThrottlecrab, over(targets, THROTTLECRAB));
    found.note(Figure::GrpcOverLimitador, over(targets, LIMITADOR));
    found.note(Figure::GrpcOverLimitadorLibrary, over(targets, LIMITADOR_LIBRARY));
    found.note(Figure::GrpcOverRatelimit, over(targets, RATELIMIT));
}

/// The time of the core that worked most over that of the one that worked least.
fn uneven(before: &[f64], after: &[f64]) -> Option<f64> {
    let used = || before.iter().zip(after).map(|(before, after)| after - before);
    Some(used().reduce(f64::max)? / used().reduce(f64::min)?)
}

fn descriptors(plan: &Plan, runtime: &Runtime, servers: &Servers<'_>, found: &mut Found) -> Result<()> {
    println!("Several descriptors, each with a limit and a key of its own, {} connections:\n", USUAL.0);
    let server = &servers.per_core;
    let connect = |(name, descriptors)| {
        let requests = Arc::new(Requests::envoy(descriptors));
        let talkers = runtime.block_on(connect_grpc((server.grpc(), ENVOY), &requests, USUAL))?;
        Ok(Target::new(name, server, talkers))
    };
    let mut targets =
        [("1 descriptor", 1), ("4 descriptors", 4)].into_iter().map(connect).collect::<Result<Vec<_>>>()?;
    measure(plan, runtime, &mut targets, 1)?;
    let mut table = Table::new("", targets.iter().map(|target| target.name));
    table.row(&OURS, cells(&targets));
    println!("{table}");
    found.note(Figure::FourDescriptors, Some(Figures::ratios(&targets[1].used, &targets[0].used).median));
    Ok(())
}

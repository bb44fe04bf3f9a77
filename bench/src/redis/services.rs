//! Our server beside envoyproxy/ratelimit, over gRPC, each with a Redis of its own and the same file of descriptors.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, ensure};
use envoy_types::pb::envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;
use envoy_types::pb::envoy::extensions::common::ratelimit::v3::rate_limit_descriptor::Entry;
use envoy_types::pb::envoy::service::ratelimit::v3::RateLimitRequest;
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_response::Code;
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_service_client::RateLimitServiceClient;
use tidegate_rig::Server;
use tokio::runtime::Runtime;
use tonic::transport::{Channel, Endpoint};

use super::Plan;
use super::crowd::{Asked, IN_FLIGHT, ask_all, runtime};
use crate::bounds::{Figure, Found};
use crate::report::{Figures, Table, counted};
use crate::servers::{Process, how_to_get_ratelimit};
use crate::usage;

const USERS: usize = 500;

/// Connections to a service.
const CHANNELS: usize = 4;

pub(super) fn report(plan: &Plan, found: &mut Found) -> Result<()> {
    println!("### Beside envoyproxy/ratelimit\n");
    println!(
        "`ShouldRateLimit` over gRPC, {IN_FLIGHT} requests under way at once over {CHANNELS} connections; per descriptor one limit of \
         a minute. Microseconds of processor per request, of the service and of its Redis together: median (quartiles), and the \
         median of the ratios to ratelimit in the same round; {}. ratelimit has its own defaults, without statsd.\n",
        counted(plan.rounds, "round")
    );
    let (Some(one), Some(four)) = (measure(plan, 1)?, measure(plan, 4)?) else {
        println!("{}", how_to_get_ratelimit());
        return Ok(());
    };
    let mut table = Table::new("", ["1 descriptor", "4 descriptors"]);
    for (index, name) in ["Tidegate", "envoyproxy/ratelimit"].iter().enumerate() {
        table.row(name, [&one, &four].map(|taken| cell(&taken[index], &taken[1])));
    }
    println!("{table}");
    note(&one, found, Figure::OverRatelimit { limits: 1 });
    note(&four, found, Figure::OverRatelimit { limits: 4 });
    Ok(())
}

/// The figures of one, and their ratios to the other's.
pub(super) fn cell(own: &[f64], other: &[f64]) -> String {
    let (own, ratios) = (Figures::new(own), Figures::ratios(own, other));
    format!("{:.1} ({:.1}-{:.1}) {:.2}x", own.median, own.low, own.high, ratios.median)
}

/// Keeps the ratio of ours to theirs.
pub(super) fn note([ours, theirs]: &[Vec<f64>; 2], found: &mut Found, figure: Figure) {
    found.note(figure, Some(Figures::ratios(ours, theirs).median));
}

fn measure(options: &Plan, descriptors: usize) -> Result<Option<[Vec<f64>; 2]>> {
    eprintln!("redis: beside envoyproxy/ratelimit, {descriptors} descriptors");
    let (runtime, folder) = (runtime()?, tempfile::tempdir()?);
    write_rules(folder.path())?;
    let (own, peer) = (Server::start(), Server::start());
    let Some(ratelimit) = Process::ratelimit(&peer, folder.path())? else { return Ok(None) };
    let tidegate = Process::tidegate(&own.url(), &folder.path().join("config"), "per_core")?;
    let services = [
        Service::new(own, tidegate, &runtime, descriptors)?,
        Service::new(peer, ratelimit, &runtime, descriptors)?,
    ];
    let mut taken = [Vec::new(), Vec::new()];
    for round in 0..=options.rounds {
        for (service, taken) in services.iter().zip(&mut taken) {
            let used = service.round(&runtime, options.checks)?;
            if round > 0 {
                taken.push(used);
            }
        }
    }
    Ok(Some(taken))
}

/// One file that both read, where ratelimit looks for it.
fn write_rules(folder: &Path) -> Result<()> {
    let mut text = String::from("domain: bench\ndescriptors:\n");
    for limit in 0..4 {
        writeln!(
            text,
            "  - key: limit-{limit}\n    rate_limit: {{ unit: minute, requests_per_unit: 1000000 }}"
        )?;
    }
    std::fs::create_dir(folder.join("config"))?;
    Ok(std::fs::write(folder.join("config/bench.yaml"), text)?)
}

/// A service, its Redis and who asks it.
struct Service {
    process: Process,
    server: Server,
    asker: Arc<Asker>,
}

impl Service {
    fn new(server: Server, process: Process, runtime: &Runtime, descriptors: usize) -> Result<Self> {
        let endpoint = Endpoint::from_shared(format!("http://{}", process.grpc()))?;
        let channels = (0..CHANNELS).map(|_| runtime.block_on(endpoint.connect()));
        let clients = channels.map(|channel| Ok(RateLimitServiceClient::new(channel?)));
        let asker = Asker { clients: clients.collect::<Result<_>>()?, descriptors };
        Ok(Self { process, server, asker: Arc::new(asker) })
    }

    /// Microseconds per request. Fails if Redis was not asked about each: a service that cannot decide lets requests pass.
    fn round(&self, runtime: &Runtime, checks: usize) -> Result<f64> {
        let (commands, before) = (usage::commands_of_redis(&self.server)?, self.used()?);
        ask_all(runtime, &self.asker, checks)?;
        let used = self.used()? - before;
        let commands = usage::commands_of_redis(&self.server)? - commands;
        ensure!(commands > 2.0 * checks as f64, "{commands} commands for {checks} requests are too few");
        Ok(used / checks as f64)
    }

    fn used(&self) -> Result<f64> {
        Ok(self.process.used()? + usage::of_redis(&self.server)?)
    }
}

struct Asker {
    clients: Vec<RateLimitServiceClient<Channel>>,
    descriptors: usize,
}

impl Asked for Asker {
    async fn ask(&self, check: usize) -> Result<bool> {
        let descriptor = |limit| {
            let entry = Entry { key: format!("limit-{limit}"), value: format!("user:{:08}", check % USERS) };
            RateLimitDescriptor { entries: vec![entry], ..Default::default() }
        };
        let descriptors = (0..self.descriptors).map(descriptor).collect();
        let request = RateLimitRequest { domain: "bench".to_owned(), descriptors, ..Default::default() };
        let mut client = self.clients[check % self.clients.len()].clone();
        let answer = client.should_rate_limit(request).await?.into_inner();
        Ok(answer.overall_code() == Code::Ok && answer.statuses.len() == self.descriptors)
    }
}

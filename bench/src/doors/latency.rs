//! How long answers take at half of what a door can do, with requests that come whether or not earlier ones are answered.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use tokio::runtime::Runtime;

use super::load::{Crowd, runtime};
use super::requests::Requests;
use super::talk::{Talker, connect_grpc, connect_http, connect_resp};
use super::{Plan, Servers, gaps, grpc};
use crate::bounds::{Figure, Found};
use crate::cores::Apart;
use crate::report::Table;
use crate::servers::{Layout, Process};

/// Connections of HTTP and the Redis protocol.
const CONNECTIONS: usize = 128;

/// A stretch of time that a machine which stands still now and then mostly gets through without that.
const STRETCH: Duration = Duration::from_millis(50);

/// The shares of checks whose times are told.
const SHARES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

pub(super) fn report(plan: &Plan, servers: &Servers<'_>, found: &mut Found) -> Result<()> {
    println!("### Time to answer at half of the capacity\n");
    let rules = servers.folder.join("ours");
    let ((server, empty), _apart) = Apart::start(|| {
        Ok((Process::tidegate("memory", &rules, "per_core")?, Process::empty(Layout::Cores)?))
    })?;
    let gaps = gaps::report();
    println!(
        "The load has a core to itself, and the server the others. What is asked for as fast as it is answered comes first; then half as \
         many checks a second, for {} s, on a schedule that waits for nobody. Milliseconds from when a check was due until it was \
         answered, and until it was begun, which is the load's own delay and in all the others; and, for half of all stretches of {} ms, \
         within which 99 % of what was due in them was answered. {}\n",
        plan.seconds,
        STRETCH.as_millis(),
        gaps
    );
    let runtime = runtime()?;
    let mut table = Table::new(
        "",
        ["capacity/s", "asked/s", "half", "90 %", "99 %", "99.9 %", "begun, 99 %", "usual 99 %"],
    );
    let requests = Arc::new(Requests::envoy(1));
    let talkers = runtime.block_on(connect_grpc((server.grpc(), grpc::ENVOY), &requests, grpc::USUAL))?;
    let worst = row(plan, &runtime, &mut table, ("gRPC", talkers))?;
    found.note(Figure::GrpcLatency, Some(worst));
    let talkers = runtime.block_on(connect_grpc((empty.grpc(), grpc::ENVOY), &requests, grpc::USUAL))?;
    row(plan, &runtime, &mut table, ("gRPC, empty service", talkers))?;
    let requests = Arc::new(Requests::http());
    let talkers = runtime.block_on(connect_http(server.http(), &requests, CONNECTIONS))?;
    let worst = row(plan, &runtime, &mut table, ("HTTP", talkers))?;
    found.note(Figure::HttpLatency, Some(worst));
    let requests = Arc::new(Requests::resp());
    let talkers = runtime.block_on(connect_resp(server.resp(), &requests, CONNECTIONS))?;
    let worst = row(plan, &runtime, &mut table, ("Redis protocol", talkers))?;
    found.note(Figure::RespLatency, Some(worst));
    println!("{table}");
    Ok(())
}

/// Adds a row, and gives the usual time of the slowest hundredth.
fn row<T: Talker>(
    plan: &Plan,
    runtime: &Runtime,
    table: &mut Table,
    (name, talkers): (&str, Vec<T>),
) -> Result<f64> {
    eprintln!("doors: time to answer, {name}");
    let mut crowd = Crowd::new(talkers);
    runtime.block_on(crowd.ask(0..plan.warm_up, 1))?;
    let capacity = runtime.block_on(crowd.ask(0..plan.warm_up, 1))?.rate();
    let rate = capacity / 2.0;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of checks")]
    let checks = (rate * f64::from(plan.seconds)) as usize;
    let times = runtime.block_on(crowd.pace(0..checks, rate))?;
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    let within = SHARES.map(|share| format!("{:.3}", milliseconds(times.within(share))));
    let rates = [format!("{capacity:.0}"), format!("{:.0}", times.rate())];
    let begun = format!("{:.3}", milliseconds(times.begun_within(0.99)));
    let usual = milliseconds(times.usually_within(0.99, STRETCH));
    table.row(&name, rates.into_iter().chain(within).chain([begun, format!("{usual:.3}")]));
    Ok(usual)
}

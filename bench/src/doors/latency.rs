//! How long answers take at half of what a door can do, with requests that come whether or not earlier ones are answered.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use tokio::runtime::Runtime;

use super::gaps::{AFTER, BEFORE, Watch, may_go_first};
use super::load::{Crowd, runtime};
use super::requests::Requests;
use super::talk::{Talker, connect_grpc, connect_http, connect_resp};
use super::{Plan, grpc};
use crate::bounds::{Figure, Found};
use crate::cores::{Apart, Awake};
use crate::report::{Figures, Table, shown};
use crate::servers::{Layout, Process};

/// Connections of HTTP and the Redis protocol.
const CONNECTIONS: usize = 128;

/// The shares of checks whose times are told.
const SHARES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

const COLUMNS: [&str; 11] = [
    "capacity/s",
    "asked/s",
    "half",
    "90 %",
    "99 %",
    "99.9 %",
    "begun, 99 %",
    "stood still",
    "longest",
    "left",
    "99 % of these",
];

/// Fewer than these say nothing of their slowest hundredth.
const FEWEST: usize = 5_000;

/// How long checks come in a round.
const SECONDS: f64 = 2.0;

pub(super) fn report(plan: &Plan, rules: &Path, found: &mut Found) -> Result<()> {
    let ((server, empty), apart) = Apart::start(|| {
        Ok((Process::tidegate("memory", rules, "per_core")?, Process::empty(Layout::Cores)?))
    })?;
    let awake = Awake::keep();
    let sleep = match &awake {
        Ok(_) => "Cores are kept from sleeping meanwhile.".to_owned(),
        Err(error) => {
            format!("Cores sleep meanwhile, and the times that they take to wake are in it: {error}.")
        }
    };
    let first = if may_go_first() {
        "that go before all others"
    } else {
        "that may not go before others, as they should,"
    };
    println!(
        "The load has a core to itself, and the server the others. What is asked for as fast as it is answered comes first; then half as \
         many checks a second, for {SECONDS} s, on a schedule that waits for nobody; {} rounds, and the median of each. Milliseconds from when a check was due until it was \
         answered, and until it was begun, which is the load's own delay and in all the others. {sleep} Threads {first} \
         and wake every millisecond tell when the machine itself stood still: for what part of the time, how long at most, and which \
         checks are left without those that were due up to {} ms before that, or after it for {AFTER} times as long.\n",
        plan.answer_rounds,
        BEFORE.as_millis(),
    );
    let runtime = runtime()?;
    let mut rows = Rows { plan, runtime: &runtime, cores: apart.cores(), table: Table::new("", COLUMNS) };
    let requests = Arc::new(Requests::envoy(1));
    let talkers = runtime.block_on(connect_grpc((server.grpc(), grpc::ENVOY), &requests, grpc::USUAL))?;
    found.note(Figure::GrpcLatency, rows.measure("gRPC", talkers)?);
    let talkers = runtime.block_on(connect_grpc((empty.grpc(), grpc::ENVOY), &requests, grpc::USUAL))?;
    rows.measure("gRPC, empty service", talkers)?;
    let requests = Arc::new(Requests::http());
    let talkers = runtime.block_on(connect_http(server.http(), &requests, CONNECTIONS))?;
    found.note(Figure::HttpLatency, rows.measure("HTTP", talkers)?);
    let requests = Arc::new(Requests::resp());
    let talkers = runtime.block_on(connect_resp(server.resp(), &requests, CONNECTIONS))?;
    found.note(Figure::RespLatency, rows.measure("Redis protocol", talkers)?);
    println!("{}", rows.table);
    Ok(())
}

struct Rows<'a> {
    plan: &'a Plan,
    runtime: &'a Runtime,
    cores: Vec<usize>,
    table: Table,
}

impl Rows<'_> {
    /// Adds a row, and gives the milliseconds that 99 % are answered within while the machine runs; `None` if it hardly did.
    fn measure<T: Talker>(&mut self, name: &str, talkers: Vec<T>) -> Result<Option<f64>> {
        eprintln!("answers: {name}");
        let mut crowd = Crowd::new(talkers);
        self.runtime.block_on(crowd.ask(0..self.plan.warm_up, 1))?;
        let rounds: Vec<Round> =
            (0..self.plan.answer_rounds).map(|_| self.round(&mut crowd)).collect::<Result<_>>()?;
        let median =
            |of: &dyn Fn(&Round) -> f64| Figures::new(&rounds.iter().map(of).collect::<Vec<_>>()).median;
        let longest = rounds.iter().map(|round| round.longest).fold(0.0, f64::max);
        let (some, left): (Vec<f64>, Vec<usize>) = rounds.iter().filter_map(|round| round.left).unzip();
        let within = (!some.is_empty()).then(|| Figures::new(&some).median);
        let cells = [
            format!("{:.0}", median(&|round| round.capacity)),
            format!("{:.0}", median(&|round| round.rate)),
        ]
        .into_iter()
        .chain((0..SHARES.len()).map(|share| format!("{:.3}", median(&|round| round.within[share]))))
        .chain([
            format!("{:.3}", median(&|round| round.begun)),
            format!("{:.1} %", median(&|round| round.still) * 100.0),
        ])
        .chain([
            format!("{longest:.3}"),
            left.iter().sum::<usize>().to_string(),
            shown(within, |within| format!("{within:.3}")),
        ]);
        self.table.row(&name, cells);
        Ok(within)
    }

    /// What the door can do, and then half of it: the machine is not as fast at all times.
    fn round<T: Talker>(&self, crowd: &mut Crowd<T>) -> Result<Round> {
        let capacity = self.runtime.block_on(crowd.ask(0..self.plan.capacity, 1))?.rate();
        let rate = capacity / 2.0;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of checks")]
        let checks = (rate * SECONDS) as usize;
        let watch = Watch::start(&self.cores);
        let times = self.runtime.block_on(crowd.pace(0..checks, rate));
        let (gaps, times) = (watch.end()?, times?);
        let (still, longest) = gaps.told();
        let (within, left) = times.within_where(0.99, |due| gaps.spare(due));
        Ok(Round {
            capacity,
            rate: times.rate(),
            within: SHARES.map(|share| milliseconds(times.within(share))),
            begun: milliseconds(times.begun_within(0.99)),
            still,
            longest: milliseconds(longest),
            left: (left >= FEWEST).then(|| (milliseconds(within), left)),
        })
    }
}

/// Checks a second, and milliseconds.
struct Round {
    capacity: f64,
    rate: f64,
    within: [f64; SHARES.len()],
    begun: f64,
    still: f64,
    longest: f64,
    /// What 99 % of those were answered within that are left, and how many they are.
    left: Option<(f64, usize)>,
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

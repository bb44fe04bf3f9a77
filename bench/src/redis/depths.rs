//! A check of four limits beside the commands that count four keys without deciding anything, at equal depth.

use anyhow::{Result, ensure};
use tidegate_redis::Call;
use tidegate_rig::Server;

use super::calls::{Calls, command, four, load_scripts, plan};
use super::work::{Parcel, Work, rounds};
use super::{Plan, node};
use crate::bounds::{Figure, Found};
use crate::report::{Figures, Table, counted};

/// Requests that are under way at once.
const DEPTHS: [usize; 3] = [1, 16, 64];

/// Whose counters are asked for in turn.
const ENTITIES: usize = 500;

const LIMITS: usize = 4;

/// The ways, in the order of the table.
const WAYS: [&str; 4] = [
    "check of 4 GCRA limits, alone",
    "the same, joined as the client joins them",
    "4 x (INCRBY + EXPIRE) in one pipeline",
    "the same to 4 slots over 4 connections",
];

pub(super) fn report(plan: &Plan, found: &mut Found) -> Result<()> {
    println!("### Four limits of one entity\n");
    println!(
        "Microseconds of the server's processor per request, by how many requests are under way: median (quartiles), and the \
         median of the ratios to the pipeline in the same round; {}. Ours is one atomic step that refuses all or nothing; the \
         others only count.\n",
        counted(plan.rounds, "round")
    );
    node::probe()?;
    let measured = DEPTHS.iter().map(|depth| measure(plan, *depth)).collect::<Result<Vec<_>>>()?;
    let mut table = Table::new("way", DEPTHS.map(|depth| format!("{depth} under way")));
    for (way, name) in WAYS.iter().enumerate() {
        let cell = |taken: &Vec<Vec<f64>>| {
            let (own, pipeline) = (&taken[way], &taken[2]);
            let (own, ratios) = (Figures::new(own), Figures::ratios(own, pipeline));
            format!("{:.1} ({:.1}-{:.1}) {:.2}x", own.median, own.low, own.high, ratios.median)
        };
        table.row(name, measured.iter().map(cell));
    }
    println!("{table}");
    for (taken, depth) in measured.iter().zip(DEPTHS) {
        note(taken, depth, found);
    }
    Ok(())
}

/// Keeps what a check is held to. One at a time there is nothing to join.
fn note(taken: &[Vec<f64>], depth: usize, found: &mut Found) {
    for (way, joined) in [(0, false), (1, true)].into_iter().filter(|(_, joined)| depth > 1 || !joined) {
        let ratio = |other: usize| Some(Figures::ratios(&taken[way], &taken[other]).median);
        found.note(Figure::OverPipeline { depth, joined }, ratio(2));
        found.note(Figure::OverSlots { depth, joined }, ratio(3));
    }
}

/// The figures of all ways at a depth.
fn measure(options: &Plan, depth: usize) -> Result<Vec<Vec<f64>>> {
    eprintln!("redis: four limits, {depth} under way");
    let server = Server::start();
    load_scripts(&server);
    let (maker, limits) = (Calls::new(), four()?);
    let call = |check: usize| maker.decide(&plan(&limits, check % ENTITIES)?);
    let calls: Vec<Call> = (0..options.checks).map(call).collect::<Result<_>>()?;
    ensure!(calls.iter().all(|call| call.script.joins), "a check of four limits is not a common one");
    let mut works = [
        Work::alone(&server, &calls, depth)?,
        Work::joined(&server, &calls, depth)?,
        Work::new(&server, 1, counting(options.checks, depth, 1), options.checks)?,
        Work::new(&server, LIMITS, counting(options.checks, depth, LIMITS), options.checks)?,
    ];
    rounds(&server, &mut works, options.rounds)
}

/// The counting commands of so many requests, over one connection or one for each limit.
fn counting(checks: usize, depth: usize, lines: usize) -> Vec<Vec<Parcel>> {
    let checks: Vec<usize> = (0..checks).collect();
    let breath = |checks: &[usize]| {
        let parcel = |line: usize| {
            let pairs = checks
                .iter()
                .flat_map(|check| (line..LIMITS).step_by(lines).map(|limit| count(*check, limit)));
            let bytes: Vec<u8> = pairs.flatten().collect();
            Parcel { line, bytes, replies: 2 * checks.len() * LIMITS / lines }
        };
        (0..lines).map(parcel).collect()
    };
    checks.chunks(depth).map(breath).collect()
}

/// Counts one key, as envoyproxy/ratelimit does: domain, key, value and the window's beginning.
fn count(check: usize, limit: usize) -> Vec<u8> {
    let key = format!("bench_user_{limit}_user:{:08}_1790000040", check % ENTITIES);
    [command(&[b"INCRBY", key.as_bytes(), b"1"]), command(&[b"EXPIRE", key.as_bytes(), b"60"])].concat()
}

//! Tidegate beside its peers: time, memory, allocations, instructions and cache misses, in one run.
//!
//! The parent prints tables on standard output and its progress on standard error. Every engine runs in a child process,
//! which is this same program with the words `serve ENGINE KIND LIMITS`, and does what the parent writes to it. Matching,
//! checking and plans run in the parent; only their instructions are counted in a child, with the words `match CASE REPEATS`,
//! `check CASE REPEATS` and `plan CASE REPEATS`. The table grows in a child of its own: `grow SIZES`. So do servers that we made of
//! others' libraries, to be set beside our own program: `empty LAYOUT`, `limitador`.

mod allocations;
mod bounds;
mod callgrind;
mod checking;
mod child;
mod cores;
mod doors;
mod engines;
mod keys;
mod machine;
mod matching;
mod memory;
mod probe;
mod protocol;
mod redis;
mod report;
mod rounds;
mod servers;
mod session;
mod table;
mod usage;
mod words;

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use lexopt::{Arg, Parser, ValueExt};

use crate::bounds::Found;
use crate::protocol::Spec;

const HELP: &str = "\
Tidegate beside its peers: Markdown tables on standard output, progress on standard error.

Usage: tidegate-bench [OPTIONS]

Options:
  --quick          a smoke run: 3 short rounds, few keys, no valgrind
  --only PARTS     only these, separated by commas: probe, time, memory, allocations, callgrind, match,
                   check, table, redis, doors, answers
  --rounds N       rounds per case (default 15, for doors 28; at least 1)
  --keys N,N,..    numbers of keys to time; 1 is one hot key (default 1,100000,10000000)
  --help           this text

Usage: tidegate-bench load grpc|http|resp ADDRESS [--connections N] [--together N] [--descriptors 1-4] [--checks N] [--rate N]
  asks a server that is already there: 100 000 users of the domain `bench` (gRPC, descriptor `user`, then `limit-1` to `limit-3`)
  or `plain` (HTTP, attribute `user`), or THROTTLE; as fast as it answers, or so many times a second whether or not it does.
  Together are the calls under way on a connection of gRPC, and the commands that are sent at once over the Redis protocol
  (default 16)
";

/// The parts of a report, in the order in which they are printed.
const PARTS: [&str; 11] = [
    "probe",
    "time",
    "memory",
    "allocations",
    "callgrind",
    "match",
    "check",
    "table",
    "redis",
    "doors",
    "answers",
];

/// What was typed, completed by what the mode implies.
struct Options {
    parts: Vec<String>,
    timing: rounds::Plan,
    memory_keys: Vec<u32>,
    allocation_ops: u32,
    matching: matching::Plan,
    table: table::Plan,
    redis: redis::Plan,
    doors: doors::Plan,
}

enum Action {
    Help,
    Serve(Spec),
    Match(matching::Case, u32),
    Check(checking::Case, u32),
    Plan(table::Way, u32),
    Grow(Vec<u32>),
    Empty(servers::Layout),
    Limitador,
    Load(doors::Load),
    Report(Options),
}

fn main() -> ExitCode {
    match parse(Parser::from_env()).and_then(act) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn act(action: Action) -> Result<()> {
    match action {
        Action::Help => {
            print!("{HELP}");
            Ok(())
        }
        Action::Serve(spec) => session::serve(spec),
        Action::Match(case, repeats) => {
            matching::serve(case, repeats);
            Ok(())
        }
        Action::Check(case, repeats) => checking::serve(case, repeats),
        Action::Plan(way, repeats) => table::serve(way, repeats),
        Action::Grow(sizes) => table::grow(&sizes),
        Action::Empty(layout) => servers::serve_empty(layout),
        Action::Limitador => servers::serve_limitador(),
        Action::Load(load) => doors::load(&load),
        Action::Report(options) => report_all(&options),
    }
}

fn report_all(options: &Options) -> Result<()> {
    machine::report();
    let mut found = Found::default();
    for part in PARTS.into_iter().filter(|part| options.parts.iter().any(|wanted| wanted == part)) {
        match part {
            "probe" => probe::report()?,
            "time" => rounds::report(&options.timing, &mut found)?,
            "memory" => memory::report(&options.memory_keys)?,
            "allocations" => memory::report_allocations(options.allocation_ops, &mut found)?,
            "callgrind" => callgrind::report(&mut found)?,
            "match" => matching::report(&options.matching)?,
            "check" => checking::report(&options.matching)?,
            "table" => table::report(&options.table, &mut found)?,
            "redis" => redis::report(&options.redis, &mut found)?,
            "doors" => doors::report(&options.doors, &mut found)?,
            _ => doors::report_answers(&options.doors, &mut found)?,
        }
    }
    found.report();
    Ok(())
}

impl Options {
    fn full() -> Self {
        Self {
            parts: PARTS.map(str::to_owned).to_vec(),
            timing: rounds::Plan { rounds: 15, ops: 200_000, keys: vec![1, 100_000, 10_000_000] },
            memory_keys: vec![100_000, 10_000_000],
            allocation_ops: 100_000,
            matching: matching::Plan { rounds: 15, milliseconds: 50, counts_instructions: true },
            table: table::Plan::full(),
            redis: redis::Plan::full(),
            doors: doors::Plan::full(),
        }
    }

    fn quick() -> Self {
        Self {
            parts: PARTS.iter().filter(|part| **part != "callgrind").map(|part| (*part).to_owned()).collect(),
            timing: rounds::Plan { rounds: 3, ops: 40_000, keys: vec![1, 10_000] },
            memory_keys: vec![10_000],
            allocation_ops: 10_000,
            matching: matching::Plan { rounds: 3, milliseconds: 5, counts_instructions: false },
            table: table::Plan::quick(),
            redis: redis::Plan::quick(),
            doors: doors::Plan::quick(),
        }
    }
}

fn parse(mut arguments: Parser) -> Result<Action> {
    let (mut quick, mut parts, mut rounds, mut keys) = (false, None, None, None);
    while let Some(argument) = arguments.next()? {
        match argument {
            Arg::Long("help") | Arg::Short('h') => return Ok(Action::Help),
            Arg::Long("quick") => quick = true,
            Arg::Long("only") => parts = Some(listed_parts(&arguments.value()?.string()?)?),
            Arg::Long("rounds") => rounds = Some(arguments.value()?.parse::<u32>()?.max(1)),
            Arg::Long("keys") => keys = Some(numbers(&arguments.value()?.string()?)?),
            Arg::Value(word) if word == "serve" => return serve(arguments),
            Arg::Value(word) if word == "match" => {
                let case = arguments.value()?.string()?.parse()?;
                return Ok(Action::Match(case, arguments.value()?.parse()?));
            }
            Arg::Value(word) if word == "check" => {
                let case = arguments.value()?.string()?.parse()?;
                return Ok(Action::Check(case, arguments.value()?.parse()?));
            }
            Arg::Value(word) if word == "plan" => {
                let way = arguments.value()?.string()?.parse()?;
                return Ok(Action::Plan(way, arguments.value()?.parse()?));
            }
            Arg::Value(word) if word == "grow" => {
                return Ok(Action::Grow(numbers(&arguments.value()?.string()?)?));
            }
            Arg::Value(word) if word == "empty" => {
                return Ok(Action::Empty(arguments.value()?.string()?.parse()?));
            }
            Arg::Value(word) if word == "limitador" => return Ok(Action::Limitador),
            Arg::Value(word) if word == "load" => return load(arguments),
            other => bail!("{}\nhint: --help lists the options", other.unexpected()),
        }
    }
    let mut options = if quick { Options::quick() } else { Options::full() };
    options.parts = parts.unwrap_or(options.parts);
    options.timing.rounds = rounds.unwrap_or(options.timing.rounds);
    options.matching.rounds = rounds.unwrap_or(options.matching.rounds);
    options.table.rounds = rounds.unwrap_or(options.table.rounds);
    options.redis.rounds = rounds.unwrap_or(options.redis.rounds);
    options.doors.rounds = rounds.unwrap_or(options.doors.rounds);
    options.timing.keys = keys.unwrap_or(options.timing.keys);
    Ok(Action::Report(options))
}

fn serve(mut arguments: Parser) -> Result<Action> {
    let (engine, kind) = (arguments.value()?.string()?, arguments.value()?.string()?);
    let limits = arguments.value()?.parse()?;
    Ok(Action::Serve(Spec { engine: engine.parse()?, kind: kind.parse()?, limits }))
}

fn load(mut arguments: Parser) -> Result<Action> {
    let door = arguments.value()?.string()?.parse()?;
    let address = arguments.value()?.parse()?;
    let mut load = doors::Load {
        door,
        address,
        connections: 8,
        checks: 100_000,
        together: 16,
        descriptors: 1,
        rate: None,
    };
    while let Some(argument) = arguments.next()? {
        match argument {
            Arg::Long("connections") => load.connections = arguments.value()?.parse::<usize>()?.max(1),
            Arg::Long("together") => load.together = arguments.value()?.parse::<usize>()?.max(1),
            Arg::Long("descriptors") => load.descriptors = arguments.value()?.parse::<usize>()?.clamp(1, 4),
            Arg::Long("checks") => load.checks = arguments.value()?.parse::<usize>()?.max(1),
            Arg::Long("rate") => load.rate = Some(arguments.value()?.parse::<f64>()?.max(1.0)),
            other => bail!("{}\nhint: --help lists the options", other.unexpected()),
        }
    }
    Ok(Action::Load(load))
}

fn listed_parts(list: &str) -> Result<Vec<String>> {
    let parts: Vec<String> = list.split(',').map(str::to_owned).collect();
    match parts.iter().find(|part| !PARTS.contains(&part.as_str())) {
        Some(part) => bail!("unknown part {part:?}; the parts are {}", PARTS.join(", ")),
        None => Ok(parts),
    }
}

fn numbers(list: &str) -> Result<Vec<u32>> {
    let number = |word: &str| {
        let number = word.parse::<u32>().ok().filter(|number| (1..=100_000_000).contains(number));
        number.with_context(|| format!("{word:?} is not a number of keys from 1 to 100000000"))
    };
    list.split(',').map(number).collect()
}

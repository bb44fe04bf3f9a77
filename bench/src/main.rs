//! Tidegate beside its peers: time, memory, allocations, instructions and cache misses, in one run.
//!
//! The parent prints tables on standard output and its progress on standard error. Every engine runs in a child process,
//! which is this same program with the words `serve ENGINE KIND LIMITS`, and does what the parent writes to it. Matching,
//! checking and plans run in the parent; only their instructions are counted in a child, with the words `match CASE REPEATS`,
//! `check CASE REPEATS` and `plan CASE REPEATS`. The table grows in a child of its own: `grow SIZES`. So does our server run that is
//! set beside others: `node STORE RULES`.

mod allocations;
mod bounds;
mod callgrind;
mod checking;
mod child;
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
mod session;
mod table;
mod words;

use std::path::PathBuf;
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
                   check, table, redis
  --rounds N       rounds per case (default 15, at least 1)
  --keys N,N,..    numbers of keys to time; 1 is one hot key (default 1,100000,10000000)
  --help           this text
";

/// The parts of a report, in the order in which they are printed.
const PARTS: [&str; 9] =
    ["probe", "time", "memory", "allocations", "callgrind", "match", "check", "table", "redis"];

/// What was typed, completed by what the mode implies.
struct Options {
    parts: Vec<String>,
    timing: rounds::Plan,
    memory_keys: Vec<u32>,
    allocation_ops: u32,
    matching: matching::Plan,
    table: table::Plan,
    redis: redis::Plan,
}

enum Action {
    Help,
    Serve(Spec),
    Match(matching::Case, u32),
    Check(checking::Case, u32),
    Plan(table::Way, u32),
    Grow(Vec<u32>),
    Node(String, PathBuf),
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
        Action::Node(store, rules) => redis::serve(&store, rules),
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
            _ => redis::report(&options.redis, &mut found)?,
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
            Arg::Value(word) if word == "node" => {
                let store = arguments.value()?.string()?;
                return Ok(Action::Node(store, arguments.value()?.into()));
            }
            other => bail!("{}\nhint: --help lists the options", other.unexpected()),
        }
    }
    let mut options = if quick { Options::quick() } else { Options::full() };
    options.parts = parts.unwrap_or(options.parts);
    options.timing.rounds = rounds.unwrap_or(options.timing.rounds);
    options.matching.rounds = rounds.unwrap_or(options.matching.rounds);
    options.table.rounds = rounds.unwrap_or(options.table.rounds);
    options.redis.rounds = rounds.unwrap_or(options.redis.rounds);
    options.timing.keys = keys.unwrap_or(options.timing.keys);
    Ok(Action::Report(options))
}

fn serve(mut arguments: Parser) -> Result<Action> {
    let (engine, kind) = (arguments.value()?.string()?, arguments.value()?.string()?);
    let limits = arguments.value()?.parse()?;
    Ok(Action::Serve(Spec { engine: engine.parse()?, kind: kind.parse()?, limits }))
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

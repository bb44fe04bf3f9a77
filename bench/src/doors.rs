//! The doors: what a decision costs a server, from the bytes of a request to those of its answer, beside services that do nothing and
//! beside peers.
//!
//! All servers are processes of their own on the loopback, in turns within a round. The load is one thread of this program.

mod requests;
mod talk;
mod load;
mod target;
mod grpc;
mod alike;
mod plain;
mod gaps;
mod latency;
mod alone;

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;
use tempfile::TempDir;

pub(crate) use self::alone::{Load, run as load};
use self::requests::NAMES;
use crate::bounds::Found;
use crate::servers::Process;

/// How long to measure.
pub(crate) struct Plan {
    pub(crate) rounds: u32,
    /// Checks of one round: few, so that all servers meet the machine in the same mood.
    checks: usize,
    /// Checks before the first round: all keys are there then.
    warm_up: usize,
    /// Rounds of the load that does not wait for answers, and the checks that tell what half of the capacity is.
    answer_rounds: u32,
    capacity: usize,
}

impl Plan {
    pub(crate) fn full() -> Self {
        Self { rounds: 28, checks: 5_000, warm_up: requests::KEYS, answer_rounds: 12, capacity: 20_000 }
    }

    pub(crate) fn quick() -> Self {
        Self { rounds: 3, checks: 1_000, warm_up: 1_000, answer_rounds: 1, capacity: 1_000 }
    }
}

pub(crate) fn report(plan: &Plan, found: &mut Found) -> Result<()> {
    println!("## Doors\n");
    let folder = rules()?;
    let servers = Servers::start(folder.path())?;
    grpc::report(plan, &servers, found)?;
    plain::report(plan, &servers, found)
}

/// How long answers take, which has the cores to itself.
pub(crate) fn report_answers(plan: &Plan, found: &mut Found) -> Result<()> {
    println!("## Time to answer at half of the capacity\n");
    let folder = rules()?;
    latency::report(plan, &folder.path().join("ours"), found)
}

/// Who is asked, but for those that need more to live.
struct Servers<'a> {
    folder: &'a Path,
    per_core: Process,
    shared: Process,
    throttlecrab: Option<Process>,
}

impl<'a> Servers<'a> {
    fn start(folder: &'a Path) -> Result<Self> {
        let rules = folder.join("ours");
        let (per_core, shared) = (
            Process::tidegate("memory", &rules, "per_core")?,
            Process::tidegate("memory", &rules, "shared")?,
        );
        Ok(Self { folder, per_core, shared, throttlecrab: Process::throttlecrab()? })
    }
}

/// A file of descriptors where envoyproxy/ratelimit looks for it; and for us the same, with a rule of our own words for HTTP.
fn rules() -> Result<TempDir> {
    let mut text = String::from("domain: bench\ndescriptors:\n");
    for name in NAMES {
        writeln!(text, "  - key: {name}\n    rate_limit: {{ unit: hour, requests_per_unit: 1000000 }}")?;
    }
    let folder = tempfile::tempdir()?;
    let (theirs, ours) = (folder.path().join("config"), folder.path().join("ours"));
    for path in [&theirs, &ours] {
        std::fs::create_dir(path)?;
        std::fs::write(path.join("bench.yaml"), &text)?;
    }
    std::fs::write(ours.join("plain.yaml"), PLAIN)?;
    Ok(folder)
}

const PLAIN: &str = "domain: plain\nrules:\n  - { name: user, by: [user], limit: 1000000/hour }\n";

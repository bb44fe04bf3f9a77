//! Memory: how much a process grows by its keys, and what one decision allocates.

use std::fs;

use anyhow::{Context, Result};

use crate::bounds::{Figure, Found};
use crate::child::Child;
use crate::engines::{Name, Width};
use crate::keys::{Access, Kind};
use crate::protocol::{Command, Run, Spec};
use crate::report::{Table, counted, short, shown};
use crate::rounds::MANY;

/// Resident memory of this process.
pub(crate) fn resident_bytes() -> Result<u64> {
    kilobytes("/proc/self/status", "VmRSS:")
}

/// Memory that could be had without swapping.
pub(crate) fn available_bytes() -> Result<u64> {
    kilobytes("/proc/meminfo", "MemAvailable:")
}

fn kilobytes(path: &str, field: &str) -> Result<u64> {
    let text = fs::read_to_string(path)
        .with_context(|| format!("cannot read {path}; memory is measured on Linux only"))?;
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(field)?.split_whitespace().next()?.parse::<u64>().ok());
    value.map(|kilobytes| kilobytes * 1024).with_context(|| format!("{path} has no {field}"))
}

/// The table of bytes per key.
pub(crate) fn report(sizes: &[u32]) -> Result<()> {
    println!("## Memory\n");
    println!(
        "Growth of the resident memory by loading string keys (13 bytes each, 1 limit of the narrow size), in bytes per key.\n"
    );
    let mut table = Table::new("engine", sizes.iter().map(|keys| format!("{} keys", short(*keys))));
    for engine in Name::ALL.iter().copied().filter(|engine| *engine != Name::KeyOnly) {
        let cells = sizes.iter().map(|keys| bytes_per_key(engine, *keys)).collect::<Result<Vec<_>>>()?;
        table.row(&engine, cells);
    }
    println!("{table}");
    if sizes.iter().any(|keys| *keys > MANY) {
        println!(
            "limitador is left out above {} keys: at over a kilobyte each they do not fit.\n",
            short(MANY)
        );
    }
    Ok(())
}

fn bytes_per_key(engine: Name, keys: u32) -> Result<String> {
    if engine == Name::Limitador && keys > MANY {
        return Ok("-".into());
    }
    eprintln!("memory of {engine} with {} keys", short(keys));
    let mut child = Child::start(Spec { engine, kind: Kind::Text, limits: 1 })?;
    let [grown] = child.ask(Command::Load { keys, width: Width::Narrow })?;
    child.finish()?;
    Ok(format!("{:.1}", grown as f64 / f64::from(keys)))
}

/// The table of allocations per decision.
pub(crate) fn report_allocations(ops: u32, found: &mut Found) -> Result<()> {
    println!("## Heap allocations per decision\n");
    println!(
        "Steady state: 10k keys that are all there, {ops} decisions. Frees are not counted, reallocations are.\n"
    );
    let cases = [(Kind::Text, 1), (Kind::Text, 4), (Kind::Number, 1), (Kind::Number, 4)];
    let title = |(kind, limits): (Kind, u32)| format!("{kind}, {}", counted(limits, "limit"));
    let mut table = Table::new("engine", cases.map(title));
    for engine in Name::ALL.iter().copied() {
        let counts = cases.map(|(kind, limits)| allocations(Spec { engine, kind, limits }, ops));
        let counts = counts.into_iter().collect::<Result<Vec<_>>>()?;
        if engine == Name::Tidegate {
            found.note(Figure::Allocations, counts.iter().copied().flatten().reduce(f64::max));
        }
        table.row(&engine, counts.iter().map(|count| shown(*count, |count| format!("{count:.2}"))));
    }
    println!("{table}");
    Ok(())
}

fn allocations(spec: Spec, ops: u32) -> Result<Option<f64>> {
    if !spec.engine.takes(spec.kind) {
        return Ok(None);
    }
    let mut child = Child::start(spec)?;
    child.ask::<1>(Command::Load { keys: 10_000, width: Width::Narrow })?;
    let run = Run { access: Access::Uniform, threads: 1, ops, repeats: 1, seed: 1 };
    let [_, allocations] = child.ask(Command::Run(run))?;
    child.finish()?;
    Ok(Some(allocations as f64 / f64::from(ops)))
}

//! Instructions and cache misses, counted by valgrind's callgrind on this same binary.
//!
//! Only the timed loop is collected, and two runs that differ in its repeats are subtracted: set-up, loading and the first
//! touch of the caches cancel out. Unlike times, these figures hardly depend on what else the machine does.

mod counted;

use std::fs;
use std::process::{self, Stdio};

use anyhow::{Context, Result, ensure};

use self::counted::{Counted, Since, can_begin_late};
use crate::bounds::{Figure, Found};
use crate::engines::Name;
use crate::keys::{Access, Kind};
use crate::protocol::{Run, Spec};
use crate::report::{Table, counted, short, shown};

/// Keys for instructions: few, so that the engines' own work is seen and not the depth of their tables.
const FEW_KEYS: u32 = 10_000;

/// Keys for misses of all engines: more than a simulated last-level cache of 2 MiB holds.
const MANY_KEYS: u32 = 200_000;

/// Keys for misses of ours and governor: few of them are in a cache of 32 MiB.
const MOST_KEYS: u32 = 10_000_000;

/// How many decisions are counted with as many keys. They take many times the cache, so that repeating them misses again.
const MOST_KEYS_OPS: u32 = 1_500_000;

/// What callgrind counted.
#[derive(Clone, Copy, Debug)]
struct Events {
    instructions: u64,
    /// Reads and writes that went to memory.
    misses: u64,
}

/// A column: what is counted, for which keys and how many limits.
struct Column {
    what: What,
    kind: Kind,
    limits: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Instructions,
    Misses,
    /// With [`MOST_KEYS`].
    MissesOfMany,
}

const COLUMNS: [Column; 6] = [
    Column { what: What::Instructions, kind: Kind::Text, limits: 1 },
    Column { what: What::Instructions, kind: Kind::Number, limits: 1 },
    Column { what: What::Instructions, kind: Kind::Text, limits: 4 },
    Column { what: What::Misses, kind: Kind::Text, limits: 1 },
    Column { what: What::Misses, kind: Kind::Number, limits: 1 },
    Column { what: What::MissesOfMany, kind: Kind::Text, limits: 1 },
];

pub(crate) fn report(found: &mut Found) -> Result<()> {
    println!("## Instructions and last-level misses per decision\n");
    if !is_installed() {
        println!("Skipped: valgrind is not installed; `apt-get install valgrind` brings it.\n");
        return Ok(());
    }
    println!(
        "callgrind, uniform access, limits of the narrow size. Instructions with {} keys (limitador: a tenth); misses with {} \
         keys and a simulated last-level cache of 2 MiB (limitador: left out, its keys take too long to load under \
         valgrind), and of ours and governor with {} keys and one of 32 MiB.\n",
        short(FEW_KEYS),
        short(MANY_KEYS),
        short(MOST_KEYS)
    );
    let mut table = Table::new("engine", COLUMNS.iter().map(Column::title));
    let mut counts = Vec::new();
    for engine in Name::ALL.iter().copied() {
        let row = COLUMNS.iter().map(|column| column.count(engine)).collect::<Result<Vec<_>>>()?;
        table.row(&engine, COLUMNS.iter().zip(&row).map(|(column, count)| column.cell(*count)));
        counts.push((engine, row));
    }
    println!("{table}");
    note(&counts, found);
    Ok(())
}

/// Keeps what our table is held to.
fn note(counts: &[(Name, Vec<Option<f64>>)], found: &mut Found) {
    let count = |engine, what| {
        let column = COLUMNS
            .iter()
            .position(|column| (column.what, column.kind, column.limits) == (what, Kind::Text, 1))?;
        let (_, row) = counts.iter().find(|(other, _)| *other == engine)?;
        *row.get(column)?
    };
    let instructions = |engine| count(engine, What::Instructions);
    let own = |engine| Some(instructions(engine)? - instructions(Name::KeyOnly)?);
    let ratio = |ours: Option<f64>, theirs: Option<f64>| Some(ours? / theirs?);
    found.note(Figure::Instructions, ratio(own(Name::Tidegate), own(Name::Governor)));
    found
        .note(Figure::InstructionsWithKey, ratio(instructions(Name::Tidegate), instructions(Name::Governor)));
    found.note(Figure::Misses, count(Name::Tidegate, What::MissesOfMany));
}

impl Column {
    fn title(&self) -> String {
        let (kind, limits) = (self.kind, counted(self.limits, "limit"));
        match self.what {
            What::Instructions => format!("instructions: {kind}, {limits}"),
            What::Misses => format!("misses: {kind}, {limits}"),
            What::MissesOfMany => format!("misses: {kind}, {limits}, {} keys", short(MOST_KEYS)),
        }
    }

    fn takes(&self, engine: Name) -> bool {
        let takes_part = match self.what {
            What::Instructions => true,
            What::Misses => engine != Name::Limitador,
            What::MissesOfMany => matches!(engine, Name::Tidegate | Name::Governor) && can_begin_late(),
        };
        takes_part && engine.takes(self.kind)
    }

    fn count(&self, engine: Name) -> Result<Option<f64>> {
        if !self.takes(engine) {
            return Ok(None);
        }
        eprintln!("callgrind on {engine}: {}", self.title());
        let spec = Spec { engine, kind: self.kind, limits: self.limits };
        let few = FEW_KEYS / engine.slowness();
        let count = match self.what {
            What::Instructions => per_decision(spec, few, (few, Since::Start), |events| events.instructions),
            What::Misses => {
                per_decision(spec, MANY_KEYS, (MANY_KEYS / 4, Since::Start), |events| events.misses)
            }
            What::MissesOfMany => {
                per_decision(spec, MOST_KEYS, (MOST_KEYS_OPS, Since::Loaded), |events| events.misses)
            }
        };
        count.map(Some)
    }

    fn cell(&self, count: Option<f64>) -> String {
        let digits = if self.what == What::Instructions { 0 } else { 2 };
        shown(count, |count| format!("{count:.digits$}"))
    }
}

pub(crate) fn is_installed() -> bool {
    let run = process::Command::new("valgrind")
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    run.is_ok_and(|status| status.success())
}

/// The instructions of this program with these words, as far as they are within functions of that name.
pub(crate) fn instructions_within(function: &str, words: &[String]) -> Result<u64> {
    let name = format!("tidegate-bench-{}-{}.callgrind", process::id(), words.join("-"));
    let file = std::env::temp_dir().join(name).to_string_lossy().into_owned();
    let own = std::env::current_exe().context("cannot find this program's own file")?;
    let status = process::Command::new("valgrind")
        .args(["--quiet", "--tool=callgrind", "--cache-sim=yes", "--log-file=/dev/null"])
        .arg(format!("--toggle-collect=*{function}*"))
        .arg(format!("--callgrind-out-file={file}"))
        .arg(own)
        .args(words)
        .stdout(Stdio::null())
        .status()?;
    ensure!(status.success(), "callgrind ended with {status}");
    let text = fs::read_to_string(&file).with_context(|| format!("callgrind left no {file}"))?;
    fs::remove_file(&file)?;
    Ok(read(&text).context("cannot read callgrind's totals")?.instructions)
}

/// How many of some event one decision takes: two runs side by side, and the difference of their counts.
fn per_decision(spec: Spec, keys: u32, (ops, since): (u32, Since), event: fn(&Events) -> u64) -> Result<f64> {
    let run = |repeats| Run { access: Access::Uniform, threads: 1, ops, repeats, seed: 1 };
    let mut once = Counted::start(spec, keys, (run(1), since))?;
    let mut thrice = Counted::start(spec, keys, (run(3), since))?;
    once.run()?;
    thrice.run()?;
    let (once, thrice) = (once.finish(), thrice.finish());
    let more = event(&thrice?).saturating_sub(event(&once?));
    Ok(more as f64 / f64::from(2 * ops))
}

/// The totals of a callgrind file: names on the line `events:`, numbers on the line `totals:`, zeros at its end left out.
fn read(text: &str) -> Option<Events> {
    let words =
        |label: &str| text.lines().find_map(|line| line.strip_prefix(label)).map(str::split_whitespace);
    let names: Vec<&str> = words("events:")?.collect();
    let numbers: Vec<u64> = words("totals:")?.map_while(|word| word.parse().ok()).collect();
    let count = |event: &str| {
        let place = names.iter().position(|name| *name == event)?;
        Some(numbers.get(place).copied().unwrap_or(0))
    };
    Some(Events { instructions: count("Ir")?, misses: count("ILmr")? + count("DLmr")? + count("DLmw")? })
}

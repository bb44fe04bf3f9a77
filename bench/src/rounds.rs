//! Timing: every engine of a case is loaded in a process of its own, then each round asks them in turn.
//!
//! So a slow minute of the machine falls on all of them, no engine's allocator or table is in another's way, and ratios
//! are taken within a round.

use std::fmt;

use anyhow::Result;

use crate::bounds::{Figure, Found};
use crate::child::Child;
use crate::engines::{Name, Setup, Width};
use crate::keys::{Access, Kind};
use crate::memory::available_bytes;
use crate::protocol::{Command, Run, Spec, most_asked};
use crate::report::{Figures, Table, counted, short, timing};

/// Above this many keys an engine that takes a kilobyte and microseconds per key is left out.
pub(crate) const MANY: u32 = 1_000_000;

/// What a case with [`MANY`] keys may take with all engines loaded.
const MANY_BYTES: u64 = 10 << 30;

/// How long and how wide to measure.
pub(crate) struct Plan {
    pub(crate) rounds: u32,
    pub(crate) ops: u32,
    /// Numbers of keys; 1 is one hot key.
    pub(crate) keys: Vec<u32>,
}

/// On how many threads each case is asked, in turn.
const THREADS: [u32; 2] = [1, 2];

/// What is loaded, and stays loaded while it is asked.
#[derive(Clone, Copy)]
struct Case {
    kind: Kind,
    limits: u32,
    keys: u32,
    access: Access,
    width: Width,
}

/// One column of a table: the figures of each engine, in nanoseconds per decision and thread, by round.
struct Column {
    case: Case,
    threads: u32,
    figures: Vec<(Name, Vec<f64>)>,
}

/// All timing tables.
pub(crate) fn report(plan: &Plan, found: &mut Found) -> Result<()> {
    println!("## Time per decision\n");
    println!(
        "Nanoseconds per decision and thread: median (quartiles), and the median of the ratios to ours in the same round; \
         {}. With perfect scaling a decision costs the same on 2 threads as on 1.\n",
        counted(plan.rounds, "round")
    );
    println!(
        "All engines of a column have the same limit, which no key comes to. Where keys are asked for few times each it is \
         narrow, that is small enough for the 16-byte slots of our table: one per 100 s, a burst of 400 (from 1M keys on \
         one per 1000 s, 40, so that none ends while they are loaded). Else it is wide, 32 \
         bytes with us: one per 100 s, a burst of 3 million, or for the hot key one per second and 300 million.\n"
    );
    for (kind, limits) in [(Kind::Text, 1), (Kind::Number, 1), (Kind::Text, 4), (Kind::Number, 4)] {
        let mut columns = Vec::new();
        for keys in plan.keys.iter().filter(|keys| limits == 1 || **keys <= MANY) {
            for access in accesses(*keys) {
                let width = plan.width(*keys, *access)?;
                columns.extend(measure(plan, Case { kind, limits, keys: *keys, access: *access, width })?);
            }
        }
        for column in &columns {
            column.note(found);
        }
        for threads in THREADS.into_iter().filter(|_| !columns.is_empty()) {
            println!(
                "### {kind} keys, {} per request, {}\n",
                counted(limits, "limit"),
                counted(threads, "thread")
            );
            println!("{}", table(&columns, threads));
        }
    }
    if plan.keys.iter().any(|keys| *keys > MANY) {
        println!(
            "limitador is left out above {} keys: at over a kilobyte each they do not fit.\n",
            short(MANY)
        );
    }
    Ok(())
}

fn measure(plan: &Plan, case: Case) -> Result<Vec<Column>> {
    if case.keys > MANY && available_bytes()? < MANY_BYTES {
        println!("Skipped {case}: it needs {} GB of free memory.\n", MANY_BYTES >> 30);
        return Ok(Vec::new());
    }
    let mut children = load(case)?;
    let mut columns = Vec::new();
    for threads in THREADS {
        eprintln!("timing {case}, {}", counted(threads, "thread"));
        let figures = interleave(plan, &mut children, (case.access, threads))?;
        columns.push(Column { case, threads, figures });
    }
    children.into_iter().try_for_each(|(_, child)| child.finish())?;
    Ok(columns)
}

/// The engines that can take part, each in its process with all keys.
fn load(case: Case) -> Result<Vec<(Name, Child)>> {
    let Case { kind, limits, keys, width, .. } = case;
    let fits = |name: &Name| name.takes(kind) && (keys <= MANY || *name != Name::Limitador);
    let start = |engine| {
        eprintln!("loading {engine}: {case}");
        let mut child = Child::start(Spec { engine, kind, limits })?;
        child.ask::<1>(Command::Load { keys, width })?;
        Ok((engine, child))
    };
    Name::ALL.iter().copied().filter(fits).map(start).collect()
}

fn interleave(
    plan: &Plan,
    children: &mut [(Name, Child)],
    (access, threads): (Access, u32),
) -> Result<Vec<(Name, Vec<f64>)>> {
    let mut figures: Vec<_> = children.iter().map(|(engine, _)| (*engine, Vec::new())).collect();
    for round in 0..plan.rounds {
        for ((engine, child), (_, taken)) in children.iter_mut().zip(&mut figures) {
            let ops = plan.ops / engine.slowness();
            let run = Run { access, threads, ops, repeats: 1, seed: round.into() };
            let [wall_ns, _] = child.ask(Command::Run(run))?;
            taken.push(wall_ns as f64 / f64::from(ops));
        }
    }
    Ok(figures)
}

fn table(columns: &[Column], threads: u32) -> Table {
    let columns: Vec<&Column> = columns.iter().filter(|column| column.threads == threads).collect();
    let titles = columns.iter().map(|column| column.title());
    let mut table = Table::new("engine", titles);
    for engine in Name::ALL.iter().copied() {
        let cells = columns.iter().map(|column| column.cell(engine));
        table.row(&engine, cells);
    }
    table
}

/// With one key there is nothing to distribute.
fn accesses(keys: u32) -> &'static [Access] {
    if keys == 1 { &[Access::Uniform] } else { Access::ALL }
}

impl Plan {
    /// The limit under which nothing of a case is refused, by how often its keys are asked for in all rounds.
    fn width(&self, keys: u32, access: Access) -> Result<Width> {
        let run =
            |threads, round: u32| Run { access, threads, ops: self.ops, repeats: 1, seed: round.into() };
        let runs =
            THREADS.into_iter().flat_map(|threads| (0..self.rounds).map(move |round| run(threads, round)));
        Setup::unreachable(keys, most_asked(keys, runs)?)
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = counted(self.keys, "key");
        let limits = counted(self.limits, "limit");
        write!(f, "{keys} ({}, {}), {limits} ({})", self.kind, self.access, self.width)
    }
}

impl Column {
    fn title(&self) -> String {
        match self.case.keys {
            1 => format!("one hot key ({})", self.case.width),
            keys => format!("{} keys, {} ({})", short(keys), self.case.access, self.case.width),
        }
    }

    fn cell(&self, engine: Name) -> String {
        let figures = self.of(engine).zip(self.ratios(engine));
        figures.map_or("-".into(), |(taken, ratios)| timing(&Figures::new(taken), &ratios))
    }

    fn of(&self, engine: Name) -> Option<&[f64]> {
        self.figures.iter().find(|(other, _)| *other == engine).map(|(_, taken)| taken.as_slice())
    }

    /// To ours, within each round.
    fn ratios(&self, engine: Name) -> Option<Figures> {
        Some(Figures::ratios(self.of(engine)?, self.of(Name::Tidegate)?))
    }

    /// Keeps what our table is held to.
    fn note(&self, found: &mut Found) {
        let median = |engine| self.ratios(engine).map(|ratios| ratios.median);
        match (self.case, self.threads) {
            (Case { kind: Kind::Text, limits: 1, keys: 1, .. }, 2) => {
                found.note(Figure::GovernorHot, median(Name::Governor));
            }
            (Case { kind: Kind::Text, limits: 1, keys: 10_000_000, access: Access::Uniform, .. }, 1) => {
                found.note(Figure::GovernorUniform, median(Name::Governor));
                found.note(Figure::ThrottlecrabUniform, median(Name::Throttlecrab));
            }
            _ => {}
        }
    }
}

//! Timing: every engine of a case is loaded in a process of its own, then each round asks them in turn.
//!
//! So a slow minute of the machine falls on all of them, no engine's allocator or table is in another's way, and ratios
//! are taken within a round.

use std::fmt;

use anyhow::Result;

use crate::child::Child;
use crate::engines::Name;
use crate::keys::{Access, Kind};
use crate::memory::available_bytes;
use crate::protocol::{Command, Run, Spec};
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

/// What is loaded, and stays loaded while it is asked in every [`Way`].
#[derive(Clone, Copy)]
struct Case {
    kind: Kind,
    limits: u32,
    keys: u32,
}

/// How it is asked.
#[derive(Clone, Copy)]
struct Way {
    access: Access,
    threads: u32,
}

/// One column of a table: the figures of each engine, in nanoseconds per decision and thread, by round.
struct Column {
    case: Case,
    way: Way,
    figures: Vec<(Name, Vec<f64>)>,
}

/// All timing tables.
pub(crate) fn report(plan: &Plan) -> Result<()> {
    println!("## Time per decision\n");
    println!(
        "Nanoseconds per decision and thread: median (quartiles), and the median of the ratios to ours in the same round; \
         {}. With perfect scaling a decision costs the same on 2 threads as on 1.\n",
        counted(plan.rounds, "round")
    );
    for (kind, limits) in [(Kind::Text, 1), (Kind::Number, 1), (Kind::Text, 4), (Kind::Number, 4)] {
        let mut columns = Vec::new();
        for keys in plan.keys.iter().filter(|keys| limits == 1 || **keys <= MANY) {
            columns.extend(measure(plan, Case { kind, limits, keys: *keys })?);
        }
        for threads in [1, 2].into_iter().filter(|_| !columns.is_empty()) {
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
    for way in case.ways() {
        eprintln!("timing {case}, {}, {}", way.access, counted(way.threads, "thread"));
        let figures = interleave(plan, &mut children, way)?;
        columns.push(Column { case, way, figures });
    }
    children.into_iter().try_for_each(|(_, child)| child.finish())?;
    Ok(columns)
}

/// The engines that can take part, each in its process with all keys.
fn load(case: Case) -> Result<Vec<(Name, Child)>> {
    let Case { kind, limits, keys } = case;
    let fits = |name: &Name| name.takes(kind) && (keys <= MANY || *name != Name::Limitador);
    let start = |engine| {
        eprintln!("loading {engine}: {case}");
        let mut child = Child::start(Spec { engine, kind, limits })?;
        child.ask::<1>(Command::Load { keys })?;
        Ok((engine, child))
    };
    Name::ALL.iter().copied().filter(fits).map(start).collect()
}

fn interleave(plan: &Plan, children: &mut [(Name, Child)], way: Way) -> Result<Vec<(Name, Vec<f64>)>> {
    let mut figures: Vec<_> = children.iter().map(|(engine, _)| (*engine, Vec::new())).collect();
    for round in 0..plan.rounds {
        for ((engine, child), (_, taken)) in children.iter_mut().zip(&mut figures) {
            let ops = plan.ops / engine.slowness();
            let run = Run { access: way.access, threads: way.threads, ops, repeats: 1, seed: round.into() };
            let [wall_ns, _] = child.ask(Command::Run(run))?;
            taken.push(wall_ns as f64 / f64::from(ops));
        }
    }
    Ok(figures)
}

fn table(columns: &[Column], threads: u32) -> Table {
    let columns: Vec<&Column> = columns.iter().filter(|column| column.way.threads == threads).collect();
    let titles = columns.iter().map(|column| column.title());
    let mut table = Table::new("engine", titles);
    for engine in Name::ALL.iter().copied() {
        let cells = columns.iter().map(|column| column.cell(engine));
        table.row(&engine, cells);
    }
    table
}

impl Case {
    /// With one key there is nothing to distribute.
    fn ways(self) -> impl Iterator<Item = Way> {
        let accesses =
            if self.keys == 1 { vec![Access::Uniform] } else { vec![Access::Uniform, Access::Zipf] };
        accesses.into_iter().flat_map(|access| [1, 2].map(|threads| Way { access, threads }))
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = counted(self.keys, "key");
        write!(f, "{keys} ({}), {}", self.kind, counted(self.limits, "limit"))
    }
}

impl Column {
    fn title(&self) -> String {
        match self.case.keys {
            1 => "one hot key".to_owned(),
            keys => format!("{} keys, {}", short(keys), self.way.access),
        }
    }

    fn cell(&self, engine: Name) -> String {
        let of = |name| self.figures.iter().find(|(other, _)| *other == name).map(|(_, taken)| taken);
        let timed = of(engine).zip(of(Name::Tidegate));
        timed.map_or("-".into(), |(taken, ours)| timing(&Figures::new(taken), &Figures::ratios(taken, ours)))
    }
}

//! What a check costs the server, algorithm by algorithm.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Result, ensure};
use tidegate_core::{Bounds, Limit, Plan as Charges, Rate, Ticket, Timestamp, Window};
use tidegate_redis::Call;
use tidegate_rig::Server;

use super::calls::{Calls, load_scripts, plan, plan_at};
use super::crowd::runtime;
use super::work::{Work, rounds};
use super::{Plan, node};
use crate::report::{Figures, Table, counted};

/// Whose counters are asked for in turn.
const ENTITIES: usize = 100;

/// How many checks are under way at once, by column, and whether they are joined.
const COLUMNS: [(usize, bool); 3] = [(1, false), (16, false), (64, true)];

const MINUTE: Duration = Duration::from_mins(1);
const HOUR: Duration = Duration::from_hours(1);

/// Out of reach, and small enough for the common form.
const MANY: u64 = 1_000_000;

/// The stamps of a log before anything is measured, and what each of them stands for.
const STAMPS: u32 = 100;
const PER_STAMP: u64 = 10_000;

/// A row of the table.
struct Case {
    about: &'static str,
    limits: Vec<Limit>,
    sort: Sort,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Counter,
    /// Its stamps are there beforehand.
    Log,
    /// What it takes is given back by a second call.
    Slots,
}

pub(super) fn report(plan: &Plan) -> Result<()> {
    println!("### Algorithm by algorithm\n");
    println!(
        "Microseconds of the server's processor per check, by how many are under way: median (quartiles); {}. A dash where checks \
         are not joined: they go through the general script.\n",
        counted(plan.rounds, "round")
    );
    let cases = cases()?;
    let columns = COLUMNS.map(|(depth, joined)| measure(plan, &cases, depth, joined));
    let columns = columns.into_iter().collect::<Result<Vec<_>>>()?;
    let title = |(depth, joined)| format!("{depth} under way{}", if joined { ", joined" } else { "" });
    let mut table = Table::new("check", COLUMNS.map(title));
    for (row, case) in cases.iter().enumerate() {
        let cell = |column: &Vec<Option<Vec<f64>>>| {
            let figures = column[row].as_deref().map(Figures::new);
            let shown = |Figures { low, median, high }| format!("{median:.1} ({low:.1}-{high:.1})");
            figures.map_or("-".to_owned(), shown)
        };
        table.row(&case.about, columns.iter().map(cell));
    }
    println!("{table}");
    Ok(())
}

fn cases() -> Result<Vec<Case>> {
    let per_second = Rate::new(100, Duration::from_secs(1))?;
    let one = |about, limit| Case { about, limits: vec![limit], sort: Sort::Counter };
    Ok(vec![
        one("`gcra`", Limit::gcra(per_second, MANY)?),
        one(
            "`gcra`, 7 a second: no whole number of microseconds",
            Limit::gcra(Rate::new(7, Duration::from_secs(1))?, MANY)?,
        ),
        one("`token_bucket`", Limit::token_bucket(MANY, per_second)?),
        one("`leaky_bucket`", Limit::leaky_bucket(MANY, per_second)?),
        one("`fixed_window`, aligned", Limit::fixed_window(MANY, Window::Aligned(MINUTE))?),
        one("`fixed_window`, from the first hit", Limit::fixed_window(MANY, Window::FirstHit(MINUTE))?),
        one("`fixed_window`, a calendar's", Limit::fixed_window(MANY, Window::Calendar(this_month()?))?),
        one("`sliding_window`", Limit::sliding_window(MANY, MINUTE)?),
        one("`sliding_window` in 6 parts", Limit::sliding_window_in_parts(MANY, MINUTE, 6)?),
        Case {
            about: "`sliding_log` of 100 stamps",
            limits: vec![Limit::sliding_log_with_precision(2 * MANY, HOUR, 2 * MANY / PER_STAMP)?],
            sort: Sort::Log,
        },
        Case {
            about: "`concurrency`: a slot taken, and given back by a second call",
            limits: vec![Limit::concurrency(1_000, MINUTE)?],
            sort: Sort::Slots,
        },
        Case {
            about: "two sliding windows: a minute and an hour",
            limits: vec![Limit::sliding_window(MANY, MINUTE)?, Limit::sliding_window(MANY, HOUR)?],
            sort: Sort::Counter,
        },
    ])
}

/// A window that holds this run.
fn this_month() -> Result<Bounds> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let at = |duration: Duration| -> Result<Timestamp> {
        Ok(Timestamp::from_micros(u64::try_from(duration.as_micros())?))
    };
    Ok(Bounds {
        start: at(now.saturating_sub(HOUR))?,
        end: at(now + 720 * HOUR)?,
        next_end: at(now + 1_440 * HOUR)?,
    })
}

/// The figures of all cases at a depth; `None` of those that are not joined if they should be.
fn measure(options: &Plan, cases: &[Case], depth: usize, joined: bool) -> Result<Vec<Option<Vec<f64>>>> {
    eprintln!("redis: algorithm by algorithm, {depth} under way");
    let (server, runtime) = (Server::start(), runtime()?);
    load_scripts(&server);
    let (maker, store) = (Calls::new(), node::store(&server, &runtime)?);
    let (mut works, mut rows) = (Vec::new(), Vec::new());
    for (number, case) in cases.iter().enumerate() {
        let asked = |check: &Charges| node::asked(&store, &runtime, check);
        let passes = case.load(number, asked)?;
        ensure!(passes, "{} refuses a request under limits out of reach", case.about);
        let calls = case.calls(&maker, number, options.checks)?;
        let joins = calls.iter().all(|call| call.script.joins);
        if joined && !joins {
            rows.push(None);
            continue;
        }
        rows.push(Some(works.len()));
        let work = if joined { Work::joined } else { Work::alone };
        works.push(work(&server, &calls, depth)?.per(options.checks));
    }
    let mut taken = rounds(&server, &mut works, options.rounds)?;
    Ok(rows.into_iter().map(|row| row.map(|row| std::mem::take(&mut taken[row]))).collect())
}

impl Case {
    /// Makes the entities' counters, and the stamps of logs; whether all passed.
    fn load(&self, number: usize, asked: impl Fn(&Charges) -> Result<bool>) -> Result<bool> {
        let mut passes = true;
        for entity in number * ENTITIES..(number + 1) * ENTITIES {
            passes &= asked(&plan(&self.limits, entity)?)?;
            for _ in 1..if self.sort == Sort::Log { STAMPS } else { 1 } {
                passes &= asked(&plan_at(&self.limits, entity, PER_STAMP)?)?;
            }
        }
        Ok(passes)
    }

    fn calls(&self, maker: &Calls, number: usize, checks: usize) -> Result<Vec<Call>> {
        let mut calls = Vec::new();
        for (check, ticket) in (0..checks).zip(1..) {
            let mut plan = plan(&self.limits, number * ENTITIES + check % ENTITIES)?;
            plan.set_ticket(Ticket(ticket));
            calls.push(maker.decide(&plan)?);
            if self.sort == Sort::Slots {
                calls.push(maker.release(&plan)?);
            }
        }
        Ok(calls)
    }
}

//! What a check costs on its whole way: from a request's attributes to a decision, beside the store step that is in it and
//! beside limitador's library with the same single rule.
//!
//! All cases are loaded at once and asked in turn, round by round; ratios are taken within a round.

mod requests;
mod rules;
mod store;
mod subjects;

use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use tidegate_core::Timestamp;

use crate::callgrind;
use crate::report::{Figures, Table, counted, timing};
use crate::words::words;
use crate::{allocations, matching};

/// How many different requests are asked in turn.
const REQUESTS: usize = 64;

/// When the first request comes; each of the others comes a microsecond later.
const START_US: u64 = 1_790_596_800_000_000;

/// How often all requests are asked under callgrind, in the longer of two runs; once in the other.
const COUNTED_REPEATS: u32 = 11;

words! {
    /// What is asked.
    Case {
        /// The plan of the check below, made beforehand.
        StoreStep = "store-step",
        TwoOfThousand = "two-of-1000",
        /// Over a store that allows everything at once.
        TwoOfThousandAlone = "two-of-1000-alone",
        /// The loop, the request and that store, without an engine.
        Nod = "nod",
        OneRule = "one-rule",
        OneRuleAlone = "one-rule-alone",
        Tree = "tree",
        TreeAlone = "tree-alone",
        Limitador = "limitador",
    }
}

impl Case {
    const fn about(self) -> &'static str {
        match self {
            Self::StoreStep => "the store step alone: two charges",
            Self::TwoOfThousand => "two rules of 1 000",
            Self::TwoOfThousandAlone => "two rules of 1 000, without the store",
            Self::Nod => "the bench's own part of the line above",
            Self::OneRule => "one rule",
            Self::OneRuleAlone => "one rule, without the store",
            Self::Tree => "one descriptor of a tree",
            Self::TreeAlone => "one descriptor of a tree, without the store",
            Self::Limitador => "limitador, one rule",
        }
    }

    fn load(self) -> Result<Box<dyn Subject>> {
        Ok(match self {
            Self::StoreStep => Box::new(subjects::Step::new()?),
            Self::TwoOfThousand => Box::new(subjects::two_of_thousand(subjects::reference())?),
            Self::TwoOfThousandAlone => Box::new(subjects::two_of_thousand(store::Nodding)?),
            Self::Nod => Box::new(subjects::Nod::new()?),
            Self::OneRule => Box::new(subjects::one_rule(subjects::reference())?),
            Self::OneRuleAlone => Box::new(subjects::one_rule(store::Nodding)?),
            Self::Tree => Box::new(subjects::tree(subjects::reference())?),
            Self::TreeAlone => Box::new(subjects::tree(store::Nodding)?),
            Self::Limitador => Box::new(subjects::Peer::new()?),
        })
    }
}

/// Something that answers requests by their number.
trait Asked {
    /// Whether that request may pass. A call for each: what is inlined must not differ from one subject to another.
    fn ask(&self, request: usize, now: Timestamp) -> bool;
}

/// The same behind one type; only whole loops are called through it.
trait Subject {
    fn run(&self, start: Timestamp, repeats: u32) -> u64;
    fn warm_up(&self, start: Timestamp) -> u64;
}

impl<A: Asked> Subject for A {
    fn run(&self, start: Timestamp, repeats: u32) -> u64 {
        checking_loop(self, start, repeats)
    }

    fn warm_up(&self, start: Timestamp) -> u64 {
        first_asked(self, start)
    }
}

/// A case at work.
struct Loaded {
    case: Case,
    subject: Box<dyn Subject>,
    now: Timestamp,
    /// How often all requests are asked in a round.
    repeats: u32,
    /// Nanoseconds per request, by round.
    taken: Vec<f64>,
}

/// What was found of one case.
struct Row {
    case: Case,
    taken: Vec<f64>,
    instructions: Option<f64>,
    allocations: f64,
}

/// What a child does whose instructions are counted.
pub(crate) fn serve(case: Case, repeats: u32) -> Result<()> {
    Loaded::new(case)?.run(repeats)
}

pub(crate) fn report(plan: &matching::Plan) -> Result<()> {
    println!("## A check on its whole way\n");
    println!(
        "{REQUESTS} requests in turn, one thread. Nanoseconds per check: median (quartiles), and the median of the ratios to \
         the store step in the same round; {}.\n",
        counted(plan.rounds, "round")
    );
    let mut cases =
        Case::ALL.iter().map(|case| Loaded::paced(*case, plan)).collect::<Result<Vec<Loaded>>>()?;
    for round in 0..plan.rounds {
        eprintln!("checking, round {}", round + 1);
        cases.iter_mut().try_for_each(Loaded::round)?;
    }
    let counts = plan.counts_instructions && callgrind::is_installed();
    let rows = cases.into_iter().map(|case| case.row(counts)).collect::<Result<Vec<Row>>>()?;
    println!("{}\n{}", figures(&rows), bounds(&rows));
    Ok(())
}

impl Loaded {
    fn new(case: Case) -> Result<Self> {
        eprintln!("loading {}", case.about());
        let now = Timestamp::from_micros(START_US);
        let mut loaded = Self { case, subject: case.load()?, now, repeats: 1, taken: Vec::new() };
        // What is made when first used is not counted: the first requests are under another name.
        let refused = loaded.subject.warm_up(now);
        ensure!(refused == 0, "{} refused {refused} requests", case.about());
        loaded.pass(1);
        Ok(loaded)
    }

    fn paced(case: Case, plan: &matching::Plan) -> Result<Self> {
        let mut loaded = Self::new(case)?;
        let began = Instant::now();
        loaded.run(1)?;
        let wanted = Duration::from_millis(plan.milliseconds).as_nanos() / began.elapsed().as_nanos().max(1);
        loaded.repeats = u32::try_from(wanted).unwrap_or(u32::MAX).max(1);
        Ok(loaded)
    }

    fn run(&mut self, repeats: u32) -> Result<()> {
        let refused = self.subject.run(self.now, repeats);
        ensure!(refused == 0, "{} refused {refused} requests under limits out of reach", self.case.about());
        self.pass(repeats);
        Ok(())
    }

    /// Time goes on from one run to the next.
    fn pass(&mut self, repeats: u32) {
        self.now = self.now.plus_us(u64::from(repeats) * REQUESTS as u64);
    }

    fn round(&mut self) -> Result<()> {
        let began = Instant::now();
        self.run(self.repeats)?;
        let asked = f64::from(self.repeats) * REQUESTS as f64;
        self.taken.push(began.elapsed().as_nanos() as f64 / asked);
        Ok(())
    }

    fn row(mut self, counts: bool) -> Result<Row> {
        let before = allocations::count();
        self.run(1)?;
        let allocations = (allocations::count() - before) as f64 / REQUESTS as f64;
        let instructions = if counts { Some(instructions(self.case)?) } else { None };
        Ok(Row { case: self.case, taken: self.taken, instructions, allocations })
    }
}

fn figures(rows: &[Row]) -> Table {
    let step = of(rows, Case::StoreStep).map_or(&[][..], |row| &row.taken);
    let mut table = Table::new("check", ["time", "instructions", "allocations"]);
    for row in rows {
        let cells = [
            timing(&Figures::new(&row.taken), &Figures::ratios(&row.taken, step)),
            row.instructions.map_or("-".to_owned(), |count| format!("{count:.0}")),
            format!("{:.1}", row.allocations),
        ];
        table.row(&row.case.about(), cells);
    }
    table
}

/// What the engine is held to, and what was found.
fn bounds(rows: &[Row]) -> Table {
    let time = |one, other| {
        let (one, other) = (of(rows, one)?, of(rows, other)?);
        Some(Figures::ratios(&one.taken, &other.taken).median)
    };
    let count = |case| of(rows, case)?.instructions;
    let counts = |one, other| Some(count(one)? / count(other)?);
    let (step, whole, alone) = (Case::StoreStep, Case::TwoOfThousand, Case::TwoOfThousandAlone);
    let bounds = [
        ("two rules of 1 000 over the store step, time", "at most 6x", ratio(time(whole, step))),
        ("the same, instructions", "at most 6x", ratio(counts(whole, step))),
        (
            "two rules of 1 000 without the store, less the bench's own part, instructions",
            "at most 2000",
            number(count(alone).zip(count(Case::Nod)).map(|(alone, own)| alone - own)),
        ),
        (
            "limitador over one rule, instructions",
            "at least 5x",
            ratio(counts(Case::Limitador, Case::OneRule)),
        ),
        ("limitador over one rule, time", "-", ratio(time(Case::Limitador, Case::OneRule))),
        (
            "limitador over one descriptor of a tree, instructions",
            "-",
            ratio(counts(Case::Limitador, Case::Tree)),
        ),
    ];
    let mut table = Table::new("figure", ["bound", "found"]);
    for (name, bound, found) in bounds {
        table.row(&name, [bound.to_owned(), found]);
    }
    table
}

fn ratio(found: Option<f64>) -> String {
    found.map_or("-".to_owned(), |ratio| format!("{ratio:.2}x"))
}

fn number(found: Option<f64>) -> String {
    found.map_or("-".to_owned(), |number| format!("{number:.0}"))
}

fn of(rows: &[Row], case: Case) -> Option<&Row> {
    rows.iter().find(|row| row.case == case)
}

/// Per request: two runs that differ in their repeats, subtracted.
fn instructions(case: Case) -> Result<f64> {
    eprintln!("callgrind on {}", case.about());
    let run = |repeats: u32| {
        let words = ["check".to_owned(), case.to_string(), repeats.to_string()];
        callgrind::instructions_within("checking_loop", &words)
    };
    let more = run(COUNTED_REPEATS)?.saturating_sub(run(1)?);
    Ok(more as f64 / (f64::from(COUNTED_REPEATS - 1) * REQUESTS as f64))
}

#[inline(never)]
fn first_asked<A: Asked>(asked: &A, start: Timestamp) -> u64 {
    (0..REQUESTS).zip(0..).filter(|(request, us)| !asked.ask(*request, start.plus_us(*us))).count() as u64
}

/// What is measured. Never inlined, so that callgrind can find it by its name. How many were refused.
#[inline(never)]
fn checking_loop<A: Asked>(asked: &A, start: Timestamp, repeats: u32) -> u64 {
    let (mut now, mut refused) = (start, 0);
    for _ in 0..repeats {
        for request in 0..REQUESTS {
            refused += u64::from(!asked.ask(black_box(request), now));
            now = now.plus_us(1);
        }
    }
    refused
}

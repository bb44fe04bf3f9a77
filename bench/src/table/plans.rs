//! A plan of four limits beside the same four charges one by one: times in interleaved rounds, and instructions.

use std::time::Instant;

use anyhow::{Context, Result, ensure};

use super::Plan;
use super::ways::{Charged, LIMITS, Request, Way};
use crate::bounds::{Figure, Found};
use crate::callgrind;
use crate::keys::{Access, Key as _, sequence};
use crate::report::{Figures, Table, counted, short, shown, timing};

/// Keys per limit that caches hold. Instructions are counted with these.
pub(super) const CACHED_KEYS: u32 = 10_000;

/// Keys per limit that they do not hold.
pub(super) const MANY_KEYS: u32 = 1_000_000;

/// The most requests of a round.
const MOST_OPS: u32 = 200_000;

/// How often the requests are asked under callgrind, in the longer of two runs; once in the other.
const COUNTED_REPEATS: u32 = 5;

/// The figures of each way, in nanoseconds per request, by round.
type Taken = Vec<(Way, Vec<f64>)>;

/// What a child does whose instructions are counted.
pub(crate) fn serve(way: Way, repeats: u32) -> Result<()> {
    let loaded = Loaded::new(way, CACHED_KEYS)?;
    let requests = requests(CACHED_KEYS, CACHED_KEYS, 1)?;
    loaded.warm_up(&requests)?;
    (0..repeats).try_for_each(|_| loaded.run(&requests))
}

pub(super) fn report(plan: &Plan, found: &mut Found) -> Result<()> {
    println!("## A plan of four limits\n");
    println!(
        "Requests that each meet four limits of the narrow size, with a key of its own for each, made beforehand. Nanoseconds \
         per request: median (quartiles), and the median of the ratios to the plan in the same round; {}.\n",
        counted(plan.rounds, "round")
    );
    let times = plan.keys.map(|keys| measure(plan.rounds, keys));
    let times = times.into_iter().collect::<Result<Vec<Taken>>>()?;
    let counts = plan.counts_instructions && callgrind::is_installed();
    let counts: Vec<Option<f64>> = if counts {
        Way::ALL.iter().map(|way| instructions(*way).map(Some)).collect::<Result<_>>()?
    } else {
        vec![None; Way::ALL.len()]
    };
    println!("{}", table(plan, &times, &counts));
    if plan.keys == [CACHED_KEYS, MANY_KEYS] {
        note(&times, &counts, found);
    }
    Ok(())
}

fn table(plan: &Plan, times: &[Taken], counts: &[Option<f64>]) -> Table {
    let titles = plan.keys.iter().map(|keys| format!("{} keys per limit", short(*keys)));
    let mut table = Table::new("way", titles.chain(["instructions".to_owned()]));
    for (way, count) in Way::ALL.iter().zip(counts) {
        let cell = |taken: &Taken| {
            let figures = of(taken, *way).zip(of(taken, Way::Plan));
            figures
                .map_or("-".to_owned(), |(own, plan)| timing(&Figures::new(own), &Figures::ratios(own, plan)))
        };
        let count = shown(*count, |count| format!("{count:.0}"));
        table.row(&way.about(), times.iter().map(cell).chain([count]));
    }
    table
}

/// Keeps what the plan is held to.
fn note(times: &[Taken], counts: &[Option<f64>], found: &mut Found) {
    let figures = [
        (Figure::CachedPlanOverCharges, Figure::CachedPlanOverChecks),
        (Figure::PlanOverCharges, Figure::PlanOverChecks),
    ];
    for (taken, (charges, checks)) in times.iter().zip(figures) {
        let ratio =
            |way| Some(Figures::ratios(of(taken, Way::Plan)?, of(taken, way)?)).map(|ratios| ratios.median);
        found.note(charges, ratio(Way::Charges));
        found.note(checks, ratio(Way::Checks));
    }
    if let [Some(plan), Some(charges), Some(checks)] = *counts {
        found.note(Figure::PlanOverChargesCounted, Some(plan / charges));
        found.note(Figure::PlanOverChecksCounted, Some(plan / checks));
    }
}

fn of(taken: &Taken, way: Way) -> Option<&[f64]> {
    taken.iter().find(|(other, _)| *other == way).map(|(_, taken)| taken.as_slice())
}

fn measure(rounds: u32, keys: u32) -> Result<Taken> {
    let ways = Way::ALL.iter().map(|way| Loaded::new(*way, keys)).collect::<Result<Vec<_>>>()?;
    let mut taken: Taken = Way::ALL.iter().map(|way| (*way, Vec::new())).collect();
    let ops = keys.saturating_mul(2).min(MOST_OPS);
    for round in 0..u64::from(rounds) {
        eprintln!("plans on {} keys per limit, round {}", short(keys), round + 1);
        let (warm_up, timed) = (requests(keys, ops / 2, 2 * round)?, requests(keys, ops, 2 * round + 1)?);
        for (way, (_, taken)) in ways.iter().zip(&mut taken) {
            way.warm_up(&warm_up)?;
            let began = Instant::now();
            way.run(&timed)?;
            taken.push(began.elapsed().as_nanos() as f64 / f64::from(ops));
        }
    }
    Ok(taken)
}

/// A way with all keys of all limits in its store.
struct Loaded {
    way: Way,
    charged: Box<dyn Charged>,
}

impl Loaded {
    fn new(way: Way, keys: u32) -> Result<Self> {
        eprintln!("loading {}: {} keys per limit", way.about(), short(keys));
        let loaded = Self { way, charged: way.make()? };
        for first in (0..keys).step_by(10_000) {
            let indexes: Vec<u32> = (first..keys.min(first + 10_000)).collect();
            loaded.warm_up(&made(&[&indexes[..]; LIMITS])?)?;
        }
        Ok(loaded)
    }

    fn run(&self, requests: &[Request]) -> Result<()> {
        self.passed(self.charged.run(requests))
    }

    fn warm_up(&self, requests: &[Request]) -> Result<()> {
        self.passed(self.charged.warm_up(requests))
    }

    fn passed(&self, refused: u64) -> Result<()> {
        ensure!(
            refused == 0,
            "{} refused {refused} requests under limits out of reach; ask for fewer --rounds",
            self.way.about()
        );
        Ok(())
    }
}

/// So many requests over the keys below `keys`, each limit's key on its own.
fn requests(keys: u32, ops: u32, seed: u64) -> Result<Vec<Request>> {
    let indexes = |limit: u64| sequence(Access::Uniform, keys, ops, seed * LIMITS as u64 + limit);
    let [a, b, c, d] = [indexes(0)?, indexes(1)?, indexes(2)?, indexes(3)?];
    made(&[&a[..], &b[..], &c[..], &d[..]])
}

/// Requests with these keys, by limit.
fn made(indexes: &[&[u32]; LIMITS]) -> Result<Vec<Request>> {
    let mut key = String::fresh();
    let mut made = vec![Request::default(); indexes[0].len()];
    for (limit, indexes) in indexes.iter().enumerate() {
        for (request, index) in made.iter_mut().zip(*indexes) {
            key.set(*index);
            request[limit] = key.as_bytes().try_into().context("keys have 13 bytes")?;
        }
    }
    Ok(made)
}

/// Per request: two runs that differ in their repeats, subtracted.
fn instructions(way: Way) -> Result<f64> {
    eprintln!("callgrind on {}", way.about());
    let run = |repeats: u32| {
        let words = ["plan".to_owned(), way.to_string(), repeats.to_string()];
        callgrind::instructions_within("planning_loop", &words)
    };
    let more = run(COUNTED_REPEATS)?.saturating_sub(run(1)?);
    Ok(more as f64 / f64::from((COUNTED_REPEATS - 1) * CACHED_KEYS))
}

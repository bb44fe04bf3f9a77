//! A server and those who ask it, in turns with others.

use anyhow::Result;
use tokio::runtime::Runtime;

use super::Plan;
use super::load::Crowd;
use super::talk::Talker;
use crate::report::{Figures, Table};
use crate::servers::Process;

pub(super) struct Target<'a, T> {
    pub(super) name: &'static str,
    process: &'a Process,
    crowd: Crowd<T>,
    asked: usize,
    /// Microseconds of the server per check, of each round.
    pub(super) used: Vec<f64>,
    /// Checks per second, of each round.
    pub(super) rates: Vec<f64>,
}

impl<'a, T: Talker> Target<'a, T> {
    pub(super) fn new(name: &'static str, process: &'a Process, talkers: Vec<T>) -> Self {
        let crowd = Crowd::new(talkers);
        Self { name, process, crowd, asked: 0, used: Vec::new(), rates: Vec::new() }
    }

    fn round(&mut self, runtime: &Runtime, checks: usize, together: usize) -> Result<(f64, f64)> {
        let (before, range) = (self.process.used()?, self.asked..self.asked + checks);
        self.asked += checks;
        let times = runtime.block_on(self.crowd.ask(range, together))?;
        Ok(((self.process.used()? - before) / checks as f64, times.rate()))
    }
}

/// Asks all in turn, round by round. The first round warms up and does not count.
pub(super) fn measure<T: Talker>(
    plan: &Plan,
    runtime: &Runtime,
    targets: &mut [Target<'_, T>],
    together: usize,
) -> Result<()> {
    for target in &mut *targets {
        eprintln!("doors: {} warms up", target.name);
        target.round(runtime, plan.warm_up, together)?;
    }
    for round in 1..=plan.rounds {
        eprintln!("doors: round {round} of {}", plan.rounds);
        for target in &mut *targets {
            let (used, rate) = target.round(runtime, plan.checks, together)?;
            target.used.push(used);
            target.rates.push(rate);
        }
    }
    Ok(())
}

/// `11.2 (11.0-11.5) 0.62x`: the ratio is to the first.
pub(super) fn cells<T>(targets: &[Target<'_, T>]) -> Vec<String> {
    let first = &targets[0].used;
    let cell = |target: &Target<'_, T>| {
        let (own, ratios) = (Figures::new(&target.used), Figures::ratios(&target.used, first));
        format!("{:.1} ({:.1}-{:.1}) {:.2}x", own.median, own.low, own.high, ratios.median)
    };
    targets.iter().map(cell).collect()
}

/// How much the first one takes of what another does.
pub(super) fn over<T>(targets: &[Target<'_, T>], name: &str) -> Option<f64> {
    let other = targets.iter().find(|target| target.name == name)?;
    Some(Figures::ratios(&targets[0].used, &other.used).median)
}

/// A table with a row for each target and the cells of each case in a column.
pub(super) fn table<T>(targets: &[Target<'_, T>], columns: &[(String, Vec<String>)]) -> Table {
    let mut table = Table::new("", columns.iter().map(|(name, _)| name));
    for (index, target) in targets.iter().enumerate() {
        table.row(&target.name, columns.iter().map(|(_, cells)| cells[index].clone()));
    }
    table
}

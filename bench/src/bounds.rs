//! What the table behind the memory store is held to, and what was found of it by the parts of this run.

use crate::report::{Table, shown};

/// Something that is held to a bound, or stands beside one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Figure {
    Instructions,
    InstructionsWithKey,
    GovernorUniform,
    ThrottlecrabUniform,
    GovernorHot,
    Misses,
    PlanOverCharges,
    PlanOverChecks,
    CachedPlanOverCharges,
    CachedPlanOverChecks,
    PlanOverChargesCounted,
    PlanOverChecksCounted,
    BytesOnAverage,
    BytesAtWorst,
    GigabytesInAll,
    WorstDecision,
    WorstWithoutWaiting,
    Allocations,
}

/// All of them: what it is, its bound, and what stands behind the number and in how many digits.
const FIGURES: [(Figure, &str, &str, (usize, &str)); 18] = [
    (
        Figure::Instructions,
        "instructions over governor's, string key, the making of the key taken off",
        "at most 0.5x",
        (2, "x"),
    ),
    (Figure::InstructionsWithKey, "the same with the making of the key", "-", (2, "x")),
    (Figure::GovernorUniform, "governor's time over ours, 10M string keys, uniform", "at least 3x", (2, "x")),
    (Figure::ThrottlecrabUniform, "throttlecrab's time over ours, the same", "at least 4x", (2, "x")),
    (Figure::GovernorHot, "governor's time over ours, one hot key, 2 threads", "at least 3x", (2, "x")),
    (Figure::Misses, "last-level misses per decision, 10M string keys", "at most 1.3", (2, "")),
    (
        Figure::PlanOverCharges,
        "plan of 4 over four charges in one call, time, 1M keys per limit",
        "at most 1.4x",
        (2, "x"),
    ),
    (Figure::PlanOverChecks, "plan of 4 over four `check` calls, the same", "at most 0.8x", (2, "x")),
    (
        Figure::CachedPlanOverCharges,
        "plan of 4 over four charges in one call, time, 10k keys per limit",
        "at most 1.4x",
        (2, "x"),
    ),
    (Figure::CachedPlanOverChecks, "plan of 4 over four `check` calls, the same", "at most 0.8x", (2, "x")),
    (
        Figure::PlanOverChargesCounted,
        "plan of 4 over four charges in one call, instructions",
        "at most 1.4x",
        (2, "x"),
    ),
    (
        Figure::PlanOverChecksCounted,
        "plan of 4 over four `check` calls, instructions",
        "at most 0.8x",
        (2, "x"),
    ),
    (Figure::BytesOnAverage, "bytes per key, averaged over 10M to 100M keys", "at most 24", (1, "")),
    (Figure::BytesAtWorst, "bytes per key, at the worst of these sizes", "at most 27", (1, "")),
    (Figure::GigabytesInAll, "100M keys loaded", "at most 2.5 GB", (2, " GB")),
    (
        Figure::WorstDecision,
        "worst single decision while growing to 100M keys",
        "below 1 ms on an idle core",
        (3, " ms"),
    ),
    (
        Figure::WorstWithoutWaiting,
        "the same without the time that it waited for a core",
        "below 1 ms",
        (3, " ms"),
    ),
    (Figure::Allocations, "heap allocations per decision, steady state", "0", (2, "")),
];

/// What was found so far.
#[derive(Debug, Default)]
pub(crate) struct Found(Vec<(Figure, f64)>);

impl Found {
    /// Remembers a figure, if there is one.
    pub(crate) fn note(&mut self, figure: Figure, value: Option<f64>) {
        self.0.extend(value.map(|value| (figure, value)));
    }

    fn of(&self, figure: Figure) -> Option<f64> {
        self.0.iter().find(|(other, _)| *other == figure).map(|(_, value)| *value)
    }

    /// The list of bounds, unless there is nothing to hold against them. A bound that is missed does not end the run.
    pub(crate) fn report(&self) {
        if self.0.is_empty() {
            return;
        }
        println!("## What the table is held to\n");
        println!("A dash where the part that finds it was not run, or not with as many keys.\n");
        let mut table = Table::new("figure", ["bound", "found"]);
        for (figure, about, bound, (digits, unit)) in FIGURES {
            let found = shown(self.of(figure), |value| format!("{value:.digits$}{unit}"));
            table.row(&about, [bound.to_owned(), found]);
        }
        println!("{table}");
    }
}

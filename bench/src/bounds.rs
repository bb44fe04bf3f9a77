//! What the table behind the memory store, the store in Redis and the doors are held to, and what was found by the parts of this run.

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
    /// A check of four limits over as many counting commands in one pipeline, with so many requests under way.
    OverPipeline {
        depth: usize,
        joined: bool,
    },
    /// The same over those commands to four slots.
    OverSlots {
        depth: usize,
        joined: bool,
    },
    NodeOverPlain,
    NodeOverBare,
    RedisBytesOfOne,
    RedisBytesOfFour,
    OverLimitador {
        limits: usize,
    },
    OverRatelimit {
        limits: usize,
    },
    GrpcOverEmpty,
    GrpcOverEmptyByDefault,
    GrpcOverThrottlecrab,
    GrpcOverLimitador,
    GrpcOverLimitadorLibrary,
    GrpcOverRatelimit,
    FourDescriptors,
    HttpOverThrottlecrab,
    RespOverThrottlecrab,
    PipelinedOverThrottlecrab,
    GrpcLatency,
    HttpLatency,
    RespLatency,
    CoresUneven,
}

/// What it is, its bound, and what stands behind the number and in how many digits.
type Row = (Figure, &'static str, &'static str, (usize, &'static str));

/// Of the table.
const TABLE: [Row; 18] = [
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

/// Of the store in Redis.
const REDIS: [Row; 18] = [
    (
        Figure::OverPipeline { depth: 1, joined: false },
        "Redis CPU of a check of 4 limits over 4 x (INCRBY + EXPIRE) in one pipeline, 1 under way, alone",
        "at most 1.5x",
        (2, "x"),
    ),
    (
        Figure::OverPipeline { depth: 16, joined: false },
        "the same, 16 under way, alone",
        "at most 1.5x",
        (2, "x"),
    ),
    (
        Figure::OverPipeline { depth: 16, joined: true },
        "the same, 16 under way, joined",
        "at most 1.5x",
        (2, "x"),
    ),
    (
        Figure::OverPipeline { depth: 64, joined: false },
        "the same, 64 under way, alone",
        "at most 1.5x",
        (2, "x"),
    ),
    (
        Figure::OverPipeline { depth: 64, joined: true },
        "the same, 64 under way, joined",
        "at most 1.5x",
        (2, "x"),
    ),
    (
        Figure::OverSlots { depth: 1, joined: false },
        "the same over these commands to 4 slots over 4 connections, 1 under way, alone",
        "below 1x",
        (2, "x"),
    ),
    (Figure::OverSlots { depth: 16, joined: false }, "the same, 16 under way, alone", "below 1x", (2, "x")),
    (Figure::OverSlots { depth: 16, joined: true }, "the same, 16 under way, joined", "below 1x", (2, "x")),
    (Figure::OverSlots { depth: 64, joined: false }, "the same, 64 under way, alone", "below 1x", (2, "x")),
    (Figure::OverSlots { depth: 64, joined: true }, "the same, 64 under way, joined", "below 1x", (2, "x")),
    (
        Figure::NodeOverPlain,
        "node CPU per check over the plain `redis` crate calling one script, 128 under way",
        "at most 1.2x",
        (2, "x"),
    ),
    (Figure::NodeOverBare, "the same over a bare call that was made beforehand", "-", (2, "x")),
    (
        Figure::RedisBytesOfOne,
        "Redis bytes per counter, GCRA, 1M entities with 1 limit",
        "at most 170",
        (1, ""),
    ),
    (Figure::RedisBytesOfFour, "the same with 4 limits", "at most 60", (1, "")),
    (
        Figure::OverLimitador { limits: 1 },
        "node and Redis CPU per decision over limitador's, 1 limit",
        "at most 0.5x",
        (2, "x"),
    ),
    (Figure::OverLimitador { limits: 4 }, "the same, 4 limits", "at most 0.5x", (2, "x")),
    (
        Figure::OverRatelimit { limits: 1 },
        "service and Redis CPU per request over envoyproxy/ratelimit's, 1 descriptor",
        "at most 0.5x",
        (2, "x"),
    ),
    (Figure::OverRatelimit { limits: 4 }, "the same, 4 descriptors", "at most 0.5x", (2, "x")),
];

/// Of the doors.
const DOORS: [Row; 14] = [
    (
        Figure::GrpcOverEmpty,
        "server CPU per decision over gRPC, 1 descriptor, 8 connections, over an empty service on our layout",
        "at most 1.25x",
        (2, "x"),
    ),
    (
        Figure::GrpcOverEmptyByDefault,
        "the same over an empty service on tokio's default",
        "at most 0.75x",
        (2, "x"),
    ),
    (Figure::GrpcOverThrottlecrab, "the same over throttlecrab", "at most 0.8x", (2, "x")),
    (Figure::GrpcOverLimitador, "the same over limitador", "at most 0.5x", (2, "x")),
    (
        Figure::GrpcOverLimitadorLibrary,
        "the same over limitador's library behind an empty service",
        "-",
        (2, "x"),
    ),
    (Figure::GrpcOverRatelimit, "the same over envoyproxy/ratelimit", "at most 0.15x", (2, "x")),
    (Figure::FourDescriptors, "4 descriptors over 1", "at most 1.3x", (2, "x")),
    (Figure::HttpOverThrottlecrab, "HTTP over throttlecrab, 128 connections", "at most 1.15x", (2, "x")),
    (
        Figure::RespOverThrottlecrab,
        "the Redis protocol over throttlecrab, 128 connections, one command at a time",
        "at most 0.8x",
        (2, "x"),
    ),
    (Figure::PipelinedOverThrottlecrab, "the same, 16 commands at once", "at most 0.35x", (2, "x")),
    (
        Figure::GrpcLatency,
        "99 of 100 answered within, half of the capacity, while no core stood still, gRPC",
        "below 1 ms",
        (3, " ms"),
    ),
    (Figure::HttpLatency, "the same over HTTP", "below 1 ms", (3, " ms")),
    (Figure::RespLatency, "the same over the Redis protocol", "below 1 ms", (3, " ms")),
    (
        Figure::CoresUneven,
        "the core that works most over the one that works least, 64 connections",
        "at most 1.3x",
        (2, "x"),
    ),
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

    /// The lists of bounds, unless there is nothing to hold against them. A bound that is missed does not end the run.
    pub(crate) fn report(&self) {
        self.list("What the table is held to", &TABLE);
        self.list("What the store in Redis is held to", &REDIS);
        self.list("What doors are held to", &DOORS);
    }

    fn list(&self, title: &str, rows: &[Row]) {
        if rows.iter().all(|(figure, ..)| self.of(*figure).is_none()) {
            return;
        }
        println!("## {title}\n");
        println!("A dash where the part that finds it was not run, or not with as many keys.\n");
        let mut table = Table::new("figure", ["bound", "found"]);
        for (figure, about, bound, (digits, unit)) in rows {
            let found = shown(self.of(*figure), |value| format!("{value:.digits$}{unit}"));
            table.row(about, [(*bound).to_owned(), found]);
        }
        println!("{table}");
    }
}

//! What is counted of a store that several nodes share: its servers, and how this node does without them.

use tidegate_core::breaker::Circuit;
use tidegate_redis::client::ShardReport;
use tidegate_redis::{Client, Fault};

use super::{Kind, Text};
use crate::stack::Shared;
use crate::together::News;

pub(super) fn write(text: &mut Text, shared: &Shared, news: Option<&News>) {
    let shards: Vec<ShardReport> = shared.inner().caller().all().flat_map(Client::report).collect();
    calls(text, &shards);
    circuits(text, &shards);
    availability(text, shared);
    local(text, shared);
    if let Some(news) = news {
        nodes(text, news);
    }
}

fn calls(text: &mut Text, shards: &[ShardReport]) {
    text.family(
        "ratelimit_redis_calls_total",
        Kind::Counter,
        "Calls of Redis, by whether the answer came in time.",
    );
    for shard in shards {
        let name = shard.shard.as_str();
        text.value(&[("shard", name), ("result", "in_time")], shard.in_time);
        text.value(&[("shard", name), ("result", "late")], shard.late);
        let late = Fault::TimedOut.kind();
        let others: u64 =
            shard.errors.iter().filter(|(kind, _)| **kind != late).map(|(_, count)| count).sum();
        text.value(&[("shard", name), ("result", "failed")], others);
    }
    text.family(
        "ratelimit_redis_errors_total",
        Kind::Counter,
        "Calls of Redis that came to nothing, by kind.",
    );
    for shard in shards {
        for (kind, count) in &shard.errors {
            text.value(&[("shard", &shard.shard), ("kind", kind)], count);
        }
    }
    text.family("ratelimit_redis_in_flight", Kind::Gauge, "Calls of Redis that are under way.");
    for shard in shards {
        text.value(&[("shard", &shard.shard)], shard.in_flight);
    }
}

fn circuits(text: &mut Text, shards: &[ShardReport]) {
    let help = "1 for the state that a server's circuit is in: closed, open or half_open.";
    text.family("ratelimit_circuit_state", Kind::Gauge, help);
    for shard in shards {
        for state in Circuit::ALL {
            let is_so = u8::from(shard.circuit == Some(state));
            text.value(&[("shard", &shard.shard), ("state", state.name())], is_so);
        }
    }
    text.family(
        "ratelimit_circuit_transitions_total",
        Kind::Counter,
        "How often a circuit changed to a state.",
    );
    for shard in shards {
        for (state, count) in &shard.transitions {
            text.value(&[("shard", &shard.shard), ("state", state.name())], count);
        }
    }
}

fn availability(text: &mut Text, shared: &Shared) {
    let came = shared.availability();
    let help = "Checks that the store was to decide, by what came of it: in_time, why it had no answer, or owing if it was not asked. \
                in_time over all of them is the availability.";
    text.family("ratelimit_store_answers_total", Kind::Counter, help);
    text.value(&[("result", "in_time")], came.in_time);
    text.value(&[("result", "owing")], came.owing);
    for (kind, count) in &came.failed {
        text.value(&[("result", kind)], count);
    }
}

fn local(text: &mut Text, shared: &Shared) {
    let standing = shared.standing();
    let counters = [
        ("ratelimit_local_decisions_total", "Plans that this node decided alone.", standing.local),
        ("ratelimit_debts_lost_total", "Debts to the store that found no room.", standing.lost),
        (
            "ratelimit_debts_paid_units_total",
            "Units admitted alone that were charged later.",
            standing.paid_back,
        ),
    ];
    for (name, help, count) in counters {
        text.family(name, Kind::Counter, help).value(&[], count);
    }
    text.family("ratelimit_debts", Kind::Gauge, "Counters that owe something to the store.")
        .value(&[], standing.owing);
    let help = "Counters that a server has lost and was not told again yet.";
    text.family("ratelimit_counters_untold", Kind::Gauge, help).value(&[], standing.untold);
}

fn nodes(text: &mut Text, news: &News) {
    text.family("ratelimit_nodes", Kind::Gauge, "Nodes that count together.").value(&[], news.members.len());
    text.family(
        "ratelimit_store_losses_total",
        Kind::Counter,
        "How often a server of the store was found to have lost its counters.",
    )
    .value(&[], news.losses);
}

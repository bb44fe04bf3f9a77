//! What is counted of checks, and of what they need: rules, the store, doors.

use std::sync::Arc;

use tidegate_control::reload::FileState;
use tidegate_engine::observe::{Came, DURATION_BUCKETS_NS, Observed, RuleCounts};
use tidegate_engine::unknown::OTHER_DOMAINS;

use tidegate_frontend::door::Door;
use tidegate_rules::rule::Mode;

use super::busiest::{Line, OTHER, Row};
use super::text::seconds;
use super::{Kind, MOST_RULES, Metrics, Text};

pub(super) fn write(text: &mut Text, metrics: &Metrics) {
    decisions(text, metrics);
    throttles(text, metrics);
    durations(text, metrics);
    troubles(text, metrics);
    unknown_domains(text, metrics);
    failed_open(text, metrics);
    store(text, metrics);
    rules(text, metrics);
}

fn decisions(text: &mut Text, metrics: &Metrics) {
    let (all, gone) = counted(metrics.engine.observed());
    let lines = metrics.busiest.lines(all, gone, MOST_RULES);
    let help =
        "Decisions by domain, rule and what came of the rule; beyond the busiest rules they are added up.";
    text.family("ratelimit_decisions_total", Kind::Counter, help);
    for Line { domain, rule, counts } in &lines {
        for (came, count) in Came::ALL.iter().zip(counts) {
            let labels = [("domain", &**domain), ("rule", rule), ("outcome", came.word())];
            text.value(&labels, count);
        }
    }
    text.family("ratelimit_denied_total", Kind::Counter, "Checks that the rule refused.");
    for Line { domain, rule, counts } in &lines {
        text.value(&[("domain", domain), ("rule", rule)], counts[Came::Denied as usize]);
    }
    let notes = [
        (
            "ratelimit_rule_key_absent_total",
            "Checks that match the rule and lack what it counts by, so that it did not limit them.",
            KEY_ABSENT,
        ),
        (
            "ratelimit_rule_unreadable_costs_total",
            "Checks whose cost could not be read, so that they were charged the rule's default.",
            UNREADABLE_COST,
        ),
    ];
    for (name, help, note) in notes {
        text.family(name, Kind::Counter, help);
        for Line { domain, rule, counts } in &lines {
            text.value(&[("domain", domain), ("rule", rule)], counts[note]);
        }
    }
}

/// The counts of the rules in force, and of all that are gone together, as they were at one moment: a rule that goes in
/// between would be in both or in neither, and then they are read again.
fn counted(observed: &Observed) -> (Vec<Line>, Row) {
    let gone = || row(observed.gone());
    let line = |(domain, rule, counts): (_, _, Arc<RuleCounts>)| Line { domain, rule, counts: row(&counts) };
    let mut before = gone();
    loop {
        let lines = observed.rules().into_iter().map(line).collect();
        let after = gone();
        if after == before {
            return (lines, after);
        }
        before = after;
    }
}

/// The places of what is no outcome.
const KEY_ABSENT: usize = Came::ALL.len();
const UNREADABLE_COST: usize = KEY_ABSENT + 1;

fn row(counts: &RuleCounts) -> Row {
    let mut row = Row::default();
    for (place, came) in Came::ALL.into_iter().enumerate() {
        row[place] = counts.get(came);
    }
    row[KEY_ABSENT] = counts.key_absent();
    row[UNREADABLE_COST] = counts.unreadable_cost();
    row
}

fn throttles(text: &mut Text, metrics: &Metrics) {
    let (allowed, denied) = metrics.engine.observed().throttles();
    let help = "Decisions about limits that callers brought along (CL.THROTTLE, THROTTLE).";
    text.family("ratelimit_throttles_total", Kind::Counter, help)
        .value(&[("outcome", Came::Allowed.word())], allowed)
        .value(&[("outcome", Came::Denied.word())], denied);
}

fn durations(text: &mut Text, metrics: &Metrics) {
    let observed = metrics.engine.observed();
    let help = "How long a decision took, from the parsed question to the answer.";
    text.family("ratelimit_check_duration_seconds", Kind::Histogram, help);
    let mut total = 0;
    let ends = DURATION_BUCKETS_NS.iter().map(|end| seconds(*end)).chain(["+Inf".to_owned()]);
    for (count, end) in observed.durations().iter().zip(ends) {
        total += count;
        text.sample("_bucket", &[("le", &end)], total);
    }
    let sum = u64::try_from(observed.duration_sum().as_nanos()).unwrap_or(u64::MAX);
    text.sample("_sum", &[], seconds(sum)).sample("_count", &[], total);
}

fn troubles(text: &mut Text, metrics: &Metrics) {
    let (engine, observed) = (&metrics.engine, metrics.engine.observed());
    let in_doors: u64 =
        metrics.doors.iter().map(|door| door.counts.panics.load(super::process::RELAXED)).sum();
    let at_doors: u64 = metrics.doors.iter().filter_map(|one| one.door.as_ref()).map(Door::malformed).sum();
    let counters = [
        (
            "ratelimit_malformed_total",
            "Checks that could not be asked, and bodies that hold none.",
            observed.malformed_checks() + at_doors,
        ),
        ("ratelimit_undecided_total", "Checks that nobody could decide.", observed.undecided_checks()),
        (
            "ratelimit_abandoned_total",
            "Checks whose caller was gone before the store answered.",
            observed.abandoned_checks(),
        ),
        (
            "ratelimit_unknown_domains_total",
            "Checks of domains that the rules do not have.",
            observed.unknown_domain_checks(),
        ),
        (
            "ratelimit_panics_contained_total",
            "Panics that became a decision or an answer.",
            observed.panics() + in_doors,
        ),
        (
            "ratelimit_holds_forgotten_total",
            "Decisions that hold something and could not be remembered; it ends by itself.",
            observed.not_kept_holds(),
        ),
    ];
    for (name, help, count) in counters {
        text.family(name, Kind::Counter, help).value(&[], count);
    }
    text.family("ratelimit_held", Kind::Gauge, "Decisions that hold slots or reservations.")
        .value(&[], engine.held());
}

/// Domains that the rules do not have, by name within a bound.
fn unknown_domains(text: &mut Text, metrics: &Metrics) {
    let unknown = metrics.engine.observed().unknown_names();
    let help =
        "Questions about domains that the rules do not have, by name; further names are summed as `other`.";
    text.family("ratelimit_unknown_domain_total", Kind::Counter, help);
    for (domain, count) in unknown.named() {
        text.value(&[("domain", &domain)], count);
    }
    text.value(&[("domain", OTHER_DOMAINS)], unknown.others());
}

/// What passed without a count, and what was too much of that.
fn failed_open(text: &mut Text, metrics: &Metrics) {
    let observed = metrics.engine.observed();
    let help =
        "Checks that nobody could decide and that were let pass, by the class that had the say and why.";
    text.family("ratelimit_failopen_total", Kind::Counter, help);
    for (class, reason, count) in observed.failed_open() {
        text.value(&[("class", class.word()), ("reason", reason)], count);
    }
    let help = "Checks that nobody could decide and that were shed because more came than the last resort lets pass.";
    text.family("ratelimit_last_resort_sheds_total", Kind::Counter, help)
        .value(&[], observed.last_resort_sheds());
}

fn store(text: &mut Text, metrics: &Metrics) {
    let usage = metrics.engine.store().memory().usage();
    text.family("ratelimit_store_keys", Kind::Gauge, "Counters in the store.").value(&[], usage.counters);
    text.family("ratelimit_store_bytes", Kind::Gauge, "Memory that the store holds.").value(&[], usage.bytes);
    text.family("ratelimit_store_reservations", Kind::Gauge, "Open reservations.")
        .value(&[], usage.reservations);
    text.family("ratelimit_store_idempotency_keys", Kind::Gauge, "Admissions that are remembered by name.")
        .value(&[], usage.admissions);
    let help = "Counters and admissions forgotten while they still counted, to keep the bound on memory.";
    text.family("ratelimit_store_evictions_total", Kind::Counter, help).value(&[], usage.evicted);
    evictions(text, metrics);
}

/// The rules that lost counters, most first; beyond a number of them, and for rules that are gone, they are added up.
fn evictions(text: &mut Text, metrics: &Metrics) {
    let mut evicted = metrics.engine.store().memory().evictions();
    let snapshot = metrics.engine.snapshot();
    let rules = snapshot.domains().flat_map(|domain| domain.rules.iter().map(move |rule| (domain, rule)));
    let mut lines: Vec<_> = rules
        .filter_map(|(domain, rule)| {
            let count = evicted.remove(&rule.home.share).filter(|count| *count > 0)?;
            Some((count, &*domain.name, &*rule.name))
        })
        .collect();
    lines.sort_unstable_by(|one, other| other.cmp(one));
    let further: u64 = lines.iter().skip(MOST_RULES).map(|(count, ..)| count).sum();
    let help = "Counters of a rule forgotten while they still counted; beyond those that lost most they are added up.";
    text.family("ratelimit_rule_evictions_total", Kind::Counter, help);
    for (count, domain, rule) in lines.iter().take(MOST_RULES) {
        text.value(&[("domain", domain), ("rule", rule)], count);
    }
    text.value(&[("domain", OTHER), ("rule", OTHER)], further + evicted.values().sum::<u64>());
}

fn rules(text: &mut Text, metrics: &Metrics) {
    let status = metrics.status.rules();
    text.family("ratelimit_snapshot_version", Kind::Gauge, "The version of the rules in force.")
        .value(&[], status.version);
    text.family("ratelimit_rules", Kind::Gauge, "Rules in force.")
        .value(&[], metrics.engine.snapshot().rules());
    switches(text, metrics);
    text.family("ratelimit_rule_files", Kind::Gauge, "Rule files by what is in force of them.");
    for state in FileState::ALL {
        text.value(&[("state", state.word())], status.count(state));
    }
    text.family("ratelimit_reloads_total", Kind::Counter, "Readings of the rules by what came of them.");
    for (result, count) in status.counts {
        text.value(&[("result", result)], count);
    }
    let help = "When all rule files were last in force as they were written.";
    text.family("ratelimit_reload_last_success_timestamp_seconds", Kind::Gauge, help)
        .value(&[], seconds(status.succeeded_at.as_micros().saturating_mul(1000)));
}

/// Modes that are set over what the files say, and the rules that they are set for.
fn switches(text: &mut Text, metrics: &Metrics) {
    let snapshot = metrics.engine.snapshot();
    let rules = || snapshot.domains().flat_map(|domain| &domain.rules);
    let switched = |mode| rules().filter(|rule| rule.switched_from.is_some() && rule.mode == mode).count();
    let help = "Rules whose mode is set by a switch, by that mode.";
    text.family("ratelimit_switched_rules", Kind::Gauge, help);
    for mode in [Mode::Off, Mode::Shadow, Mode::Enforce] {
        text.value(&[("mode", mode.word())], switched(mode));
    }
    text.family("ratelimit_switches", Kind::Gauge, "Switches that are set, also for rules that are gone.")
        .value(&[], metrics.status.switches().len());
}

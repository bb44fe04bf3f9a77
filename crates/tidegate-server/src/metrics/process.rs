//! What is counted of doors and of the process.

use std::sync::atomic::Ordering;

use tidegate_frontend::door::Door;

use super::text::seconds;
use super::{Kind, Measured, Metrics, Text};

/// Counts are read as they are.
pub(super) const RELAXED: Ordering = Ordering::Relaxed;

pub(super) fn write(text: &mut Text, metrics: &Metrics) {
    ways(text, metrics);
    claims(text, metrics);
    ignored_peers(text, metrics);
    connections(text, metrics);
    strangers(text, metrics);
    cores(text, metrics);
    clock(text, metrics);
    text.family("ratelimit_build_info", Kind::Gauge, "The version of the program; always 1.")
        .value(&[("version", env!("CARGO_PKG_VERSION"))], 1);
    text.family("process_start_time_seconds", Kind::Gauge, "When the process started.")
        .value(&[], seconds(metrics.started.as_micros().saturating_mul(1000)));
}

fn ways(text: &mut Text, metrics: &Metrics) {
    let doors = || metrics.doors.iter().filter_map(|one| Some((one.name, one.door.as_ref()?)));
    text.family("ratelimit_in_flight", Kind::Gauge, "Checks that wait for the store.");
    for (name, door) in doors() {
        text.value(&[("door", name)], door.in_flight());
    }
    let help = "Checks that came when too many were under way and were answered by class.";
    text.family("ratelimit_overloads_total", Kind::Counter, help);
    for (name, door) in doors() {
        text.value(&[("door", name)], door.overloads());
    }
    text.family(
        "ratelimit_body_bytes",
        Kind::Gauge,
        "Bytes of long bodies, heads and answers that are held, beyond what is free of each.",
    );
    for (name, door) in doors() {
        text.value(&[("door", name)], door.body_bytes());
    }
    let help = "Long bodies, heads and answers that found no room.";
    text.family("ratelimit_bodies_refused_total", Kind::Counter, help);
    for (name, door) in doors() {
        text.value(&[("door", name)], door.bodies_refused());
    }
}

/// What was claimed by callers whose word does not count. Forward-auth is a door of its own here.
fn claims(text: &mut Text, metrics: &Metrics) {
    let help = "Attributes that were stated by callers who are not trusted to, and left out.";
    text.family("ratelimit_untrusted_claims_total", Kind::Counter, help);
    for Measured { name, door, .. } in &metrics.doors {
        let Some(settings) = door.as_ref().map(Door::settings) else { continue };
        let forwarded = (*name == "http").then_some(("authorize", &settings.forward_trust));
        for (door, trust) in [(*name, &settings.trust)].into_iter().chain(forwarded) {
            for (attribute, count) in trust.ignored() {
                text.value(&[("door", door), ("attribute", attribute)], count);
            }
        }
    }
}

/// Peers of forward-auth whose claims were left out.
fn ignored_peers(text: &mut Text, metrics: &Metrics) {
    let help = "Peers of forward-auth that are not trusted and told of a request; at most 20 are remembered.";
    text.family("ratelimit_untrusted_peers", Kind::Gauge, help);
    let http = metrics.doors.iter().find(|one| one.name == "http").and_then(|one| one.door.as_ref());
    if let Some(door) = http {
        let count = door.settings().forward_trust.ignored_peers().len();
        text.value(&[("door", "authorize")], count);
    }
}

/// Who was turned away, and at what.
fn strangers(text: &mut Text, metrics: &Metrics) {
    let help = "Callers that were turned away: encrypted connections that came to nothing, tokens and passwords that were wrong.";
    text.family("ratelimit_callers_refused_total", Kind::Counter, help);
    for Measured { name, counts, .. } in &metrics.doors {
        for (reason, count) in [("handshake", &counts.failed_handshakes), ("secret", &counts.unauthorized)] {
            text.value(&[("door", name), ("reason", reason)], count.load(RELAXED));
        }
    }
}

/// How well the server's time follows the wall clock.
fn clock(text: &mut Text, metrics: &Metrics) {
    let help = "Steps of the wall clock that the server's time followed at once.";
    text.family("ratelimit_clock_steps_total", Kind::Counter, help);
    for (direction, count) in metrics.clock.steps() {
        text.value(&[("direction", direction)], count);
    }
    let help = "How far the wall clock was ahead of the server's time at the last look; it is slewed.";
    let difference_us = metrics.clock.difference_us();
    let sign = if difference_us < 0 { "-" } else { "" };
    let difference = seconds(difference_us.unsigned_abs().saturating_mul(1000));
    text.family("ratelimit_clock_difference_seconds", Kind::Gauge, help)
        .value(&[], format_args!("{sign}{difference}"));
}

fn cores(text: &mut Text, metrics: &Metrics) {
    text.family(
        "ratelimit_core_connections",
        Kind::Gauge,
        "Open connections of all doors but admin, by core.",
    );
    for (number, connections) in metrics.cores.connections().enumerate() {
        text.value(&[("core", &number.to_string())], connections);
    }
}

type Read = fn(&Measured) -> u64;

fn connections(text: &mut Text, metrics: &Metrics) {
    let families: [(&'static str, Kind, &str, Read); 3] = [
        ("ratelimit_connections", Kind::Gauge, "Open connections.", |one| one.counts.open.load(RELAXED)),
        ("ratelimit_connections_accepted_total", Kind::Counter, "Connections that were accepted.", |one| {
            one.counts.accepted.load(RELAXED)
        }),
        (
            "ratelimit_connections_refused_total",
            Kind::Counter,
            "Connections that were closed at once because too many were open.",
            |one| one.counts.refused.load(RELAXED),
        ),
    ];
    for (name, kind, help, read) in families {
        text.family(name, kind, help);
        for one in &metrics.doors {
            text.value(&[("door", one.name)], read(one));
        }
    }
}

//! What is counted of keeping counters over a restart.

use super::text::seconds;
use super::{Kind, Text};
use crate::checkpoint::Kept;

pub(super) fn write(text: &mut Text, kept: &Kept) {
    let gauges = [
        ("ratelimit_checkpoint_restored", "Counters that went on when the server started.", kept.restored),
        ("ratelimit_checkpoint_counters", "Counters in the checkpoint.", kept.last.counters),
        ("ratelimit_checkpoint_left_out", "Counters that it had no room for.", kept.last.left_out),
        ("ratelimit_checkpoint_bytes", "The size of the checkpoint.", kept.last.bytes),
    ];
    for (name, help, value) in gauges {
        text.family(name, Kind::Gauge, help).value(&[], value);
    }
    text.family("ratelimit_checkpoint_saves_total", Kind::Counter, "Checkpoints that were written.")
        .value(&[], kept.saves);
    text.family(
        "ratelimit_checkpoint_failures_total",
        Kind::Counter,
        "Checkpoints that could not be written.",
    )
    .value(&[], kept.failures);
    let took = u64::try_from(kept.took.as_nanos()).unwrap_or(u64::MAX);
    text.family("ratelimit_checkpoint_duration_seconds", Kind::Gauge, "How long the last one took.")
        .value(&[], seconds(took));
    let help = "When the last one was written.";
    text.family("ratelimit_checkpoint_last_success_timestamp_seconds", Kind::Gauge, help)
        .value(&[], seconds(kept.saved_at.as_micros().saturating_mul(1000)));
}

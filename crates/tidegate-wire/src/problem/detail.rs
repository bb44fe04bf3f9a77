//! What a refusal says in words.

use tidegate_core::{Outcome, Retry};

use crate::headers::{Report, Summary, Unit};

/// A clause per limit that refused, and when to come back.
pub(super) fn detail(summary: &Summary<'_>) -> String {
    let retry = summary.retry_after_s().map(|seconds| format!("retry in {seconds} s"));
    summary.refused().map(clause).chain(retry).collect::<Vec<_>>().join("; ")
}

fn clause(report: &Report<'_>) -> String {
    let (amount, name) = (amount(report), report.name);
    match report.verdict.outcome {
        Outcome::Refused(Retry::Never) => {
            format!(
                "the request costs more than the whole limit of {amount} of policy {name}: it can never pass"
            )
        }
        _ => format!("limit of {amount} reached for policy {name}"),
    }
}

fn amount(report: &Report<'_>) -> String {
    let bytes = if report.unit == Unit::ContentBytes { " bytes" } else { "" };
    let per = report.limit.window_us().map_or_else(|| "at once".to_owned(), |us| format!("per {}", span(us)));
    format!("{}{bytes} {per}", report.verdict.limit)
}

/// A span for human eyes: in seconds, to the millisecond, rounded up.
fn span(us: u64) -> String {
    let ms = us.div_ceil(1000);
    match (ms / 1000, ms % 1000) {
        (seconds, 0) => format!("{seconds} s"),
        (seconds, ms) => format!("{} s", format!("{seconds}.{ms:03}").trim_end_matches('0')),
    }
}

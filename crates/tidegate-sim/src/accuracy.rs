//! How far each algorithm strays from the exact count.
//!
//! Two questions, because they have different answers. *In charge*: the algorithm decides, and what it let through is
//! held against the limit: the fullest window, and how much passed in all compared with an exact log. *In the shadow*:
//! the exact log decides, the algorithm sees the same admissions and is asked about every request: how often it would
//! have refused what was right to admit, or admitted what was right to refuse. Near the limit the shadow looks far worse,
//! because being off by one request for a moment counts as wrong twice; users feel the first.

use std::fmt::Write as _;
use std::time::Duration;

use tidegate_core::{Limit, LimitError, Rate, State, Ticket, Timestamp, Window};

use crate::traffic::{Load, Traffic};

const WINDOW_US: u32 = 60_000_000;
const WINDOWS: u32 = 150;
const AMOUNTS: [u32; 2] = [100, 1_000];
const SEEDS: std::ops::RangeInclusive<u64> = 1..=4;

/// Where a history starts: off every boundary.
const START_US: u64 = 1_790_000_012_345_678;

type Make = fn(u64, Duration) -> Result<Limit, LimitError>;

const CONTENDERS: [(&str, Make); 11] = [
    ("gcra, burst = amount", |n, w| Limit::gcra(Rate::new(n, w)?, n)),
    ("gcra, burst = amount / 10", |n, w| Limit::gcra(Rate::new(n, w)?, n / 10)),
    ("fixed_window", |n, w| Limit::fixed_window(n, Window::Aligned(w))),
    ("fixed_window, first hit", |n, w| Limit::fixed_window(n, Window::FirstHit(w))),
    ("sliding_window", Limit::sliding_window),
    ("sliding_window, 6 parts", |n, w| Limit::sliding_window_in_parts(n, w, 6)),
    ("sliding_window, 60 parts", |n, w| Limit::sliding_window_in_parts(n, w, 60)),
    ("sliding_log, precision 10", |n, w| Limit::sliding_log_with_precision(n, w, 10)),
    ("sliding_log, precision 50", |n, w| Limit::sliding_log_with_precision(n, w, 50)),
    ("sliding_log, precision 100", |n, w| Limit::sliding_log_with_precision(n, w, 100)),
    ("sliding_log", Limit::sliding_log),
];

/// What one algorithm did with some histories.
#[derive(Clone, Copy, Debug, Default)]
struct Score {
    /// The most that was admitted within any one window's length.
    worst: u64,
    admitted: u64,
    exact_admitted: u64,
    requests: u64,
    wrongly_refused: u64,
    wrongly_admitted: u64,
}

/// The whole study as Markdown tables; `progress` hears what is being worked on.
pub fn table(mut progress: impl FnMut(&str)) -> String {
    let mut out = String::new();
    for traffic in Traffic::ALL {
        for amount in AMOUNTS {
            progress(&format!("{}, {amount} per minute", traffic.name()));
            section(&mut out, traffic, amount);
        }
    }
    out
}

fn section(out: &mut String, traffic: Traffic, amount: u32) {
    let mut line = |text: &str| writeln!(out, "{text}").expect("a string can always grow");
    let (seeds, name) = (SEEDS.count(), traffic.name());
    line(&format!("### {name}, {amount} per minute ({seeds} seeds of {WINDOWS} minutes)\n"));
    line(
        "| algorithm | fullest window / amount | admitted / exact | shadow: wrongly refused | wrongly admitted |",
    );
    line("|---|---|---|---|---|");
    for (name, make) in CONTENDERS {
        let score = score(make, traffic, amount);
        line(&format!(
            "| {name} | {} | {} | {} | {} |",
            ratio(score.worst, amount.into()),
            ratio(score.admitted, score.exact_admitted),
            percent(score.wrongly_refused, score.requests),
            percent(score.wrongly_admitted, score.requests),
        ));
    }
    line("");
}

fn score(make: Make, traffic: Traffic, amount: u32) -> Score {
    let window = Duration::from_micros(WINDOW_US.into());
    let build = |make: Make| make(amount.into(), window).expect("the contenders are ordinary limits");
    let (limit, exact) = (build(make), build(Limit::sliding_log));
    let load = Load { amount, window_us: WINDOW_US, windows: WINDOWS };
    let mut score = Score::default();
    for seed in SEEDS {
        let requests = traffic.requests(load, seed);
        let admitted = in_charge(&limit, &requests);
        score.worst = score.worst.max(fullest(&admitted));
        score.admitted += admitted.len() as u64;
        score.exact_admitted += in_charge(&exact, &requests).len() as u64;
        score.requests += requests.len() as u64;
        in_the_shadow(&limit, &exact, &requests, &mut score);
    }
    score
}

fn at(request_us: u64) -> Timestamp {
    Timestamp::from_micros(START_US + request_us)
}

fn in_charge(limit: &Limit, requests: &[u64]) -> Vec<u64> {
    let mut state = State::EMPTY;
    let mut passes =
        |request: &u64| limit.step(&mut state, at(*request), 1).is_ok_and(|verdict| verdict.allowed());
    requests.iter().copied().filter(|request| passes(request)).collect()
}

/// The most admissions within one window's length.
fn fullest(admitted: &[u64]) -> u64 {
    let (mut first, mut most) = (0, 0);
    for (index, now_us) in admitted.iter().enumerate() {
        while admitted[first] + u64::from(WINDOW_US) <= *now_us {
            first += 1;
        }
        most = most.max(index + 1 - first);
    }
    most as u64
}

fn in_the_shadow(limit: &Limit, exact: &Limit, requests: &[u64], score: &mut Score) {
    let (mut state, mut truth) = (State::EMPTY, State::EMPTY);
    for now in requests.iter().copied().map(at) {
        let says = limit.judge(&state, now, 1).allowed();
        let right = exact.judge(&truth, now, 1).allowed();
        score.wrongly_refused += u64::from(right && !says);
        score.wrongly_admitted += u64::from(!right && says);
        if right {
            exact.charge(&mut truth, now, 1, Ticket::default());
            limit.charge(&mut state, now, 1, Ticket::default());
        }
    }
}

/// With three decimals, rounded down.
fn ratio(part: u64, whole: u64) -> String {
    let thousandths = part * 1000 / whole.max(1);
    format!("{}.{:03}", thousandths / 1000, thousandths % 1000)
}

/// With two decimals, rounded down.
fn percent(part: u64, whole: u64) -> String {
    let hundredths = part * 10_000 / whole.max(1);
    format!("{}.{:02} %", hundredths / 100, hundredths % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The docs carry the table; this is what keeps it true.
    #[test]
    fn the_table_in_the_docs_is_what_the_study_prints() {
        let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/concepts/accuracy.md");
        let docs = std::fs::read_to_string(docs).expect("the docs have a page on accuracy");
        let table = table(|_| {});
        assert!(
            docs.contains(&table),
            "docs/concepts/accuracy.md is out of date; `make accuracy` prints:\n{table}"
        );
    }

    #[test]
    fn the_exact_log_and_the_precise_ones_never_exceed_the_limit() {
        for traffic in Traffic::ALL {
            for (name, make) in CONTENDERS.iter().filter(|(name, _)| name.starts_with("sliding_log")) {
                assert!(score(*make, traffic, 100).worst <= 100, "{name} on {}", traffic.name());
            }
        }
    }

    #[test]
    fn the_exact_log_is_never_wrong() {
        let score = score(Limit::sliding_log, Traffic::OnOff, 100);
        assert_eq!((score.wrongly_refused, score.wrongly_admitted), (0, 0));
        assert_eq!(score.admitted, score.exact_admitted);
    }
}

//! The headers that tell a decision: whatever the reports, they can be sent, and a client reads out of them what was put in.

use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use tidegate_core::{Bounds, Limit, Outcome, Rate, Retry, Timestamp, Verdict, Window};
use tidegate_wire::headers::{Ietf, Legacy, PartitionKey, Report, Settings, Summary, Unit, write};
use tidegate_wire::{Kind, Problem};

use crate::pieces::Pieces;
use crate::told::{Member, headers_are_sound, members, problem_is_sound};

/// The most reports of one input.
const MOST_REPORTS: usize = 6;

/// The largest number of a structured field.
const LARGEST: u64 = 999_999_999_999_999;

/// A report and all that it borrows.
struct Own {
    name: String,
    limit: Limit,
    verdict: Verdict,
    unit: Unit,
    dimension: Option<String>,
    resource: Option<String>,
    key: Option<Vec<u8>>,
}

pub(crate) fn run(bytes: &[u8]) {
    let mut pieces = Pieces::new(bytes);
    let settings = settings(&mut pieces);
    let (now, random) = (Timestamp::from_micros(pieces.number()), pieces.number());
    let mut owned = Vec::new();
    while !pieces.is_empty() && owned.len() < MOST_REPORTS {
        owned.extend(own(&mut pieces));
    }
    let reports: Vec<Report<'_>> = owned.iter().map(Own::report).collect();
    let summary = Summary::new(&reports, now).jittered(&settings, random);
    let mut headers = HeaderMap::new();
    headers.insert("ratelimit", HeaderValue::from_static(r#""upstream";r=1"#));
    write(&mut headers, &summary, &settings);
    headers_are_sound(&headers);
    if settings.ietf == Ietf::Draft10 {
        reads_as_written(&headers, &summary, settings);
    }
    retry_is_sound(&headers, &summary);
    let problem = Problem::from_summary(Kind::QuotaExceeded, &summary);
    let json = serde_json::from_slice(&problem.to_json()).expect("a problem is JSON");
    problem_is_sound(problem.status().as_u16(), &headers, &json);
}

fn settings(pieces: &mut Pieces<'_>) -> Settings {
    Settings {
        ietf: pieces.one_of(&[Ietf::Draft10, Ietf::Draft03, Ietf::Off]),
        legacy: pieces.one_of(&[Legacy::Off, Legacy::Epoch, Legacy::Delta]),
        partition_keys: pieces.is_odd(),
        used: pieces.is_odd(),
        resource: pieces.is_odd(),
        denied_by: pieces.is_odd(),
        retry_jitter_percent: pieces.byte(),
    }
}

/// A report, if its numbers make a limit.
fn own(pieces: &mut Pieces<'_>) -> Option<Own> {
    Some(Own {
        name: pieces.text(),
        limit: limit(pieces)?,
        verdict: verdict(pieces),
        unit: pieces.one_of(&[Unit::Requests, Unit::ConcurrentRequests, Unit::ContentBytes]),
        dimension: pieces.is_odd().then(|| pieces.text()),
        resource: pieces.is_odd().then(|| pieces.text()),
        key: pieces.is_odd().then(|| pieces.word().to_vec()),
    })
}

/// Any limit that can be made of these numbers.
pub(crate) fn limit(pieces: &mut Pieces<'_>) -> Option<Limit> {
    let (kind, amount, span_us) = (pieces.below(10), pieces.number(), pieces.number());
    let span = Duration::from_micros(span_us);
    let rate = || Rate::new(amount.max(1), span).ok();
    let limit = match kind {
        0 => Limit::gcra(rate()?, pieces.number()),
        1 => Limit::token_bucket(pieces.number(), rate()?),
        2 => Limit::leaky_bucket(pieces.number(), rate()?),
        3 => Limit::leaky_bucket_shaping(pieces.number(), rate()?),
        4 => Limit::fixed_window(amount, Window::Aligned(span)),
        5 => Limit::fixed_window(amount, Window::FirstHit(span)),
        6 => Limit::fixed_window(amount, Window::Calendar(bounds(pieces, span_us))),
        7 => Limit::sliding_window_in_parts(amount, span, u32::from(pieces.byte())),
        8 => Limit::sliding_log_with_precision(amount, span, pieces.number()),
        _ => Limit::concurrency(amount, span),
    };
    limit.ok()
}

fn bounds(pieces: &mut Pieces<'_>, start_us: u64) -> Bounds {
    let start = Timestamp::from_micros(start_us);
    let end = start.plus_us(pieces.number());
    Bounds { start, end, next_end: end.plus_us(pieces.number()) }
}

fn verdict(pieces: &mut Pieces<'_>) -> Verdict {
    let outcome = match pieces.below(5) {
        0 => Outcome::Allowed,
        1 => Outcome::Delayed { by_us: pieces.number() },
        2 => Outcome::Refused(Retry::After(pieces.number())),
        3 => Outcome::Refused(Retry::Within(pieces.number())),
        _ => Outcome::Refused(Retry::Never),
    };
    Verdict {
        outcome,
        limit: pieces.number(),
        remaining: pieces.number(),
        debt: pieces.number(),
        reset_after_us: pieces.number(),
        next_after_us: pieces.number(),
    }
}

impl Own {
    fn report(&self) -> Report<'_> {
        Report {
            unit: self.unit,
            dimension: self.dimension.as_deref(),
            resource: self.resource.as_deref(),
            partition_key: self.key.as_deref().map(PartitionKey::from_keyed_hash),
            ..Report::new(&self.name, &self.limit, &self.verdict)
        }
    }
}

/// Every report whose name can be told is, in order, with its numbers as far as fields can hold them.
fn reads_as_written(headers: &HeaderMap, summary: &Summary<'_>, settings: Settings) {
    let is_told = |report: &&Report<'_>| report.name.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    let told: Vec<&Report<'_>> = summary.reports().iter().filter(is_told).collect();
    let policies = members(headers, "ratelimit-policy");
    let standings: Vec<Member> = members(headers, "ratelimit").into_iter().skip(1).collect();
    assert_eq!((policies.len(), standings.len()), (told.len(), told.len()));
    for (report, (policy, standing)) in told.iter().zip(policies.iter().zip(&standings)) {
        assert_eq!((policy.name.as_str(), standing.name.as_str()), (report.name, report.name));
        assert_eq!(policy.number("q"), Some(held(report.verdict.limit)));
        let window_s = report.limit.window_us().map(|us| held(us.div_ceil(1_000_000)));
        assert_eq!(policy.number("w"), window_s);
        assert_eq!(standing.number("r"), Some(held(report.verdict.remaining)));
        assert_eq!(policy.bytes("pk").is_some(), settings.partition_keys && report.partition_key.is_some());
        let latest = summary.retry_after_s().unwrap_or(u64::MAX);
        assert!(standing.number("t").is_none_or(|seconds| seconds <= held(latest)), "later than Retry-After");
    }
}

fn held(number: u64) -> i64 {
    i64::try_from(number.min(LARGEST)).expect("it has fifteen digits")
}

/// Who is refused is told when to return, never at once, unless no waiting helps; who passes is not.
fn retry_is_sound(headers: &HeaderMap, summary: &Summary<'_>) {
    let told = headers.get("retry-after").map(|value| value.to_str().expect("it is ASCII"));
    let waits = |retry: &Report<'_>| match retry.verdict.outcome {
        Outcome::Refused(Retry::Never) => Some(u64::MAX),
        Outcome::Refused(Retry::After(us) | Retry::Within(us)) => Some(us.max(1)),
        _ => None,
    };
    let longest = summary.reports().iter().filter_map(waits).max();
    match (longest, told.map(|told| told.parse::<u64>().expect("it is a number"))) {
        (None | Some(u64::MAX), None) => {}
        (Some(us), Some(seconds)) => assert!(seconds >= us.div_ceil(1_000_000) && seconds > 0),
        (longest, told) => panic!("{longest:?} is told as {told:?}"),
    }
}

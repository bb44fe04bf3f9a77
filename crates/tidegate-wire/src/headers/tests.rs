use std::time::Duration;

use http::HeaderValue;
use proptest::prelude::*;
use sfv::{BareItem, List, ListEntry, Parser};
use tidegate_core::{Limit, Outcome, Rate, Retry, State, Timestamp, Verdict, Window};

use super::*;

const NOW: Timestamp = Timestamp::from_micros(1_700_000_000_500_000);
const SECOND_US: u64 = 1_000_000;

fn only_legacy(legacy: Legacy) -> Settings {
    Settings { ietf: Ietf::Off, legacy, ..Settings::default() }
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn gcra() -> Limit {
    Limit::gcra(Rate::new(100, seconds(60)).unwrap(), 100).unwrap()
}

fn hourly() -> Limit {
    Limit::fixed_window(5000, Window::Aligned(seconds(3600))).unwrap()
}

fn slots() -> Limit {
    Limit::concurrency(8, seconds(30)).unwrap()
}

fn verdict(limit: &Limit, outcome: Outcome, remaining: u64, reset_after_us: u64) -> Verdict {
    Verdict { outcome, limit: limit.capacity(), remaining, debt: 0, reset_after_us, next_after_us: 0 }
}

fn allowed(limit: &Limit, remaining: u64, reset_after_us: u64) -> Verdict {
    verdict(limit, Outcome::Allowed, remaining, reset_after_us)
}

fn refused(limit: &Limit, retry: Retry) -> Verdict {
    verdict(limit, Outcome::Refused(retry), 0, 60 * SECOND_US)
}

/// The verdict on a first charge.
fn first(limit: &Limit, cost: u64) -> Verdict {
    let mut state = State::EMPTY;
    limit.step(&mut state, NOW, cost).unwrap()
}

/// What is written for these limits and verdicts, one `name: value` per line.
fn written(settings: Settings, reports: &[(&str, Limit, Verdict)]) -> String {
    let reports: Vec<Report<'_>> =
        reports.iter().map(|(name, limit, verdict)| Report::new(name, limit, verdict)).collect();
    let mut headers = HeaderMap::new();
    write(&mut headers, &Summary::new(&reports, NOW), &settings);
    let lines = headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()));
    lines.collect::<Vec<_>>().join("\n")
}

fn check(reports: &[(&str, Limit, Verdict)], expected: &[&str]) {
    assert_eq!(written(Settings::default(), reports), expected.join("\n"));
}

fn check_legacy(settings: Settings, reports: &[(&str, Limit, Verdict)], expected: &[&str]) {
    assert_eq!(written(settings, reports), expected.join("\n"));
}

#[test]
fn no_report_says_nothing() {
    check(&[], &[]);
    check_legacy(only_legacy(Legacy::Epoch), &[], &[]);
}

#[test]
fn a_meter_tells_its_burst() {
    let limit = gcra();
    let verdict = first(&limit, 59);
    check(
        &[("per-user", limit, verdict)],
        &[r#"ratelimit-policy: "per-user";q=100;w=60"#, r#"ratelimit: "per-user";r=41;t=1"#],
    );
    let uneven = Limit::token_bucket(20, Rate::new(7, seconds(1)).unwrap()).unwrap();
    let verdict = first(&uneven, 1);
    check(
        &[("burst", uneven, verdict)],
        &[r#"ratelimit-policy: "burst";q=20;w=3"#, r#"ratelimit: "burst";r=19;t=1"#],
    );
}

/// What is told of the last request that passes, and of the one that follows it at once.
fn told_at_the_end(limit: &Limit, settings: Settings) -> [String; 2] {
    let mut state = State::EMPTY;
    let mut step = || limit.step(&mut state, NOW, 1).unwrap();
    let last = (0..limit.capacity()).map(|_| step()).last().unwrap();
    [last, step()].map(|verdict| written(settings, &[("a", *limit, verdict)]))
}

#[test]
fn admission_and_refusal_tell_one_reset() {
    let window = seconds(60);
    for limit in [
        Limit::sliding_window(20, window).unwrap(),
        Limit::sliding_window_in_parts(20, window, 6).unwrap(),
        Limit::sliding_log(20, window).unwrap(),
        Limit::fixed_window(20, Window::Aligned(window)).unwrap(),
        Limit::gcra(Rate::new(20, window).unwrap(), 20).unwrap(),
        Limit::concurrency(20, window).unwrap(),
    ] {
        let [last, refused] = told_at_the_end(&limit, Settings::default());
        let standing = |lines: &str| lines.lines().last().unwrap().to_owned();
        let refused = refused.lines().find(|line| line.starts_with("ratelimit: ")).unwrap();
        assert_eq!(standing(&last), refused, "{limit:?}");
        let [last, refused] = told_at_the_end(&limit, only_legacy(Legacy::Delta));
        let reset =
            |lines: &str| lines.lines().find(|line| line.starts_with("x-ratelimit-reset")).map(str::to_owned);
        assert_eq!(reset(&last), reset(&refused), "{limit:?}");
    }
}

#[test]
fn a_shaping_bucket_tells_its_next_unit() {
    let limit = Limit::leaky_bucket_shaping(5, Rate::new(1, seconds(1)).unwrap()).unwrap();
    let [last, refused] = told_at_the_end(&limit, Settings::default());
    assert!(last.ends_with(r#""a";r=0;t=1"#), "{last}");
    assert!(refused.contains(r#""a";r=0;t=1"#), "{refused}");
}

#[test]
fn a_window_tells_its_amount_and_length() {
    let limit = hourly();
    let verdict = first(&limit, 1);
    let left_s = 3600 - 1_700_000_000 % 3600;
    check(
        &[("hourly", limit, verdict)],
        &[
            r#"ratelimit-policy: "hourly";q=5000;w=3600"#,
            &format!(r#"ratelimit: "hourly";r=4999;t={left_s}"#),
        ],
    );
    let short = Limit::sliding_log(5, Duration::from_micros(1)).unwrap();
    check(
        &[("short", short, allowed(&short, 4, 1))],
        &[r#"ratelimit-policy: "short";q=5;w=1"#, r#"ratelimit: "short";r=4;t=1"#],
    );
}

#[test]
fn concurrency_tells_its_unit_instead_of_a_window() {
    let limit = slots();
    check(
        &[("slots", limit, allowed(&limit, 3, 29_000_001))],
        &[r#"ratelimit-policy: "slots";q=8;qu="concurrent-requests""#, r#"ratelimit: "slots";r=3;t=30"#],
    );
}

#[test]
fn several_limits_are_one_list_in_order() {
    let (per_user, hourly, slots) = (gcra(), hourly(), slots());
    check(
        &[
            ("per-user", per_user, allowed(&per_user, 41, 12 * SECOND_US)),
            ("hourly", hourly, allowed(&hourly, 4100, 1800 * SECOND_US)),
            ("slots", slots, allowed(&slots, 7, 0)),
        ],
        &[
            r#"ratelimit-policy: "per-user";q=100;w=60, "hourly";q=5000;w=3600, "slots";q=8;qu="concurrent-requests""#,
            r#"ratelimit: "per-user";r=41;t=12, "hourly";r=4100;t=1800, "slots";r=7;t=0"#,
        ],
    );
}

#[test]
fn a_refusal_says_when_to_retry_rather_than_when_all_is_back() {
    let limit = gcra();
    check(
        &[("per-user", limit, refused(&limit, Retry::After(600_000)))],
        &[r#"ratelimit-policy: "per-user";q=100;w=60"#, r#"ratelimit: "per-user";r=0;t=1"#, "retry-after: 1"],
    );
    let slots = slots();
    check(
        &[("slots", slots, refused(&slots, Retry::Within(12_000_001)))],
        &[
            r#"ratelimit-policy: "slots";q=8;qu="concurrent-requests""#,
            r#"ratelimit: "slots";r=0;t=13"#,
            "retry-after: 13",
        ],
    );
}

#[test]
fn no_client_is_told_to_come_back_at_once() {
    let limit = gcra();
    for (wait_us, told_s) in [(0, 1), (1, 1), (1_000_000, 1), (1_000_001, 2)] {
        let written = written(Settings::default(), &[("a", limit, refused(&limit, Retry::After(wait_us)))]);
        assert!(written.ends_with(&format!("retry-after: {told_s}")), "{wait_us} us: {written}");
    }
}

#[test]
fn the_longest_wait_counts_and_no_reset_is_later() {
    let (per_user, hourly) = (gcra(), hourly());
    check(
        &[
            ("a", per_user, refused(&per_user, Retry::After(2 * SECOND_US))),
            ("b", per_user, refused(&per_user, Retry::After(5 * SECOND_US))),
            ("later", hourly, allowed(&hourly, 4000, 1800 * SECOND_US)),
            ("sooner", hourly, allowed(&hourly, 4000, 5 * SECOND_US)),
        ],
        &[
            r#"ratelimit-policy: "a";q=100;w=60, "b";q=100;w=60, "later";q=5000;w=3600, "sooner";q=5000;w=3600"#,
            r#"ratelimit: "a";r=0;t=2, "b";r=0;t=5, "later";r=4000, "sooner";r=4000;t=5"#,
            "retry-after: 5",
        ],
    );
}

#[test]
fn what_can_never_pass_has_no_retry() {
    let limit = gcra();
    check(
        &[
            ("a", limit, refused(&limit, Retry::Never)),
            ("b", limit, refused(&limit, Retry::After(SECOND_US))),
        ],
        &[r#"ratelimit-policy: "a";q=100;w=60, "b";q=100;w=60"#, r#"ratelimit: "a";r=0, "b";r=0;t=1"#],
    );
}

#[test]
fn what_is_delayed_is_not_refused() {
    let limit = gcra();
    let delayed = verdict(&limit, Outcome::Delayed { by_us: 5 }, 7, SECOND_US);
    check(&[("a", limit, delayed)], &[r#"ratelimit-policy: "a";q=100;w=60"#, r#"ratelimit: "a";r=7;t=1"#]);
}

#[test]
fn a_name_that_no_field_can_hold_costs_only_its_own_report() {
    let limit = gcra();
    let verdict = refused(&limit, Retry::After(9 * SECOND_US));
    for name in ["naïve", "tab\there", "line\nbreak", "\u{7f}", "限"] {
        check(
            &[(name, limit, verdict), ("sound", limit, allowed(&limit, 50, 0))],
            &[r#"ratelimit-policy: "sound";q=100;w=60"#, r#"ratelimit: "sound";r=50;t=0"#, "retry-after: 9"],
        );
        check(&[(name, limit, verdict)], &["retry-after: 9"]);
    }
    check(
        &[(r#"we"ird\name"#, limit, allowed(&limit, 50, 0))],
        &[r#"ratelimit-policy: "we\"ird\\name";q=100;w=60"#, r#"ratelimit: "we\"ird\\name";r=50;t=0"#],
    );
}

#[test]
fn a_resource_that_not_every_client_can_read_is_not_told() {
    let limit = gcra();
    let verdict = allowed(&limit, 50, 0);
    let settings = Settings { resource: true, ..only_legacy(Legacy::Delta) };
    for (resource, told) in [("search", true), ("naïve", false), ("tab\there", false), ("", false)] {
        let reports = [Report { resource: Some(resource), ..Report::new("a", &limit, &verdict) }];
        let mut headers = HeaderMap::new();
        write(&mut headers, &Summary::new(&reports, NOW), &settings);
        assert_eq!(headers.contains_key(X_RATELIMIT_RESOURCE), told, "{resource:?}");
    }
}

#[test]
fn numbers_end_at_fifteen_digits() {
    let limit = gcra();
    check(
        &[("a", limit, allowed(&limit, u64::MAX, u64::MAX))],
        &[r#"ratelimit-policy: "a";q=100;w=60"#, r#"ratelimit: "a";r=999999999999999;t=18446744073710"#],
    );
}

#[test]
fn sixty_four_limits_are_told_whole() {
    let limit = gcra();
    let name = "n".repeat(64);
    let written = written(Settings::default(), &vec![(name.as_str(), limit, allowed(&limit, 1, 1)); 64]);
    assert_eq!(written.matches(&name).count(), 128);
}

#[test]
fn what_others_said_of_their_limits_stays() {
    let limit = gcra();
    let verdict = allowed(&limit, 41, 12 * SECOND_US);
    let mut headers = HeaderMap::new();
    headers.insert(RATELIMIT, HeaderValue::from_static(r#""origin";r=3"#));
    headers.insert(X_RATELIMIT_LIMIT, HeaderValue::from_static("7"));
    let settings = Settings { legacy: Legacy::Delta, ..Settings::default() };
    write(&mut headers, &Summary::new(&[Report::new("ours", &limit, &verdict)], NOW), &settings);
    let told: Vec<_> = headers.get_all(RATELIMIT).iter().collect();
    assert_eq!(told, [r#""origin";r=3"#, r#""ours";r=41;t=12"#]);
    assert_eq!(headers.get_all(X_RATELIMIT_LIMIT).iter().collect::<Vec<_>>(), ["100"]);
}

#[test]
fn draft_03_holds_one_answer_and_replaces_an_older_one() {
    let limit = gcra();
    let verdict = allowed(&limit, u64::MAX, 12 * SECOND_US);
    let mut headers = HeaderMap::new();
    headers.append(RATELIMIT_LIMIT, HeaderValue::from_static("7"));
    headers.append(RATELIMIT_LIMIT, HeaderValue::from_static("7;w=1"));
    let settings = Settings { ietf: Ietf::Draft03, ..Settings::default() };
    write(&mut headers, &Summary::new(&[Report::new("ours", &limit, &verdict)], NOW), &settings);
    assert_eq!(headers.get_all(RATELIMIT_LIMIT).iter().collect::<Vec<_>>(), ["100, 100;w=60"]);
    assert_eq!(headers[RATELIMIT_REMAINING], "999999999999999");
}

#[test]
fn who_denied_is_told_of_refusals_whose_dimension_is_known() {
    let limit = gcra();
    let told = |dimension, verdict: &Verdict| {
        let report = Report { rule: "login", dimension, ..Report::new("login.1m", &limit, verdict) };
        let mut headers = HeaderMap::new();
        write(&mut headers, &Summary::new(&[report], NOW), &Settings::default());
        headers.remove(X_RATELIMIT_DENIED_BY)
    };
    let refused = refused(&limit, Retry::Never);
    assert_eq!(told(Some("ip"), &refused).unwrap(), r#"ip;rule="login""#);
    assert_eq!(told(None, &refused), None);
    assert_eq!(told(Some("ip"), &allowed(&limit, 1, 1)), None);
}

#[test]
fn legacy_headers_speak_of_the_most_restrictive_limit() {
    let (per_user, hourly) = (gcra(), hourly());
    let reports = [
        ("hourly", hourly, allowed(&hourly, 4100, 1800 * SECOND_US)),
        ("per-user", per_user, allowed(&per_user, 41, 11_600_000)),
    ];
    check_legacy(
        only_legacy(Legacy::Epoch),
        &reports,
        &["x-ratelimit-limit: 100", "x-ratelimit-remaining: 41", "x-ratelimit-reset: 1700000013"],
    );
    check_legacy(
        only_legacy(Legacy::Delta),
        &reports,
        &["x-ratelimit-limit: 100", "x-ratelimit-remaining: 41", "x-ratelimit-reset: 12"],
    );
}

#[test]
fn legacy_reset_of_a_refusal_is_when_to_retry() {
    let limit = gcra();
    let reports = [("a", limit, refused(&limit, Retry::After(2_500_000)))];
    check_legacy(
        only_legacy(Legacy::Delta),
        &reports,
        &["x-ratelimit-limit: 100", "x-ratelimit-remaining: 0", "x-ratelimit-reset: 3", "retry-after: 3"],
    );
    check_legacy(
        only_legacy(Legacy::Epoch),
        &reports,
        &[
            "x-ratelimit-limit: 100",
            "x-ratelimit-remaining: 0",
            "x-ratelimit-reset: 1700000003",
            "retry-after: 3",
        ],
    );
}

fn most(reports: &[(Limit, Verdict)]) -> Option<usize> {
    let reports: Vec<_> = reports.iter().map(|(limit, verdict)| Report::new("a", limit, verdict)).collect();
    most_restrictive(&reports)
}

#[test]
fn the_most_restrictive_is_a_refusal_the_longest_and_the_first_of_equals() {
    let limit = gcra();
    let after = |us| (limit, refused(&limit, Retry::After(us)));
    let (never, passed) = ((limit, refused(&limit, Retry::Never)), (limit, allowed(&limit, 0, 0)));
    assert_eq!(most(&[]), None);
    assert_eq!(most(&[passed, after(1)]), Some(1));
    assert_eq!(most(&[after(1), after(3), passed, after(2)]), Some(1));
    assert_eq!(most(&[after(u64::MAX), never, after(5), never]), Some(1));
    assert_eq!(most(&[after(3), (limit, refused(&limit, Retry::Within(3)))]), Some(0));
    assert_eq!(most(&[after(3), (limit, refused(&limit, Retry::Within(4)))]), Some(1));
}

#[test]
fn shares_are_compared_exactly() {
    let amount = |amount| Limit::sliding_window(amount, seconds(1)).unwrap();
    let left = |limit: u64, remaining| (amount(limit), allowed(&amount(limit), remaining, 0));
    assert_eq!(most(&[left(100, 50), left(10, 4)]), Some(1));
    assert_eq!(most(&[left(10, 5), left(100, 50), left(2, 1)]), Some(0));
    let huge = 999_999_999_999_999;
    assert_eq!(most(&[left(huge, huge - 1), left(huge - 1, huge - 2)]), Some(1)); // a float sees no difference
    assert_eq!(most(&[left(huge, u64::MAX), left(huge, u64::MAX - 1)]), Some(1));
}

fn any_limit() -> impl Strategy<Value = Limit> {
    let amount = prop_oneof![1..1000_u64, 1..=tidegate_core::MAX_AMOUNT];
    let window = (1..3_600_000_000_000_u64).prop_map(Duration::from_micros);
    (amount, window, 0..3_u8).prop_map(|(amount, window, kind)| match kind {
        0 => Limit::sliding_window(amount, window).unwrap(),
        1 => Limit::concurrency(amount, window).unwrap(),
        _ => Limit::gcra(Rate::new(amount, window).unwrap(), amount).unwrap(),
    })
}

fn any_outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        Just(Outcome::Allowed),
        any::<u64>().prop_map(|by_us| Outcome::Delayed { by_us }),
        any::<u64>().prop_map(|us| Outcome::Refused(Retry::After(us))),
        (0..100 * SECOND_US).prop_map(|us| Outcome::Refused(Retry::Within(us))),
        Just(Outcome::Refused(Retry::Never)),
    ]
}

fn any_report() -> impl Strategy<Value = (String, Limit, Verdict)> {
    let name = prop_oneof![3 => "[ -~]{0,70}", 1 => any::<String>()];
    let span_us = prop_oneof![any::<u64>(), 0..100 * SECOND_US];
    (name, any_limit(), any_outcome(), any::<u64>(), span_us).prop_map(
        |(name, limit, outcome, remaining, reset_after_us)| {
            let verdict = verdict(&limit, outcome, remaining, reset_after_us);
            (name, limit, verdict)
        },
    )
}

/// The members of a list field, each as its name and integer parameters; `None` if the field is not there.
fn parsed(headers: &HeaderMap, field: HeaderName) -> Vec<(String, Vec<(String, i64)>)> {
    let Some(value) = headers.get(field) else { return Vec::new() };
    let list: List = Parser::new(value.as_bytes()).parse().unwrap();
    list.iter().map(member).collect()
}

fn member(entry: &ListEntry) -> (String, Vec<(String, i64)>) {
    let ListEntry::Item(item) = entry else { panic!("an inner list: {entry:?}") };
    let BareItem::String(name) = &item.bare_item else { panic!("not a string: {item:?}") };
    let integers = item.params.iter().filter_map(|(key, value)| match value {
        BareItem::Integer(value) => Some((key.as_str().to_owned(), i64::from(*value))),
        _ => None,
    });
    (name.as_str().to_owned(), integers.collect())
}

proptest! {
    #[test]
    fn what_is_written_is_a_structured_field_that_says_the_same(
        reports in prop::collection::vec(any_report(), 0..8),
    ) {
        let reports: Vec<_> =
            reports.iter().map(|(name, limit, verdict)| Report::new(name, limit, verdict)).collect();
        let mut headers = HeaderMap::new();
        let settings = Settings { legacy: Legacy::Epoch, ..Settings::default() };
        write(&mut headers, &Summary::new(&reports, NOW), &settings);

        let sound: Vec<_> =
            reports.iter().filter(|report| report.name.bytes().all(|byte| matches!(byte, b' '..=b'~'))).collect();
        let policies = parsed(&headers, RATELIMIT_POLICY);
        let standings = parsed(&headers, RATELIMIT);
        prop_assert_eq!(policies.len(), sound.len());
        prop_assert_eq!(standings.len(), sound.len());

        let retry_after: Option<i64> = headers.get(names::RETRY_AFTER).map(|value| value.to_str().unwrap().parse().unwrap());
        let refused = reports.iter().any(|report| !report.verdict.allowed());
        let never = reports.iter().any(|report| report.verdict.outcome == Outcome::Refused(Retry::Never));
        prop_assert_eq!(retry_after.is_some(), refused && !never);
        prop_assert!(retry_after.is_none_or(|seconds| seconds >= 1));

        for ((report, policy), standing) in sound.iter().zip(&policies).zip(&standings) {
            prop_assert_eq!(&policy.0, report.name);
            prop_assert_eq!(&standing.0, report.name);
            prop_assert_eq!(&policy.1[0], &("q".to_owned(), i64::try_from(report.limit.capacity()).unwrap()));
            let window = policy.1.iter().find(|(key, _)| key == "w");
            prop_assert_eq!(window.is_some(), report.limit.window_us().is_some());
            prop_assert!(window.is_none_or(|(_, seconds)| *seconds > 0));
            prop_assert_eq!(&standing.1[0].0, "r");
            let reset = standing.1.iter().find(|(key, _)| key == "t").map(|(_, seconds)| *seconds);
            prop_assert!(reset <= retry_after.or(reset), "retry after {:?} is before t {:?}", retry_after, reset);
            prop_assert!(reset.is_some() || report.verdict.allowed() || retry_after.is_some() || never);
        }
    }

    #[test]
    fn nothing_binds_more_than_the_most_restrictive(reports in prop::collection::vec(any_report(), 1..8)) {
        let reports: Vec<_> =
            reports.iter().map(|(name, limit, verdict)| Report::new(name, limit, verdict)).collect();
        let most = most_restrictive(&reports).unwrap();
        prop_assert!(reports.iter().all(|report| !report.binds_more_than(&reports[most])));
        prop_assert!(reports[..most].iter().all(|report| reports[most].binds_more_than(report)));
    }
}

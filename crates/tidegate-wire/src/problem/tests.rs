use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};
use tidegate_core::{Limit, Outcome, Rate, Retry, Timestamp, Verdict};

use super::*;

fn limit() -> Limit {
    Limit::sliding_window(100, Duration::from_secs(60)).unwrap()
}

fn verdict(limit: &Limit, outcome: Outcome) -> Verdict {
    Verdict {
        outcome,
        limit: limit.capacity(),
        remaining: 0,
        debt: 0,
        reset_after_us: 60_000_000,
        next_after_us: 0,
    }
}

fn problem(reports: &[(&str, Limit, Outcome)]) -> Problem {
    let verdicts: Vec<Verdict> = reports.iter().map(|(_, limit, outcome)| verdict(limit, *outcome)).collect();
    let reports: Vec<Report<'_>> = reports
        .iter()
        .zip(&verdicts)
        .map(|((name, limit, _), verdict)| Report::new(name, limit, verdict))
        .collect();
    Problem::from_summary(Kind::QuotaExceeded, &Summary::new(&reports, Timestamp::ZERO))
}

fn check(reports: &[(&str, Limit, Outcome)], detail: &str) {
    assert_eq!(problem(reports).detail(), detail);
}

const AFTER_12_S: Outcome = Outcome::Refused(Retry::After(11_200_000));
const NEVER: Outcome = Outcome::Refused(Retry::Never);

#[test]
fn a_spent_limit_is_told_whole() {
    let body = problem(&[("per-user", limit(), AFTER_12_S)]).to_json();
    assert_eq!(
        String::from_utf8(body).unwrap(),
        concat!(
            r#"{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota Exceeded","#,
            r#""status":429,"detail":"limit of 100 per 60 s reached for policy per-user; retry in 12 s","#,
            r#""violated-policies":["per-user"],"retry-after":12,"limit":100,"window":60}"#
        )
    );
}

#[test]
fn each_kind_has_its_type_title_and_status() {
    let written = |kind| String::from_utf8(Problem::new(kind, "").to_json()).unwrap();
    assert_eq!(
        written(Kind::ReducedCapacity),
        concat!(
            r#"{"type":"https://iana.org/assignments/http-problem-types#temporary-reduced-capacity","#,
            r#""title":"Temporary Reduced Capacity","status":503,"violated-policies":[]}"#
        )
    );
    assert_eq!(
        written(Kind::AbnormalUsage),
        concat!(
            r#"{"type":"https://iana.org/assignments/http-problem-types#abnormal-usage-detected","#,
            r#""title":"Abnormal Usage Detected","status":429,"violated-policies":[]}"#
        )
    );
}

#[test]
fn only_what_refused_is_named() {
    let mixed = problem(&[
        ("passed", limit(), Outcome::Allowed),
        ("a", limit(), AFTER_12_S),
        ("delayed", limit(), Outcome::Delayed { by_us: 5 }),
        ("b", limit(), Outcome::Refused(Retry::Within(1))),
    ]);
    let body: Value = serde_json::from_slice(&mixed.to_json()).unwrap();
    assert_eq!(body["violated-policies"], json!(["a", "b"]));
    assert_eq!(body["retry-after"], 12);
    assert_eq!(
        mixed.detail(),
        "limit of 100 per 60 s reached for policy a; limit of 100 per 60 s reached for policy b; retry in 12 s"
    );
}

#[test]
fn the_detail_says_what_kind_of_limit_it_was() {
    let slots = Limit::concurrency(8, Duration::from_secs(30)).unwrap();
    check(&[("slots", slots, AFTER_12_S)], "limit of 8 at once reached for policy slots; retry in 12 s");
    let burst = Limit::gcra(Rate::new(7, Duration::from_secs(1)).unwrap(), 20).unwrap();
    check(&[("burst", burst, AFTER_12_S)], "limit of 20 per 2.858 s reached for policy burst; retry in 12 s");
    let half = Limit::sliding_log(5, Duration::from_millis(500)).unwrap();
    check(&[("half", half, AFTER_12_S)], "limit of 5 per 0.5 s reached for policy half; retry in 12 s");
}

#[test]
fn what_can_never_pass_has_no_retry() {
    let never = problem(&[("a", limit(), AFTER_12_S), ("b", limit(), NEVER)]);
    assert_eq!(
        never.detail(),
        "limit of 100 per 60 s reached for policy a; the request costs more than the whole limit of 100 per 60 s \
         of policy b: it can never pass"
    );
    let body: Value = serde_json::from_slice(&never.to_json()).unwrap();
    assert_eq!(body.get("retry-after"), None);
}

#[test]
fn nothing_refused_leaves_the_detail_out() {
    let body: Value =
        serde_json::from_slice(&problem(&[("a", limit(), Outcome::Allowed)]).to_json()).unwrap();
    assert_eq!(body.get("detail"), None);
    assert_eq!(body["violated-policies"], json!([]));
}

#[test]
fn a_member_of_the_same_name_is_replaced_where_it_stands() {
    let problem =
        problem(&[("a", limit(), AFTER_12_S)]).with_member("x", 1).with_member("limit", 7).with_id("d");
    let body = String::from_utf8(problem.with_member("x", "two").to_json()).unwrap();
    assert!(body.ends_with(r#""retry-after":12,"limit":7,"window":60,"x":"two","id":"d"}"#), "{body}");
}

#[test]
fn no_member_takes_the_place_of_a_standard_one() {
    let problem = problem(&[("a", limit(), AFTER_12_S)]);
    for name in ["type", "title", "status", "detail", "instance", "violated-policies"] {
        assert_eq!(problem.clone().with_member(name, "forged").to_json(), problem.to_json());
    }
}

#[test]
fn a_body_names_the_refusal_and_never_the_refused() {
    let (limit, outcome) = (limit(), AFTER_12_S);
    let verdict = verdict(&limit, outcome);
    let key = Some(crate::PartitionKey::from_keyed_hash(b"hash-of-k1"));
    let reports =
        [Report { partition_key: key, dimension: Some("api_key"), ..Report::new("a", &limit, &verdict) }];
    let problem = Problem::from_summary(Kind::QuotaExceeded, &Summary::new(&reports, Timestamp::ZERO));
    let (body, printed) = (String::from_utf8(problem.to_json()).unwrap(), format!("{problem:?}"));
    assert!(!body.contains("k1") && !printed.contains("k1"), "{body} {printed}");
}

fn any_text() -> impl Strategy<Value = String> {
    let character =
        prop_oneof![any::<char>(), prop::char::range('\0', '\x7f'), Just('"'), Just('\\'), Just('\u{2028}')];
    prop::collection::vec(character, 0..40).prop_map(String::from_iter)
}

proptest! {
    #[test]
    fn whatever_a_policy_is_called_the_body_is_json_that_says_so(name in any_text(), other in any_text()) {
        let problem = problem(&[(&name, limit(), AFTER_12_S), (&other, limit(), NEVER)]);
        let body: Value = serde_json::from_slice(&problem.to_json()).unwrap();
        prop_assert_eq!(&body["violated-policies"], &json!([name, other]));
        prop_assert_eq!(&body["detail"], problem.detail());
    }
}

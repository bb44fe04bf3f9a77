//! What Envoy asks and is told, apart from encodings.

mod any;

use proptest::prelude::*;
use tidegate_store::{Reference, Store};
use tidegate_wire::envoy::{
    CurrentLimit, DescriptorStatus, LimitOverride, MetadataDecision, RateLimitRequest, ResponseMetadata,
    TimeUnit,
};

use super::*;
use crate::door::DoorSettings;
use crate::door::tests::{Faulty, Hands, door, door_to, wait};

const TREE: &str = r#"
domain: mesh
rules:
  - { name: own, by: [client], limit: 3/min }
  - { name: softly, by: [soft], limit: 1/min, action: degrade }
  - { name: shaped, by: [queue], limit: { algorithm: leaky_bucket, amount: 1, per: 1s, shape: true, burst: 5 }, action: delay }
  - { name: slots, by: [worker], limit: 2 concurrent }
  - { name: odd, by: [odd], limit: 5/10s }
descriptors:
  - key: user
    rate_limit: { unit: minute, requests_per_unit: 3, name: 'per "user"' }
    metadata: { team: a, deep: { one: 1 } }
  - key: path
    rate_limit: { unit: hour, requests_per_unit: 5 }
    metadata: { team: b, deep: { two: [true, null] } }
  - key: shadow
    rate_limit: { unit: second, requests_per_unit: 1 }
    shadow_mode: true
  - key: free
    rate_limit: { unlimited: true, replaces: [{ name: 'per "user"' }] }
  - key: banned
    rate_limit: { unit: day, requests_per_unit: 0 }
  - key: quota
    value: one
    rate_limit: { unit: day, requests_per_unit: 1 }
    quota_mode: true
  - key: quota
    value: two
    rate_limit: { unit: day, requests_per_unit: 2 }
    quota_mode: true
"#;

fn asked<'r>(key: &'r str, value: &'r str) -> RequestDescriptor<'r> {
    RequestDescriptor { entries: [(key, value)].into_iter().collect(), ..RequestDescriptor::default() }
}

fn request(descriptors: Vec<RequestDescriptor<'_>>) -> RateLimitRequest<'_> {
    RateLimitRequest { domain: "mesh", descriptors: descriptors.into(), ..RateLimitRequest::default() }
}

fn ask<S: Store>(door: &Door<S>, descriptors: Vec<RequestDescriptor<'_>>) -> RateLimitResponse<'static> {
    answered(door, &request(descriptors)).unwrap()
}

fn answered<S: Store>(
    door: &Door<S>,
    request: &RateLimitRequest<'_>,
) -> Result<RateLimitResponse<'static>, Failure> {
    let question = EnvoyQuestion { request: again(request), ..EnvoyQuestion::default() };
    wait(answer(door, &question, owned))
}

/// The same request once more.
fn again<'r>(request: &RateLimitRequest<'r>) -> RateLimitRequest<'r> {
    let descriptor =
        |sent: &RequestDescriptor<'r>| RequestDescriptor { entries: sent.entries.clone(), ..*sent };
    RateLimitRequest { descriptors: request.descriptors.iter().map(descriptor).collect(), ..*request }
}

/// An answer that outlives its decision.
fn owned(response: RateLimitResponse<'_>) -> RateLimitResponse<'static> {
    let RateLimitResponse { allowed, status: refusal, statuses, to_client, to_upstream, body, metadata } =
        response;
    let current =
        |current: CurrentLimit<'_>| CurrentLimit { name: current.name.into_owned().into(), ..current };
    let status =
        |status: DescriptorStatus<'_>| DescriptorStatus { current: status.current.map(current), ..status };
    let leaked = |word: &str| -> &'static str { word.to_owned().leak() };
    let decided =
        metadata.decided.map(|decided| MetadataDecision { rule: decided.rule.map(leaked), ..decided });
    let metadata = ResponseMetadata { decided, domain: leaked(metadata.domain), ..metadata };
    RateLimitResponse {
        allowed,
        status: refusal,
        statuses: statuses.into_iter().map(status).collect(),
        to_client,
        to_upstream,
        body,
        metadata,
    }
}

/// Whether each descriptor is over, and what is left of it.
fn standing(response: &RateLimitResponse<'_>) -> Vec<(bool, u32)> {
    response.statuses.iter().map(|status| (status.over, status.remaining)).collect()
}

fn current(amount: u32, unit: TimeUnit, name: &str) -> CurrentLimit<'_> {
    CurrentLimit { name: name.into(), amount, unit }
}

fn world() -> (Door<Reference>, Hands) {
    door(TREE)
}

#[test]
fn descriptors_are_charged_together_or_not_at_all() {
    let (door, _) = world();
    let both = || vec![asked("user", "a"), asked("path", "/x")];
    for left in [2, 1, 0] {
        let response = ask(&door, both());
        assert_eq!((response.allowed, standing(&response)), (true, vec![(false, left), (false, left + 2)]));
        assert!(response.body.is_empty());
        assert!(response.to_client.get("content-type").is_none());
    }
    let refused = ask(&door, both());
    assert_eq!((refused.allowed, standing(&refused)), (false, vec![(true, 0), (false, 2)]));
    assert_eq!(refused.to_client.get("content-type"), Some("application/problem+json"));
    assert!(String::from_utf8(refused.body).unwrap().contains(r#""status":429"#));
}

#[test]
fn a_status_tells_its_limit_and_when_it_is_whole_again() {
    let (door, hands) = world();
    hands.move_by_s(17);
    let response =
        ask(&door, vec![asked("user", "a"), asked("odd", "b"), asked("worker", "c"), asked("none", "d")]);
    let told: Vec<_> =
        response.statuses.iter().map(|status| (status.current.clone(), status.reset_s)).collect();
    assert_eq!(told[0], (Some(current(3, TimeUnit::Minute, "per _user_")), Some(43)));
    assert_eq!(told[1].0, Some(current(5, TimeUnit::Minute, "odd")));
    assert_eq!(told[2].0, Some(current(2, TimeUnit::Unknown, "slots")));
    assert_eq!(response.statuses[3], DescriptorStatus::default());
}

#[test]
fn the_request_s_cost_is_for_descriptors_without_one_and_0_is_1() {
    let (door, _) = world();
    let hits = |hits| RequestDescriptor { hits: Some(hits), ..asked("user", "a") };
    assert_eq!(standing(&ask(&door, vec![hits(2)])), [(false, 1)]);
    assert_eq!(standing(&ask(&door, vec![asked("user", "a")])), [(false, 0)]);
    let two = RateLimitRequest {
        hits: 2,
        ..request(vec![asked("path", "/x"), RequestDescriptor { hits: Some(1), ..asked("client", "c") }])
    };
    let response = answered(&door, &two).unwrap();
    assert_eq!(standing(&response), [(false, 3), (false, 2)]);
}

#[test]
fn explicit_zero_charges_nothing() {
    let (door, _) = world();
    let peek = || RequestDescriptor { hits: Some(0), ..asked("user", "a") };
    for _ in 0..5 {
        assert_eq!(standing(&ask(&door, vec![peek()])), [(false, 3)]);
    }
    ask(&door, vec![RequestDescriptor { hits: Some(3), ..asked("user", "a") }]);
    let passed = ask(&door, vec![peek(), asked("path", "/x")]);
    assert_eq!((passed.allowed, standing(&passed)), (true, vec![(false, 0), (false, 4)]), "count = limit");
    ask(&door, vec![RequestDescriptor { hits: Some(1), ..asked("user", "a") }]);
    let refused = ask(&door, vec![peek(), asked("path", "/x")]);
    assert_eq!((refused.allowed, standing(&refused)), (false, vec![(true, 0), (false, 4)]), "count > limit");
}

#[test]
fn negative_hits_are_given_back_and_the_rest_is_checked() {
    let (door, _) = world();
    let back = |hits, key: &'static str| RequestDescriptor { hits, negative: true, ..asked(key, "a") };
    ask(&door, vec![RequestDescriptor { hits: Some(3), ..asked("user", "a") }]);
    assert_eq!(standing(&ask(&door, vec![back(Some(2), "user")])), [(false, 2)]);
    let mixed = ask(&door, vec![asked("path", "/x"), back(None, "user"), asked("path", "/y")]);
    assert_eq!((mixed.allowed, standing(&mixed)), (true, vec![(false, 4), (false, 3), (false, 4)]));
    assert_eq!(standing(&ask(&door, vec![back(Some(1_000_000), "user")])), [(false, 3)]);
    ask(&door, vec![asked("worker", "a")]);
    assert_eq!(standing(&ask(&door, vec![back(None, "worker")])), [(false, 2)]);
}

#[test]
fn a_refund_happens_even_if_the_rest_is_refused() {
    let (door, _) = world();
    ask(&door, vec![asked("user", "a"), RequestDescriptor { hits: Some(5), ..asked("path", "/x") }]);
    let mixed =
        ask(&door, vec![asked("path", "/x"), RequestDescriptor { negative: true, ..asked("user", "a") }]);
    assert_eq!((mixed.allowed, standing(&mixed)), (false, vec![(true, 0), (false, 3)]));
}

#[test]
fn what_is_in_the_shadow_is_ok_with_nothing_left() {
    let (door, _) = world();
    ask(&door, vec![asked("shadow", "a")]);
    let response = ask(&door, vec![asked("shadow", "a")]);
    assert_eq!((response.allowed, standing(&response)), (true, vec![(false, 0)]));
    assert_eq!(response.statuses[0].current, Some(current(1, TimeUnit::Second, "")));
    assert!(response.to_client.is_empty());
}

#[test]
fn quotas_refuse_only_together() {
    let (door, _) = world();
    let both = || vec![asked("quota", "one"), asked("quota", "two")];
    assert_eq!(standing(&ask(&door, both())), [(false, 0), (false, 1)]);
    let second = ask(&door, both());
    assert_eq!((second.allowed, standing(&second)), (true, vec![(true, 0), (false, 0)]));
    let third = ask(&door, both());
    assert_eq!((third.allowed, standing(&third)), (false, vec![(true, 0), (true, 0)]));
    assert!(third.to_client.get("retry-after").is_some());
}

#[test]
fn what_is_unlimited_has_all_there_is_and_replaces_another_limit() {
    let (door, _) = world();
    let response = ask(&door, vec![asked("user", "a"), asked("free", "b")]);
    assert_eq!(standing(&response), [(false, 0), (false, u32::MAX)]);
    assert!(response.statuses.iter().all(|status| status.current.is_none()));
    assert_eq!(response.metadata.to_json().get("metadata"), None);
}

#[test]
fn a_limit_that_comes_with_a_descriptor_goes_before_the_rules() {
    let (door, _) = world();
    let limit = Some(LimitOverride { amount: 9, unit: TimeUnit::Hour });
    let response = ask(&door, vec![RequestDescriptor { limit, ..asked("user", "a") }]);
    assert_eq!(
        (standing(&response), &response.statuses[0].current),
        (vec![(false, 8)], &Some(current(9, TimeUnit::Hour, "")))
    );
}

#[test]
fn whoever_serves_the_request_is_told_to_do_less_or_to_wait() {
    let (door, _) = world();
    assert!(ask(&door, vec![asked("soft", "a")]).to_upstream.is_empty());
    let soft = ask(&door, vec![asked("soft", "a")]);
    assert_eq!((soft.allowed, soft.to_upstream), (true, vec![(DEGRADE, "softly".to_owned())]));
    ask(&door, vec![asked("queue", "a")]);
    let delayed = ask(&door, vec![asked("queue", "a")]);
    assert_eq!((delayed.allowed, delayed.to_upstream), (true, vec![(DELAY, "1000".to_owned())]));
}

#[test]
fn metadata_of_what_passed_is_merged_and_the_first_word_counts() {
    let (door, _) = world();
    let response = ask(&door, vec![asked("user", "a"), asked("path", "/x")]);
    let metadata = serde_json::json!({ "team": "a", "deep": { "one": 1, "two": [true, null] } });
    assert_eq!(response.metadata.to_json()["metadata"], metadata);
    assert_eq!(
        (&response.metadata.to_json()["domain"], &response.metadata.to_json()["snapshot"]),
        (&"mesh".into(), &7.into())
    );
    ask(&door, vec![RequestDescriptor { hits: Some(2), ..asked("user", "a") }]);
    let refused = ask(&door, vec![asked("user", "a"), asked("path", "/x")]);
    assert_eq!(
        (&refused.metadata.to_json()["metadata"]["team"], &refused.metadata.to_json()["rule"]),
        (&"b".into(), &"user".into())
    );
}

#[test]
fn what_nobody_could_decide_is_a_failure_or_over_the_limit_as_set() {
    let rules = "domain: mesh\ndefaults: { class: security }\nrules: [{ name: a, by: [user], limit: 1/s }]";
    let asks = request(vec![asked("user", "a"), asked("path", "/x")]);
    let settings = DoorSettings { undecided: Undecided::Unavailable, ..DoorSettings::default() };
    let (door, _) = door_to(Faulty::Failing, rules, settings);
    assert!(matches!(answered(&door, &asks), Err(Failure::Undecided)));
    let (door, _) = door_to(Faulty::Failing, rules, DoorSettings::default());
    let response = answered(&door, &asks).unwrap();
    assert_eq!((response.allowed, standing(&response)), (false, vec![(true, 0), (true, 0)]));
    assert!(String::from_utf8(response.body).unwrap().contains(r#""status":503"#));
}

proptest! {
    #[test]
    fn whatever_is_asked_each_descriptor_has_its_status(requests in prop::collection::vec(any::request(), 1..8)) {
        let (door, _) = world();
        for request in requests {
            match answered(&door, &request) {
                Ok(response) => {
                    prop_assert_eq!(response.statuses.len(), request.descriptors.len());
                    prop_assert!(response.allowed || response.statuses.iter().any(|status| status.over));
                    prop_assert_eq!(response.allowed, response.body.is_empty());
                }
                Err(Failure::Malformed(message) | Failure::Sent(message)) => prop_assert!(!message.is_empty()),
                Err(Failure::Undecided) => prop_assert!(false, "an embedded store always decides"),
            }
        }
    }
}

#[test]
fn explicit_hits_count_past_the_limit() {
    let (door, _) = world();
    let hits = |hits| vec![RequestDescriptor { hits: Some(hits), ..asked("path", "/x") }];
    assert!(ask(&door, hits(0)).allowed && ask(&door, hits(4)).allowed && ask(&door, hits(0)).allowed);
    assert!(!ask(&door, hits(4)).allowed);
    assert!(!ask(&door, hits(0)).allowed, "8 of 5 are used");
}

#[test]
fn late_hits_count_beside_an_exceeded_limit() {
    let (door, _) = world();
    let hits = |key: &'static str, hits| RequestDescriptor { hits: Some(hits), ..asked(key, "a") };
    ask(&door, vec![hits("user", 9)]);
    assert!(!ask(&door, vec![hits("user", 0), hits("path", 4)]).allowed);
    assert_eq!(standing(&ask(&door, vec![hits("path", 0)])), [(false, 1)]);
}

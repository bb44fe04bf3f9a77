//! Reservations, slots and refunds.

use super::*;
use tidegate_engine::Settled;

fn with(mut body: Value, more: Value) -> Value {
    if let (Some(body), Value::Object(more)) = (body.as_object_mut(), more) {
        body.extend(more);
    }
    body
}

async fn left(door: &Door<Reference>) -> Value {
    post(door, "/v1/peek", alice()).await.body["limits"][0]["remaining"].clone()
}

#[tokio::test]
async fn a_reservation_is_committed_at_what_it_cost() {
    let (door, _) = door("domain: api\nrules: [{ name: tokens, by: [user], limit: 100/min }]");
    let reserved = post(&door, "/v1/reserve", with(alice(), json!({ "cost": 80, "hold_ms": 1000 }))).await;
    assert_eq!((reserved.status.as_u16(), left(&door).await), (200, json!(20)));
    let commit = json!({ "id": reserved.body["id"], "cost": 30 });
    assert_eq!(post(&door, "/v1/commit", &commit).await.body, json!({ "settled": true }));
    assert_eq!(left(&door).await, 70);
    assert!(post(&door, "/v1/commit", &commit).await.problem(410).starts_with("there is nothing"));
}

#[tokio::test]
async fn a_reservation_is_cancelled_or_given_back_at_its_end() {
    let (door, hands) = door("domain: api\nrules: [{ name: tokens, by: [user], limit: 100/hour }]");
    let reserved = post(&door, "/v1/reserve", with(alice(), json!({ "cost": 80 }))).await;
    let id = json!({ "id": reserved.body["id"] });
    assert_eq!(post(&door, "/v1/cancel", &id).await.status, 200);
    assert_eq!(left(&door).await, 100);
    let hold = json!({ "cost": 80, "hold_ms": 1000, "at_end": "give_back" });
    assert_eq!(post(&door, "/v1/reserve", with(alice(), hold)).await.status, 200);
    hands.move_by_s(2);
    assert_eq!(left(&door).await, 100);
}

#[tokio::test]
async fn a_slot_is_renewed_and_released() {
    let (door, _) = door(RULES);
    let export = json!({ "domain": "api", "attributes": { "user": "alice", "path": "/export" } });
    let held = post(&door, "/v1/check", &export).await;
    let back = post(&door, "/v1/check", &export).await;
    assert_eq!((back.problem(429).is_empty(), &back.body["reason"]), (false, &json!("endpoint-concurrency")));
    let id = json!({ "id": held.body["id"] });
    let renewed = post(&door, "/v1/renew", &id).await;
    assert_eq!((renewed.status.as_u16(), &renewed.body["settled"]), (200, &json!(true)));
    assert!(renewed.body["ends_after_ms"].as_u64().unwrap() > 0);
    assert_eq!(post(&door, "/v1/release", &id).await.body, json!({ "settled": true }));
    assert_eq!(post(&door, "/v1/check", &export).await.status, 200);
    for path in ["/v1/renew", "/v1/release", "/v1/cancel"] {
        post(&door, path, &id).await.problem(410);
    }
}

#[tokio::test]
async fn a_refund_gives_back_what_was_charged_and_no_more() {
    let (door, _) = door(RULES);
    for _ in 0..2 {
        post(&door, "/v1/check", alice()).await;
    }
    let back = post(
        &door,
        "/v1/refund",
        with(alice(), json!({ "cost": 9, "charged_at_ms": 1_800_000_000_000_u64 })),
    )
    .await;
    assert_eq!((back.status.as_u16(), &back.body["decision"]), (200, &json!("allow")));
    let limit = &back.body["limits"][0];
    assert_eq!((&limit["allowed"], &limit["remaining"]), (&json!(true), &json!(2)), "it asks for nothing");
    assert_eq!(left(&door).await, 2);
}

#[tokio::test]
async fn a_refund_that_nobody_could_make_is_told_as_such_whatever_the_class() {
    for class in ["comfort", "security"] {
        let rules = format!("domain: api\nrules: [{{ name: a, by: [user], limit: 1/s, class: {class} }}]");
        let (door, _) = door_to(Faulty::Failing, &rules, DoorSettings::default());
        let back = post(&door, "/v1/refund", alice()).await;
        assert_eq!(back.problem(503), "it could not be given back; retry in 1 s");
    }
}

#[test]
fn what_cannot_be_settled_is_503_with_a_time_to_return() {
    let response = crate::http::settle::respond(&Settled::Failed("the store is full".to_owned()));
    assert_eq!((response.status.as_u16(), response.headers.get("retry-after")), (503, Some("1")));
}

#[tokio::test]
async fn a_cost_beyond_all_bounds_is_refused() {
    let (door, _) = door(RULES);
    let id = "0".repeat(32);
    let back = post(&door, "/v1/commit", json!({ "id": id, "cost": u64::MAX })).await;
    assert!(back.problem(400).contains("is more than"));
}

#[tokio::test]
async fn what_nobody_decided_holds_nothing() {
    let rules = "domain: api\nrules: [{ name: a, by: [user], limit: 1/s }]";
    let (door, _) = door_to(Faulty::Failing, rules, DoorSettings::default());
    let reserved = post(&door, "/v1/reserve", alice()).await;
    assert_eq!(reserved.body["reason"], "undecided");
    let back = post(&door, "/v1/cancel", json!({ "id": reserved.body["id"] })).await;
    back.problem(410);
}

/// Requests and tokens a minute, and the points of a query.
const MODEL: &str = "domain: api
rules:
  - { name: rpm, by: [user], limit: 60/min }
  - { name: tpm, by: [user], limit: 10000/min, cost: tokens }
  - { name: points, by: [shop], limit: 1000/min, cost: { attribute: points } }";

fn asked(attributes: &Value) -> Value {
    json!({ "domain": "api", "attributes": attributes })
}

/// What is left of each limit that a check of these attributes meets.
async fn all_left(door: &Door<Reference>, attributes: &Value) -> Vec<u64> {
    let peeked = post(door, "/v1/peek", with(asked(attributes), json!({ "cost": 0 }))).await;
    let limits = peeked.body["limits"].as_array().unwrap().clone();
    limits.iter().map(|limit| limit["remaining"].as_u64().unwrap()).collect()
}

#[tokio::test]
async fn commit_measures_tokens_anew() {
    let (door, _) = door(MODEL);
    let user = json!({ "user": "a" });
    let model = json!({ "user": "a", "tokens": 1000.0 });
    for used in [json!({ "attributes": { "tokens": 400 } }), json!({ "cost": 400 })] {
        let reserved = post(&door, "/v1/reserve", asked(&model)).await;
        let commit = with(json!({ "id": reserved.body["id"] }), used);
        assert_eq!(post(&door, "/v1/commit", &commit).await.body, json!({ "settled": true }));
    }
    assert_eq!(all_left(&door, &user).await, [58, 9_200]);
}

#[tokio::test]
async fn commit_charges_the_points_of_a_query() {
    let (door, _) = door(MODEL);
    let shop = json!({ "shop": "s" });
    let reserved = post(&door, "/v1/reserve", asked(&json!({ "shop": "s", "points": 100 }))).await;
    let commit = json!({ "id": reserved.body["id"], "cost": 30 });
    assert_eq!(post(&door, "/v1/commit", &commit).await.status, 200);
    assert_eq!(all_left(&door, &shop).await, [970]);
}

#[tokio::test]
async fn commit_says_what_it_can_read() {
    let (door, _) = door(MODEL);
    let reserved = post(&door, "/v1/reserve", asked(&json!({ "user": "a", "tokens": 5 }))).await;
    let id = json!({ "id": reserved.body["id"] });
    for (used, expected) in [
        (json!({ "attributes": { "token": 4 } }), "its rules read tokens"),
        (json!({ "attributes": { "tokens": "lots" } }), "is no whole number"),
        (json!({ "attributes": { "tokens": 4 }, "cost": 4 }), "send one of them"),
    ] {
        let answer = post(&door, "/v1/commit", with(id.clone(), used)).await;
        let refused = answer.problem(400);
        assert!(refused.contains(expected), "{refused}");
    }
    assert_eq!(post(&door, "/v1/commit", with(id, json!({ "cost": 4 }))).await.status, 200);
}

#[tokio::test]
async fn refund_of_tokens_gives_back_no_request() {
    let (door, _) = door(MODEL);
    let user = json!({ "user": "a" });
    assert_eq!(post(&door, "/v1/check", asked(&json!({ "user": "a", "tokens": 1000 }))).await.status, 200);
    assert_eq!(post(&door, "/v1/refund", asked(&json!({ "user": "a", "tokens": 600 }))).await.status, 200);
    assert_eq!(all_left(&door, &user).await, [59, 9_600]);
}

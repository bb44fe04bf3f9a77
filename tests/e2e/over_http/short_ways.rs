//! Reserve, commit and cancel; release and renew; refund.

use serde_json::{Value, json};

use crate::client::Answer;
use crate::tidegate::{Tidegate, of};

const TEN: &str = "domain: api\nrules:\n  - name: per-key\n    by: [api_key]\n    limit: 10/h\n";
const ROOM_FOR_ONE: &str =
    "domain: api\nrules:\n  - name: room\n    by: [api_key]\n    limit: 1 concurrent\n";

fn costing(cost: u64) -> Value {
    json!({ "domain": "api", "attributes": { "api_key": "k1" }, "cost": cost })
}

fn id(answer: &Answer) -> Value {
    answer.json()["id"].clone()
}

#[tokio::test]
async fn a_commit_settles_at_what_it_really_cost() {
    let tidegate = Tidegate::with(TEN).await;
    let reserved = tidegate.post("/v1/reserve", costing(8)).await.expect(200);
    assert_eq!(tidegate.left("k1").await, 2);
    tidegate.post("/v1/check", costing(3)).await.expect(429);
    tidegate.post("/v1/commit", json!({ "id": id(&reserved), "cost": 5 })).await.expect(200);
    assert_eq!(tidegate.left("k1").await, 5);
}

#[tokio::test]
async fn a_cancelled_reservation_gives_everything_back_once() {
    let tidegate = Tidegate::with(TEN).await;
    let first = tidegate.post("/v1/reserve", costing(4)).await.expect(200);
    tidegate.post("/v1/reserve", costing(4)).await.expect(200);
    tidegate.post("/v1/cancel", json!({ "id": id(&first) })).await.expect(200);
    assert_eq!(tidegate.left("k1").await, 6);
    let again = tidegate.post("/v1/cancel", json!({ "id": id(&first) })).await;
    assert!((400..500).contains(&again.status), "{again:?}");
    assert_eq!(tidegate.left("k1").await, 6);
}

#[tokio::test]
async fn a_reservation_past_the_limit_is_refused_as_a_check_is() {
    let tidegate = Tidegate::with(TEN).await;
    let refused = tidegate.post("/v1/reserve", costing(11)).await.expect(429);
    assert_eq!(refused.json()["denied_by"], json!(["per-key"]));
    assert_eq!(tidegate.left("k1").await, 10);
}

#[tokio::test]
async fn a_released_slot_is_free_again() {
    let tidegate = Tidegate::with(ROOM_FOR_ONE).await;
    let held = tidegate.check("k1").await.expect(200);
    tidegate.check("k1").await.expect(429);
    tidegate.post("/v1/renew", json!({ "id": id(&held) })).await.expect(200);
    tidegate.check("k1").await.expect(429);
    tidegate.post("/v1/release", json!({ "id": id(&held) })).await.expect(200);
    tidegate.check("k1").await.expect(200);
}

#[tokio::test]
async fn a_refund_gives_back_what_such_a_check_took_and_no_more() {
    let tidegate = Tidegate::with(TEN).await;
    tidegate.post("/v1/check", costing(6)).await.expect(200);
    assert_eq!(tidegate.left("k1").await, 4);
    let given_back = tidegate.post("/v1/refund", costing(4)).await.expect(200).json();
    assert_eq!(given_back["limits"][0]["remaining"], 8, "{given_back}");
    tidegate.post("/v1/refund", costing(4)).await.expect(200);
    assert_eq!(tidegate.left("k1").await, 10);
}

#[tokio::test]
async fn what_nobody_has_given_out_cannot_be_settled() {
    let tidegate = Tidegate::with(TEN).await;
    for way in ["commit", "cancel", "release", "renew", "refund"] {
        let answer = tidegate.post(&format!("/v1/{way}"), json!({ "id": "d-none", "cost": 1 })).await;
        assert!((400..500).contains(&answer.status), "{way}: {answer:?}");
        assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{way}: {answer:?}");
    }
    tidegate.post("/v1/check", of("k1")).await.expect(200);
}

//! `hits_addend`: what a request costs, as Envoy's configuration says.

use serde_json::{Value, json};

use crate::envoy::{Envoy, Settings, header};
use crate::tidegate::Tidegate;

const TEN: &str = "
domain: api
rules:
  - name: per-key
    by: [api_key]
    limit: 10/h
";

fn costing(hits_addend: &Value) -> Settings {
    Settings::rate_limits(
        json!([{ "actions": [header("x-api-key", "api_key")], "hits_addend": hits_addend }]),
    )
}

#[tokio::test]
async fn a_request_takes_as_many_units_as_its_route_says() {
    let tidegate = Tidegate::with(TEN).await;
    let envoy = Envoy::start(tidegate.grpc, &costing(&json!({ "number": 3 }))).await;
    for left in [7, 4, 1] {
        envoy.ask("k1").await.expect(200);
        assert_eq!(tidegate.left("k1").await, left);
    }
    envoy.ask("k1").await.expect(429);
    assert_eq!(tidegate.left("k1").await, 1, "a refused request takes nothing");
}

#[tokio::test]
async fn a_request_takes_as_many_units_as_its_header_says() {
    let tidegate = Tidegate::with(TEN).await;
    let envoy = Envoy::start(tidegate.grpc, &costing(&json!({ "format": "%REQ(x-cost)%" }))).await;
    let ask = async |cost: &str| envoy.get("/", &[("x-api-key", "k1"), ("x-cost", cost)]).await.status;
    assert_eq!(ask("6").await, 200);
    assert_eq!(ask("5").await, 429);
    assert_eq!(ask("4").await, 200);
    assert_eq!(ask("1").await, 429);
}

#[tokio::test]
async fn a_cost_of_zero_asks_without_taking() {
    let tidegate = Tidegate::with(TEN).await;
    let envoy = Envoy::start(tidegate.grpc, &costing(&json!({ "format": "%REQ(x-cost)%" }))).await;
    let ask = async |cost: &str| envoy.get("/", &[("x-api-key", "k1"), ("x-cost", cost)]).await.status;
    for _ in 0..3 {
        assert_eq!(ask("0").await, 200);
    }
    assert_eq!(tidegate.left("k1").await, 10);
}

#[tokio::test]
async fn negative_hits_give_back_and_never_more_than_was_taken() {
    let tidegate = Tidegate::with(TEN).await;
    let back = Envoy::start(tidegate.grpc, &costing(&json!({ "number": 4, "is_negative_hits": true }))).await;
    let taken = json!({ "domain": "api", "attributes": { "api_key": "k1" }, "cost": 6 });
    tidegate.post("/v1/check", taken).await.expect(200);
    back.ask("k1").await.expect(200);
    assert_eq!(tidegate.left("k1").await, 8);
    back.ask("k1").await.expect(200);
    assert_eq!(tidegate.left("k1").await, 10);
}

//! `hits_addend`: what a request costs, as Envoy's configuration says.

use serde_json::{Value, json};

use crate::envoy::{Envoy, Settings, header};
use crate::patience::until;
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

/// As in envoyproxy/ratelimit's example of a token quota: asked before, charged once the response is known.
const QUOTA: &str = "
domain: api
descriptors:
  - { key: service, value: two, quota_mode: true, rate_limit: { unit: year, requests_per_unit: 2, name: two } }
";

/// How often the rule has judged a charge.
async fn judged(tidegate: &Tidegate) -> u64 {
    let metrics = tidegate.metrics().await;
    let of_rule =
        |line: &str| line.starts_with("ratelimit_decisions_total{domain=\"api\",rule=\"service=two\"");
    let counts = metrics.lines().filter(|line| of_rule(line));
    counts.filter_map(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok()).sum()
}

#[tokio::test]
async fn late_costs_use_up_a_quota() {
    let tidegate = Tidegate::with(QUOTA).await;
    let service = json!([{ "generic_key": { "descriptor_key": "service", "descriptor_value": "two" } }]);
    let limits = json!([
        { "actions": service, "hits_addend": { "number": 0 } },
        { "actions": service, "hits_addend": { "number": 1 }, "apply_on_stream_done": true },
    ]);
    let envoy = Envoy::start(tidegate.grpc, &Settings::rate_limits(limits)).await;
    for charges in 1..=3 {
        envoy.ask("k1").await.expect(200);
        let arrived = async || (judged(&tidegate).await == charges).then_some(());
        until("the late charge", arrived).await;
    }
    envoy.ask("k1").await.expect(429);
}

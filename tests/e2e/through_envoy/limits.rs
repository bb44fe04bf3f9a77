//! Which requests pass, and what a refusal looks like.

use serde_json::{Value, json};

use crate::client::Answer;
use crate::envoy::{Envoy, Settings, header};
use crate::tidegate::Tidegate;

const PER_KEY: &str = "
domain: api
rules:
  - name: per-key
    by: [api_key]
    limit: 2/h
";

#[tokio::test]
async fn passes_what_the_rules_allow_and_refuses_the_rest() {
    let tidegate = Tidegate::with(PER_KEY).await;
    let envoy = Envoy::start(tidegate.grpc, &Settings::api_key()).await;
    for _ in 0..2 {
        let answer = envoy.ask("k1").await.expect(200);
        assert_eq!(answer.json()["headers"]["x-api-key"], "k1", "the upstream answers");
    }
    envoy.ask("k1").await.expect(429);
    envoy.ask("k2").await.expect(200);
    assert_eq!(envoy.upstream.served(), 3, "a refused request does not reach the upstream");
    assert_eq!(envoy.stat("cluster.upstream.ratelimit.over_limit").await, 1);
    assert_eq!(envoy.stat("cluster.upstream.ratelimit.error").await, 0, "{}", envoy.said());
}

#[tokio::test]
async fn a_refusal_arrives_with_our_body_and_headers_intact() {
    let tidegate = Tidegate::with(PER_KEY).await;
    let envoy = Envoy::start(tidegate.grpc, &Settings::api_key()).await;
    envoy.ask("k1").await.expect(200);
    envoy.ask("k1").await.expect(200);
    let answer = envoy.ask("k1").await.expect(429);
    assert_is_our_refusal(&answer);
    assert_eq!(answer.header("x-envoy-ratelimited"), Some("true"), "Envoy's own word is there as well");
}

fn assert_is_our_refusal(answer: &Answer) {
    assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{answer:?}");
    assert_eq!(answer.header("x-ratelimit-denied-by"), Some(r#"api_key;rule="per-key""#), "{answer:?}");
    assert_eq!(answer.header("ratelimit-policy"), Some(r#""per-key";q=2;w=3600"#), "{answer:?}");
    let standing = answer.header("ratelimit").unwrap();
    assert!(standing.starts_with(r#""per-key";r=0;t="#), "{standing}");
    let seconds: u64 = answer.header("retry-after").unwrap().parse().expect("whole seconds");
    assert!((1..=2 * 3600).contains(&seconds), "{seconds}");
    let problem = answer.json();
    assert_eq!(problem["type"], "https://iana.org/assignments/http-problem-types#quota-exceeded");
    assert_eq!(problem["status"], 429);
    assert_eq!(problem["violated-policies"], json!(["per-key"]));
    assert!(problem["id"].is_string(), "{problem}");
    assert!(!answer.body.contains("k1"), "a refusal shows the key");
}

#[tokio::test]
async fn a_rule_chooses_the_status_and_the_words_of_its_refusal() {
    let rules = "
domain: api
rules:
  - name: trial
    by: [api_key]
    limit: 1/h
    status: 403
    title: Trial over
    message: Ask sales for more.
";
    let tidegate = Tidegate::with(rules).await;
    let envoy = Envoy::start(tidegate.grpc, &Settings::api_key()).await;
    envoy.ask("k1").await.expect(200);
    let problem = envoy.ask("k1").await.json();
    assert_eq!(problem["title"], "Trial over");
    assert_eq!(problem["detail"], "Ask sales for more.");
}

#[tokio::test]
async fn addresses_are_counted_apart_and_a_network_of_ipv6_as_one() {
    let rules = "
domain: api
rules:
  - name: per-ip
    by: [ip]
    scope: global
    limit: 1/h
";
    let tidegate = Tidegate::with(rules).await;
    let settings = Settings::actions(&json!([{ "remote_address": {} }]));
    let envoy = Envoy::start(tidegate.grpc, &settings).await;
    let from = async |address: &str| envoy.get("/", &[("x-forwarded-for", address)]).await.status;
    assert_eq!(from("203.0.113.7").await, 200);
    assert_eq!(from("203.0.113.7").await, 429);
    assert_eq!(from("198.51.100.1, 203.0.113.7").await, 429, "a forged hop changes nothing");
    assert_eq!(from("203.0.113.8").await, 200);
    assert_eq!(from("2001:db8::1").await, 200);
    assert_eq!(from("2001:db8::ffff").await, 429, "one /64 is one client");
    assert_eq!(from("2001:db8:0:1::1").await, 200);
}

#[tokio::test]
async fn rules_see_methods_and_paths_that_envoy_sends() {
    let rules = r#"
domain: api
rules:
  - name: orders-write
    match: { method: [POST, GET], path: "/api/v1/orders/**", stage: live }
    by: [api_key]
    limit: 1/h
"#;
    let tidegate = Tidegate::with(rules).await;
    let stage = json!({ "generic_key": { "descriptor_key": "stage", "descriptor_value": "live" } });
    let actions =
        json!([stage, header(":method", "method"), header(":path", "path"), header("x-api-key", "api_key")]);
    let envoy = Envoy::start(tidegate.grpc, &Settings::actions(&actions)).await;
    let key = [("x-api-key", "k1")];
    envoy.get("/api/v1/orders/7", &key).await.expect(200);
    envoy.get("/api/v1/orders/8/lines", &key).await.expect(429);
    envoy.get("/api/v1/users", &key).await.expect(200);
    envoy.get("/api/v1/users", &key).await.expect(200);
}

#[tokio::test]
async fn of_two_descriptors_the_one_over_its_limit_refuses_and_the_other_is_not_charged() {
    let rules = "
domain: api
rules:
  - name: per-key
    by: [api_key]
    limit: 1/h
  - name: per-org
    by: [org]
    limit: 3/h
";
    let tidegate = Tidegate::with(rules).await;
    let limits =
        json!([{ "actions": [header("x-api-key", "api_key")] }, { "actions": [header("x-org", "org")] }]);
    let envoy = Envoy::start(tidegate.grpc, &Settings::rate_limits(limits)).await;
    let ask = async |key: &str| envoy.get("/", &[("x-api-key", key), ("x-org", "acme")]).await;
    ask("k1").await.expect(200);
    for _ in 0..5 {
        let refused: Value = ask("k1").await.expect(429).json();
        assert_eq!(refused["violated-policies"], json!(["per-key"]));
    }
    ask("k2").await.expect(200);
    ask("k3").await.expect(200);
    let refused = ask("k4").await.expect(429);
    assert_eq!(refused.header("x-ratelimit-denied-by"), Some(r#"org;rule="per-org""#));
}

#[tokio::test]
async fn nothing_is_refused_in_a_domain_without_rules() {
    let tidegate = Tidegate::with("domain: other\nrules: []\n").await;
    let envoy = Envoy::start(tidegate.grpc, &Settings::api_key()).await;
    for _ in 0..5 {
        envoy.ask("k1").await.expect(200);
    }
    assert_eq!(envoy.stat("cluster.upstream.ratelimit.error").await, 0);
    assert_eq!(envoy.stat("cluster.upstream.ratelimit.ok").await, 5);
}

#[tokio::test]
async fn a_limit_that_envoy_sends_along_stands_in_for_the_tree_s() {
    let tree = "
domain: api
descriptors:
  - key: api_key
    rate_limit: { unit: year, requests_per_unit: 1 }
";
    let tidegate = Tidegate::with(tree).await;
    let own = json!({ "rate_limit": { "requests_per_unit": 3, "unit": "YEAR" } });
    let limits = json!([{ "actions": [header("x-api-key", "api_key")], "limit": own }]);
    let envoy = Envoy::start(tidegate.grpc, &Settings::rate_limits(limits)).await;
    for _ in 0..3 {
        envoy.ask("k1").await.expect(200);
    }
    envoy.ask("k1").await.expect(429);
}

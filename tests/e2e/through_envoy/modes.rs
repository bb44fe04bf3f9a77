//! Rules that do not refuse: shadow, degrade, delay, log.

use serde_json::json;

use crate::client::Answer;
use crate::envoy::{Envoy, Settings};
use crate::tidegate::Tidegate;

/// A rule of one request per hour and key, with more lines.
fn one_per_hour(more: &str) -> String {
    format!("domain: api\nrules:\n  - name: per-key\n    by: [api_key]\n    limit: 1/h\n{more}")
}

/// What three requests with one key see, past a limit of one.
async fn three(rules: &str) -> (Tidegate, Envoy, Vec<Answer>) {
    let tidegate = Tidegate::with(rules).await;
    let envoy = Envoy::start(tidegate.grpc, &Settings::api_key()).await;
    let mut answers = Vec::new();
    for _ in 0..3 {
        answers.push(envoy.ask("k1").await);
    }
    (tidegate, envoy, answers)
}

#[tokio::test]
async fn a_shadow_rule_lets_everything_pass_and_is_counted() {
    let (tidegate, envoy, answers) = three(&one_per_hour("    mode: shadow\n")).await;
    for answer in answers {
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.header("retry-after"), None);
        assert_eq!(answer.header("x-ratelimit-denied-by"), None);
    }
    assert_eq!(envoy.upstream.served(), 3);
    let metrics = tidegate.metrics().await;
    let shadowed = r#"ratelimit_decisions_total{domain="api",rule="per-key",outcome="shadow_denied"} 2"#;
    assert!(metrics.lines().any(|line| line == shadowed), "{metrics}");
}

#[tokio::test]
async fn no_client_sees_a_shadow_rule() {
    let rules = "
domain: api
rules:
  - { name: per-key, by: [api_key], limit: 2/h }
  - { name: secret-rule, by: [api_key], limit: 1/h, mode: shadow }
descriptors:
  - key: api_key
    shadow_mode: true
    rate_limit: { name: secret-limit, unit: year, requests_per_unit: 1 }
";
    let tidegate = Tidegate::with(rules).await;
    let settings = Settings::api_key().with("enable_x_ratelimit_headers", json!("DRAFT_VERSION_03"));
    let envoy = Envoy::start(tidegate.grpc, &settings).await;
    let mut statuses = Vec::new();
    for _ in 0..4 {
        let answer = envoy.ask("k1").await;
        assert!(!format!("{answer:?}").contains("secret"), "{answer:?}");
        statuses.push(answer.status);
    }
    assert_eq!(statuses, [200, 200, 429, 429]);
}

#[tokio::test]
async fn the_upstream_is_told_to_do_less() {
    let (_tidegate, _envoy, answers) = three(&one_per_hour("    action: degrade\n")).await;
    let [within, past, _] = answers.as_slice() else { panic!() };
    assert_eq!((within.status, past.status), (200, 200));
    assert!(within.json()["headers"]["x-tidegate-degrade"].is_null());
    assert!(!past.json()["headers"]["x-tidegate-degrade"].is_null(), "{past:?}");
}

#[tokio::test]
async fn the_upstream_is_told_how_long_to_wait() {
    let rules = "
domain: api
rules:
  - name: paced
    by: [api_key]
    limit: { algorithm: leaky_bucket, amount: 60, per: 1h, queue: 2, shape: true }
";
    let (_tidegate, _envoy, answers) = three(rules).await;
    let [at_once, later, never] = answers.as_slice() else { panic!() };
    assert_eq!((at_once.status, later.status, never.status), (200, 200, 429), "{answers:?}");
    assert!(at_once.json()["headers"]["x-tidegate-delay-ms"].is_null());
    let told = later.json();
    let delay: u64 = told["headers"]["x-tidegate-delay-ms"].as_str().unwrap().parse().unwrap();
    assert!((50_000..=60_000).contains(&delay), "{delay}");
}

#[tokio::test]
async fn a_rule_that_only_logs_refuses_nothing() {
    let (_tidegate, envoy, _answers) = three(&one_per_hour("    action: log\n")).await;
    assert_eq!(envoy.upstream.served(), 3);
}

//! Headers on what passes: ours, and those that Envoy makes of our statuses.

use serde_json::json;

use crate::client::Answer;
use crate::envoy::{Envoy, Settings, header};
use crate::tidegate::Tidegate;

const TWO_LIMITS: &str = "
domain: api
rules:
  - name: per-key
    by: [api_key]
    limit: 3/h
  - name: per-org
    by: [org]
    limit: 100/day
";

async fn start() -> (Tidegate, Envoy) {
    let tidegate = Tidegate::with(TWO_LIMITS).await;
    let limits =
        json!([{ "actions": [header("x-api-key", "api_key")] }, { "actions": [header("x-org", "org")] }]);
    let settings =
        Settings::rate_limits(limits).with("enable_x_ratelimit_headers", json!("DRAFT_VERSION_03"));
    let envoy = Envoy::start(tidegate.grpc, &settings).await;
    (tidegate, envoy)
}

async fn ask(envoy: &Envoy) -> Answer {
    envoy.get("/", &[("x-api-key", "k1"), ("x-org", "acme")]).await
}

#[tokio::test]
async fn envoy_s_own_headers_name_the_limit_closest_to_its_end() {
    let (_tidegate, envoy) = start().await;
    for left in ["2", "1", "0"] {
        let answer = ask(&envoy).await.expect(200);
        let limit = answer.header("x-ratelimit-limit").unwrap();
        assert_eq!(limit, r#"3, 3;w=3600;name="per-key", 100;w=86400;name="per-org""#);
        assert_eq!(answer.header("x-ratelimit-remaining"), Some(left));
        let reset: u64 = answer.header("x-ratelimit-reset").unwrap().parse().unwrap();
        assert!((1..=2 * 3600).contains(&reset), "{reset}");
    }
    let answer = ask(&envoy).await.expect(429);
    assert_eq!(answer.header("x-ratelimit-remaining"), Some("0"));
}

#[tokio::test]
async fn what_passes_carries_our_headers_and_the_upstream_s_own_type() {
    let (_tidegate, envoy) = start().await;
    let answer = ask(&envoy).await.expect(200);
    let policies = answer.header("ratelimit-policy").unwrap();
    assert_eq!(policies, r#""per-key";q=3;w=3600, "per-org";q=100;w=86400"#);
    let standing = answer.header("ratelimit").unwrap();
    assert!(
        standing.starts_with(r#""per-key";r=2;t="#) && standing.contains(r#""per-org";r=99;t="#),
        "{standing}"
    );
    assert_eq!(answer.header("content-type"), Some("text/plain; charset=utf-8"), "{answer:?}");
    assert_eq!(answer.header("retry-after"), None);
}

#[tokio::test]
async fn a_window_that_envoy_has_no_word_for_still_shows_a_policy() {
    let rules = "domain: api\nrules:\n  - name: odd\n    by: [api_key]\n    limit: { amount: 5, per: 90m }\n";
    let tidegate = Tidegate::with(rules).await;
    let settings = Settings::api_key().with("enable_x_ratelimit_headers", json!("DRAFT_VERSION_03"));
    let envoy = Envoy::start(tidegate.grpc, &settings).await;
    let answer = envoy.ask("k1").await.expect(200);
    let limit = answer.header("x-ratelimit-limit").unwrap();
    assert!(limit.contains(";w=") && limit.contains(r#"name="odd""#), "{limit}");
    assert_eq!(answer.header("ratelimit-policy"), Some(r#""odd";q=5;w=5400"#));
}

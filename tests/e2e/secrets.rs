//! A key that callers use appears nowhere but in their own requests.

use serde_json::json;

use crate::client;
use crate::envoy::{Envoy, Settings};
use crate::tidegate::Tidegate;

const SECRET: &str = "sk-live-Zx81vQ-never-shown";

const RULES: &str = "
domain: api
rules:
  - name: per-key
    by: [api_key]
    limit: 1/h
  - name: per-token
    by: [token]
    limit: 1/h
    action: degrade
";

#[tokio::test]
async fn no_secret_is_in_any_answer_log_or_metric() {
    let tidegate = Tidegate::with(RULES).await;
    let envoy = Envoy::start(tidegate.grpc, &Settings::api_key()).await;
    let question = json!({ "domain": "api", "attributes": { "api_key": SECRET, "token": SECRET, "authorization": SECRET } });
    let mut seen = Vec::new();
    for way in ["check", "check", "peek", "reserve", "commit", "cancel", "release", "renew", "refund"] {
        seen.push(tidegate.post(&format!("/v1/{way}"), &question).await);
    }
    let rubbish = [
        format!(r#"{{"domain": "api", "attributes": {{"api_key": "{SECRET}""#),
        format!(r#"{{"domain": "api", "attributes": {{"api_key": ["{SECRET}"]}}}}"#),
        format!(r#"{{"domain": "api", "attributes": {{"api_key": "{}"}}}}"#, SECRET.repeat(2000)),
        format!(r#"{{"domain": "api", "descriptors": [[["api_key", "{SECRET}"], ["{SECRET}"]]]}}"#),
        format!(r#"{{"domain": "api", "cost": "{SECRET}"}}"#),
        format!(r#"{{"domain": "api", "id": "{SECRET}", "idempotency_key": {{"{SECRET}": 1}}}}"#),
        SECRET.to_owned(),
    ];
    for (body, route) in
        rubbish.iter().flat_map(|body| ["/v1/check", "/v1/commit", "/json"].map(|route| (body, route)))
    {
        seen.push(tidegate.post(route, body).await);
    }
    seen.push(tidegate.get(&format!("/v1/{SECRET}")).await);
    envoy.ask(SECRET).await;
    seen.push(envoy.ask(SECRET).await.expect(429));
    for route in ["/metrics", "/admin/v1/rules", "/admin/v1/snapshot", "/"] {
        seen.push(client::get(tidegate.admin, route, &[]).await.expect(200));
    }
    seen.push(client::post(tidegate.admin, "/admin/v1/explain", &question).await.expect(200));
    for answer in seen {
        assert!(!format!("{answer:?}").contains(SECRET), "{answer:?}");
    }
    let said = tidegate.program.said();
    assert!(!said.contains(SECRET), "{said}");
}

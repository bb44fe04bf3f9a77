//! The routes, asked without a socket.

mod agreeing;
mod budget;
mod descriptors;
mod malformed;
mod original;
mod patience;
mod plain;
mod protojson;
mod refusals;
mod settling;
mod shadow;
mod trusting;

use axum::body::Body;
use http::{HeaderMap, Request, StatusCode};
use serde_json::{Value, json};
use tidegate_rules::{Source, compile};
use tidegate_store::{Reference, Store};
use tower::ServiceExt as _;

use super::*;
use crate::door::DoorSettings;
use crate::door::tests::{Faulty, door, door_to};

const RULES: &str = "
domain: api
rules:
  - { name: per-user, by: [user], limit: 2/min }
  - { name: watched, by: [user], limit: 1/min, mode: shadow }
  - { name: slots, match: { path: /export }, by: [user], limit: 1 concurrent }
  - { name: polite, match: { path: /login }, by: [user], limit: 1/hour, status: 403, title: Slow down, message: Wait an hour. }
  - { name: bots, match: { agent: bot }, action: block }
";

/// What came back.
struct Back {
    status: StatusCode,
    headers: HeaderMap,
    body: Value,
}

impl Back {
    fn has_type(&self, media_type: &str) {
        assert_eq!(self.headers["content-type"], media_type, "{}", self.body);
    }

    /// A problem with that status; its words.
    fn problem(&self, status: u16) -> &str {
        assert_eq!((self.status.as_u16(), &self.body["status"]), (status, &json!(status)), "{}", self.body);
        self.has_type("application/problem+json");
        self.body["detail"].as_str().unwrap()
    }
}

async fn send<S: Store>(door: &Door<S>, request: Request<Body>) -> Back {
    let response = router(door.clone()).oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let body = serde_json::from_slice(&bytes).unwrap();
    Back { status: parts.status, headers: parts.headers, body }
}

async fn post<S: Store>(door: &Door<S>, path: &str, body: impl ToString) -> Back {
    let request = Request::post(path).header("content-type", "application/json");
    send(door, request.body(Body::from(body.to_string())).unwrap()).await
}

fn alice() -> Value {
    json!({ "domain": "api", "attributes": { "user": "alice" } })
}

#[tokio::test]
async fn a_check_passes_until_its_limit_is_spent() {
    let (door, hands) = door(RULES);
    for left in [1, 0] {
        let back = post(&door, "/v1/check", alice()).await;
        assert_eq!(back.status, 200);
        back.has_type("application/json");
        assert_eq!(back.body["decision"], "allow");
        assert_eq!(back.body["limits"][0]["remaining"], left);
        assert_eq!(back.headers["ratelimit-policy"], r#""per-user";q=2;w=60"#);
    }
    let back = post(&door, "/v1/check", alice()).await;
    back.problem(429);
    assert_eq!((&back.body["decision"], &back.body["denied_by"]), (&json!("deny"), &json!(["per-user"])));
    assert_eq!(back.headers["x-ratelimit-denied-by"], r#"user;rule="per-user""#);
    assert_eq!(back.headers["retry-after"].to_str().unwrap(), back.body["retry-after"].to_string());
    hands.move_by_s(120);
    assert_eq!(post(&door, "/v1/check", alice()).await.status, 200);
}

#[tokio::test]
async fn a_refusal_speaks_as_its_rule_says() {
    let (door, _) = door(RULES);
    let login = json!({ "domain": "api", "attributes": { "user": "eve", "path": "/login" } });
    post(&door, "/v1/check", &login).await;
    let back = post(&door, "/v1/check", &login).await;
    assert_eq!(back.problem(403), "Wait an hour.");
    assert_eq!((&back.body["title"], &back.body["code"]), (&json!("Slow down"), &json!("endpoint-rate")));
}

#[tokio::test]
async fn a_rule_blocks_with_403() {
    let (door, _) = door(RULES);
    let back = post(&door, "/v1/check", json!({ "domain": "api", "attributes": { "agent": "bot" } })).await;
    assert_eq!(back.problem(403), "rule bots lets nothing pass");
    assert_eq!((&back.body["denied_by"], &back.body["reason"]), (&json!(["bots"]), &json!("blocked")));
}

#[tokio::test]
async fn what_nobody_could_decide_is_503_for_security_and_passes_for_comfort() {
    for (class, status) in [("security", 503), ("comfort", 200)] {
        let rules = format!(
            "domain: api\ndefaults: {{ class: {class} }}\nrules: [{{ name: a, by: [user], limit: 1/s }}]"
        );
        let (door, _) = door_to(Faulty::Failing, &rules, DoorSettings::default());
        let back = post(&door, "/v1/check", alice()).await;
        assert_eq!((back.status.as_u16(), &back.body["reason"]), (status, &json!("undecided")));
        assert_eq!(back.body["state"], "open");
        assert_eq!(back.headers.contains_key("retry-after"), status == 503);
    }
}

/// The statuses of a batch's results.
fn statuses(back: &Back) -> Vec<u64> {
    assert_eq!(back.status, 200);
    back.body["results"].as_array().unwrap().iter().map(|one| one["status"].as_u64().unwrap()).collect()
}

#[tokio::test]
async fn a_batch_is_decided_one_by_one_in_order() {
    let (door, _) = door(RULES);
    let bob = json!({ "domain": "api", "attributes": { "user": "bob" } });
    let checks = json!([alice(), bob, alice(), { "domain": 5 }, alice()]);
    assert_eq!(statuses(&post(&door, "/v1/peek", &checks).await), [200, 200, 200, 400, 200]);
    let back = post(&door, "/v1/check", json!({ "checks": checks })).await;
    assert_eq!(statuses(&back), [200, 200, 200, 400, 429]);
    let results = &back.body["results"];
    assert_eq!((&results[0]["decision"], &results[4]["title"]), (&json!("allow"), &json!("Quota Exceeded")));
}

#[tokio::test]
async fn a_peek_charges_nothing() {
    let (door, _) = door(RULES);
    for _ in 0..5 {
        assert_eq!(post(&door, "/v1/peek", alice()).await.status, 200);
    }
    assert_eq!(post(&door, "/v1/check", alice()).await.body["limits"][0]["remaining"], 1);
    let dear = json!({ "domain": "api", "attributes": { "user": "alice" }, "cost": 3 });
    assert_eq!(post(&door, "/v1/peek", dear).await.status, 429);
}

#[tokio::test]
async fn numbers_and_truths_are_taken_as_text_and_descriptors_count_like_attributes() {
    let (door, _) = door(RULES);
    let as_number = json!({ "domain": "api", "attributes": { "user": 17, "beta": true } });
    let as_text = json!({ "domain": "api", "descriptors": [[["user", "17"]]] });
    post(&door, "/v1/check", as_number).await;
    assert_eq!(post(&door, "/v1/check", as_text).await.body["limits"][0]["remaining"], 0);
}

#[tokio::test]
async fn the_same_idempotency_key_is_charged_once_and_refused_for_other_charges() {
    let (door, _) = door(RULES);
    let check = |cost: u64| json!({ "domain": "api", "attributes": { "user": "a" }, "cost": cost, "idempotency_key": "k" });
    let first = post(&door, "/v1/check", check(1)).await;
    let again = post(&door, "/v1/check", check(1)).await;
    assert_eq!((&again.body["id"], &again.body["limits"][0]["remaining"]), (&first.body["id"], &json!(1)));
    post(&door, "/v1/check", check(2)).await.problem(422);
}

#[tokio::test]
async fn a_domain_without_rules_lets_everything_pass() {
    let (door, _) = door_to(Reference::new(), RULES, DoorSettings::default());
    let back = post(&door, "/v1/check", json!({ "domain": "other" })).await;
    assert_eq!((back.status.as_u16(), &back.body["reason"]), (200, &json!("no-such-domain")));
}

/// Puts rules with two domains in force.
fn add_domain(door: &Door<Reference>) {
    let other = Source::new("other.yaml", "domain: other\nrules: [{ name: a, by: [user], limit: 1/s }]");
    let sources = vec![Source::new("api.yaml", RULES), other];
    door.engine().install(compile(sources).snapshot.unwrap());
}

#[tokio::test]
async fn sole_domain_need_not_be_named() {
    let (door, _) = door(RULES);
    let alice = json!({ "attributes": { "user": "alice" } });
    let back = post(&door, "/v1/check", &alice).await;
    assert_eq!(back.body["limits"][0]["rule"], "per-user");
    assert_eq!(statuses(&post(&door, "/v1/check", json!([alice, alice])).await), [200, 429]);
    add_domain(&door);
    let back = post(&door, "/v1/check", &alice).await;
    let said = back.problem(400);
    assert!(said.contains("the check has no `domain`, and the rules do not have just one"), "{said}");
}

#[tokio::test]
async fn unknown_domain_names_the_nearest() {
    let (door, _) = door_to(Reference::new(), RULES, DoorSettings::default());
    for (domain, nearest) in [("apo", json!("api")), ("elsewhere", Value::Null)] {
        let back = post(&door, "/v1/check", json!({ "domain": domain })).await;
        assert_eq!((back.status.as_u16(), &back.body["nearest_domain"]), (200, &nearest), "{domain}");
    }
    assert_eq!(post(&door, "/v1/check", alice()).await.body.get("nearest_domain"), None);
}

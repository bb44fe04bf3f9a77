//! Check, batch and peek.

use serde_json::{Value, json};

use crate::folder::Folder;
use crate::tidegate::{Tidegate, of};

const RULES: &str = "
domain: api
rules:
  - name: per-key
    by: [api_key]
    limit: 3/h
  - name: watched
    by: [api_key]
    limit: 1/h
    mode: shadow
";

#[tokio::test]
async fn passes_until_the_limit_is_spent_and_then_says_why_not() {
    let tidegate = Tidegate::with(RULES).await;
    for left in [2, 1, 0] {
        let answer = tidegate.check("k1").await.expect(200);
        assert_eq!(answer.header("content-type"), Some("application/json"));
        assert_eq!(answer.header("ratelimit-policy"), Some(r#""per-key";q=3;w=3600"#));
        assert!(answer.header("ratelimit").unwrap().starts_with(&format!(r#""per-key";r={left};t="#)));
        let body = answer.json();
        assert_eq!(body["decision"], "allow");
        assert_eq!(body["state"], "exact");
        assert_eq!(body["limits"][0]["remaining"], left);
        assert!(body["id"].is_string() && body["snapshot"].is_u64(), "{body}");
    }
    let answer = tidegate.check("k1").await.expect(429);
    assert_eq!(answer.header("content-type"), Some("application/problem+json"));
    assert_eq!(answer.header("x-ratelimit-denied-by"), Some(r#"api_key;rule="per-key""#));
    answer.header("retry-after").unwrap().parse::<u64>().expect("whole seconds");
    let problem = answer.json();
    assert_eq!(problem["decision"], "deny");
    assert_eq!(problem["denied_by"], json!(["per-key"]));
    assert_eq!(problem["violated-policies"], json!(["per-key"]));
    assert_eq!(problem["limits"][0]["allowed"], false);
    assert!(problem["limits"][0]["retry_after_ms"].as_u64().unwrap() > 0);
    assert!(!answer.body.contains("k1"), "{}", answer.body);
    tidegate.check("k2").await.expect(200);
}

#[tokio::test]
async fn shadow_limits_are_told_only_when_set() {
    let hiding = Tidegate::with(RULES).await;
    hiding.check("k1").await.expect(200);
    assert!(!hiding.check("k1").await.expect(200).body.contains("watched"));
    let settings = [("TIDEGATE_ANSWERS_SHADOW", "true")];
    let tidegate = Tidegate::set_up(Folder::of(RULES), &settings).await;
    tidegate.check("k1").await.expect(200);
    let body = tidegate.check("k1").await.expect(200).json();
    let shadow = |limit: &&Value| limit["rule"] == "watched";
    let watched = body["limits"].as_array().unwrap().iter().find(shadow).unwrap();
    assert_eq!((&watched["mode"], &watched["allowed"]), (&json!("shadow"), &json!(false)));
}

#[tokio::test]
async fn a_check_takes_its_cost_and_a_peek_takes_nothing() {
    let tidegate = Tidegate::with(RULES).await;
    let mut question = of("k1");
    question["cost"] = json!(2);
    tidegate.post("/v1/check", &question).await.expect(200);
    for _ in 0..3 {
        assert_eq!(tidegate.left("k1").await, 1);
    }
    tidegate.post("/v1/check", &question).await.expect(429);
    assert_eq!(tidegate.left("k1").await, 1, "a refused check takes nothing");
}

#[tokio::test]
async fn descriptors_count_as_the_same_attributes_do() {
    let tidegate = Tidegate::with(RULES).await;
    tidegate.check("k1").await.expect(200);
    let question = json!({ "domain": "api", "descriptors": [[["api_key", "k1"]]] });
    tidegate.post("/v1/check", question).await.expect(200);
    assert_eq!(tidegate.left("k1").await, 1);
}

#[tokio::test]
async fn a_batch_is_answered_in_order() {
    let tidegate = Tidegate::with(RULES).await;
    let keys = ["k1", "k1", "k2", "k1", "k1"];
    let answer = tidegate.post("/v1/check", json!(keys.map(of))).await.expect(200).json();
    let answers = answer["results"].as_array().unwrap_or_else(|| panic!("{answer}"));
    let decisions: Vec<_> = answers.iter().map(|answer| answer["decision"].as_str().unwrap()).collect();
    assert_eq!(decisions, ["allow", "allow", "allow", "allow", "deny"]);
    let statuses: Vec<_> = answers.iter().map(|answer| answer["status"].as_u64().unwrap()).collect();
    assert_eq!(statuses, [200, 200, 200, 200, 429]);
    assert_eq!(answers[4]["denied_by"], json!(["per-key"]));
}

#[tokio::test]
async fn a_check_with_the_same_idempotency_key_is_charged_once() {
    let tidegate = Tidegate::with(RULES).await;
    let mut question = of("k1");
    question["idempotency_key"] = json!("order-7");
    for _ in 0..5 {
        tidegate.post("/v1/check", &question).await.expect(200);
    }
    assert_eq!(tidegate.left("k1").await, 2);
}

//! Statuses and types of refusals, and the rules that are named.

use super::*;

const RULES: &str = "
domain: api
rules:
  - { name: maintenance, match: { path: /down }, action: block, status: 503 }
  - { name: closing, match: { path: /soon }, action: block, status: 503, expires_at: 2027-01-15T08:02:00Z }
  - { name: strangers, match: { path: /me }, action: block, status: 401 }
  - { name: logins, match: { path: /login }, by: [user], limit: 1/min, status: 401 }
  - { name: exports, match: { path: /export }, by: [user], limit: 1/min, status: 403 }
  - { name: fair-use, by: [user], limit: 1/min, action: log }
  - { name: heavy, match: { path: /heavy }, by: [user], limit: 1/min, action: degrade }
";

fn asked(path: &str) -> Value {
    json!({ "domain": "api", "attributes": { "user": "alice", "path": path } })
}

fn described(path: &str) -> Value {
    let entries = json!([{ "key": "user", "value": "alice" }, { "key": "path", "value": path }]);
    json!({ "domain": "api", "descriptors": [{ "entries": entries }] })
}

#[tokio::test]
async fn a_block_with_503_says_it_blocks() {
    let (door, _) = door(RULES);
    let back = post(&door, "/v1/check", asked("/down")).await;
    assert_eq!(back.problem(503), "rule maintenance lets nothing pass");
    assert_eq!(
        (&back.body["type"], &back.body["title"]),
        (&json!("about:blank"), &json!("Service Unavailable"))
    );
    assert!(!back.headers.contains_key("retry-after"), "nobody knows when it ends");
}

#[tokio::test]
async fn a_block_that_expires_says_when() {
    let (door, hands) = door(RULES);
    let back = post(&door, "/v1/check", asked("/soon")).await;
    assert_eq!((back.status.as_u16(), &back.headers["retry-after"]), (503, &"120".parse().unwrap()));
    hands.move_by_s(120);
    assert_eq!(post(&door, "/v1/check", asked("/soon")).await.status, 200);
}

#[tokio::test]
async fn status_401_is_no_quota_problem() {
    let (door, _) = door(RULES);
    post(&door, "/v1/check", asked("/login")).await;
    for path in ["/me", "/login"] {
        let back = post(&door, "/v1/check", asked(path)).await;
        back.problem(401);
        assert_eq!(
            (&back.body["type"], &back.body["title"]),
            (&json!("about:blank"), &json!("Unauthorized"))
        );
    }
}

#[tokio::test]
async fn json_has_the_status_of_the_rule() {
    let (door, _) = door(RULES);
    post(&door, "/json", described("/export")).await;
    for (path, status) in [("/export", 403), ("/me", 401), ("/down", 503)] {
        let back = post(&door, "/json", described(path)).await;
        assert_eq!((back.status.as_u16(), &back.body["overallCode"]), (status, &json!("OVER_LIMIT")));
    }
}

#[tokio::test]
async fn log_and_degrade_rules_are_named() {
    let (door, _) = door(RULES);
    let first = post(&door, "/v1/check", asked("/heavy")).await;
    assert_eq!(first.body["exceeded"], json!([]));
    let second = post(&door, "/v1/check", asked("/heavy")).await;
    assert_eq!(second.body["decision"], "degrade");
    assert_eq!(second.body["exceeded"], json!(["fair-use", "heavy"]));
    let logged = post(&door, "/v1/check", asked("/other")).await;
    assert_eq!((&logged.body["decision"], &logged.body["exceeded"]), (&json!("allow"), &json!(["fair-use"])));
}

#[tokio::test]
async fn limits_have_a_name_and_a_window() {
    let rules = "domain: api\nrules: [{ name: a, by: [user], limits: [9/min, { name: daily, amount: 99, per: 1d }] }]";
    let (door, _) = door(rules);
    let back = post(&door, "/v1/check", asked("/x")).await;
    let told = |place: usize| (&back.body["limits"][place]["name"], &back.body["limits"][place]["window"]);
    assert_eq!([told(0), told(1)], [(&json!("a:min"), &json!(60)), (&json!("a:daily"), &json!(86_400))]);
}

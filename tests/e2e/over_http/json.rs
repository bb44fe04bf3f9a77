//! `POST /json`, as envoyproxy/ratelimit answers it.

use serde_json::json;

use crate::tidegate::Tidegate;

const TREE: &str = "
domain: api
descriptors:
  - key: database
    rate_limit: { unit: year, requests_per_unit: 1 }
";

#[tokio::test]
async fn answers_as_envoyproxy_ratelimit_does() {
    let tidegate = Tidegate::with(TREE).await;
    let question =
        json!({ "domain": "api", "descriptors": [{ "entries": [{ "key": "database", "value": "users" }] }] });
    let passed = tidegate.post("/json", &question).await.expect(200).json();
    assert_eq!(passed["overallCode"], "OK");
    assert_eq!(passed["statuses"][0]["currentLimit"]["requestsPerUnit"], 1);
    assert_eq!(passed["statuses"][0]["currentLimit"]["unit"], "YEAR");
    let refused = tidegate.post("/json", &question).await.expect(429).json();
    assert_eq!(refused["overallCode"], "OVER_LIMIT");
    assert_eq!(refused["statuses"][0]["code"], "OVER_LIMIT");
}

#[tokio::test]
async fn accepts_the_names_of_the_protocol_as_well() {
    let tidegate = Tidegate::with(TREE).await;
    let entries = json!([{ "key": "database", "value": "users" }]);
    let question = json!({ "domain": "api", "descriptors": [{ "entries": entries }], "hits_addend": 2 });
    tidegate.post("/json", question).await.expect(429);
}

#[tokio::test]
async fn rubbish_is_answered_with_400() {
    let tidegate = Tidegate::with(TREE).await;
    for body in ["", "{", "[]", r#"{"domain": 7}"#, r#"{"domain": "api", "descriptors": []}"#] {
        let answer = tidegate.post("/json", body).await;
        assert_eq!(answer.status, 400, "{body}: {answer:?}");
    }
}

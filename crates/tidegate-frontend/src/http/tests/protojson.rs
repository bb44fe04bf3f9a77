//! `POST /json` as envoyproxy/ratelimit's users know it.

use super::*;

const TREE: &str = "
domain: mesh
descriptors:
  - key: user
    rate_limit: { unit: minute, requests_per_unit: 2 }
  - key: free
    rate_limit: { unlimited: true }
  - key: banned
    rate_limit: { unit: hour, requests_per_unit: 0 }
";

fn asks(descriptor: &Value) -> Value {
    json!({ "domain": "mesh", "descriptors": [descriptor] })
}

fn entry(key: &str) -> Value {
    json!([{ "key": key, "value": "x" }])
}

#[tokio::test]
async fn it_answers_200_and_429_with_the_response_in_json() {
    let (door, _) = door(TREE);
    let user = asks(&json!({ "entries": entry("user") }));
    let back = post(&door, "/json", &user).await;
    assert_eq!((back.status.as_u16(), &back.body["overallCode"]), (200, &json!("OK")));
    let limit = json!({ "requestsPerUnit": 2, "unit": "MINUTE" });
    let status =
        json!({ "code": "OK", "currentLimit": limit, "limitRemaining": 1, "durationUntilReset": "60s" });
    assert_eq!(back.body["statuses"], json!([status]));
    post(&door, "/json", &user).await;
    let back = post(&door, "/json", &user).await;
    assert_eq!((back.status.as_u16(), &back.body["overallCode"]), (429, &json!("OVER_LIMIT")));
    assert!(back.body["statuses"][0].get("limitRemaining").is_none());
    assert!(back.headers.contains_key("retry-after"));
}

#[tokio::test]
async fn both_spellings_numbers_as_text_and_enums_by_name_or_number_are_read() {
    let (door, _) = door(TREE);
    for (unit, limit, hits) in [
        (json!("HOUR"), "requestsPerUnit", json!({ "hitsAddend": "3" })),
        (json!(3), "requests_per_unit", json!({ "hits_addend": 3 })),
    ] {
        let mut descriptor = json!({ "entries": entry("other"), "limit": { limit: 10, "unit": unit } });
        descriptor.as_object_mut().unwrap().extend(hits.as_object().unwrap().clone());
        let back = post(&door, "/json", asks(&descriptor)).await;
        assert_eq!(
            back.body["statuses"][0]["currentLimit"],
            json!({ "requestsPerUnit": 10, "unit": "HOUR" })
        );
    }
    let back = post(
        &door,
        "/json",
        json!({ "domain": "mesh", "hitsAddend": 2, "descriptors": [{ "entries": entry("user") }] }),
    )
    .await;
    assert_eq!(back.body["statuses"][0].get("limitRemaining"), None);
    let negative = json!({ "entries": entry("user"), "hitsAddend": 2, "isNegativeHits": true });
    assert_eq!(post(&door, "/json", asks(&negative)).await.body["statuses"][0]["limitRemaining"], 2);
}

#[tokio::test]
async fn what_is_unlimited_or_banned_says_so() {
    let (door, _) = door(TREE);
    let free = post(&door, "/json", asks(&json!({ "entries": entry("free") }))).await;
    assert_eq!(free.body["statuses"], json!([{ "code": "OK", "limitRemaining": u32::MAX }]));
    let banned = post(&door, "/json", asks(&json!({ "entries": entry("banned") }))).await;
    assert_eq!(banned.status, 429);
    assert_eq!(
        banned.body["statuses"],
        json!([{ "code": "OVER_LIMIT", "currentLimit": { "unit": "HOUR" }, "durationUntilReset": "3600s" }]),
    );
}

#[tokio::test]
async fn what_is_no_request_is_400() {
    let (door, _) = door(TREE);
    for (body, says) in [
        (json!({}), "rate limit domain must not be empty"),
        (json!({ "domain": "mesh" }), "rate limit descriptor list must not be empty"),
        (
            asks(
                &json!({ "entries": entry("user"), "limit": { "requestsPerUnit": 1, "unit": "FORTNIGHT" } }),
            ),
            "the limit of a descriptor has no known unit; use SECOND, MINUTE, HOUR, DAY, MONTH or YEAR",
        ),
        (
            asks(&json!({ "entrees": [] })),
            "a descriptor has an unknown field `entrees`; it knows entries, limit, hits_addend, is_negative_hits",
        ),
        (
            json!({ "domain": "mesh", "hits_addend": 4_294_967_296_u64 }),
            "`hits_addend` of the request is more than 32 bits hold",
        ),
    ] {
        assert_eq!(post(&door, "/json", body).await.problem(400), says);
    }
}

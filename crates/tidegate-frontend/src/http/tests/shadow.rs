//! Rules in shadow mode are for the operator: no answer names them unless the setting says so.

use super::*;

const RULES: &str = "
domain: api
rules:
  - { name: per-user, by: [user], limit: 2/min }
  - { name: secret-plan, by: [user], limit: 1/min, mode: shadow }
  - { name: secret-block, match: { agent: bot }, action: block, mode: shadow }
descriptors:
  - key: user
    rate_limit: { unit: minute, requests_per_unit: 1, name: secret-tree }
    shadow_mode: true
";

fn told() -> DoorSettings {
    DoorSettings { tell_shadow: true, ..DoorSettings::default() }
}

/// Everything of an answer, as one text.
async fn whole(door: &Door<Reference>, request: Request<Body>) -> String {
    let response = router(door.clone()).oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    format!("{} {:?} {}", parts.status, parts.headers, String::from_utf8_lossy(&body))
}

fn requests() -> Vec<Request<Body>> {
    let check = json!({ "domain": "api", "attributes": { "user": "a", "agent": "bot" } });
    let batch = json!([check]);
    let descriptors = json!([{ "entries": [{ "key": "user", "value": "a" }] }]);
    let envoy = json!({ "domain": "api", "descriptors": descriptors });
    let of = |path: &str, body: &Value| Request::post(path).body(Body::from(body.to_string())).unwrap();
    let authorize = "/v1/authorize?domain=api&header.x-user=user";
    let authorize = Request::get(authorize).header("x-user", "a").body(Body::empty()).unwrap();
    let mut asks: Vec<_> =
        ["/v1/check", "/v1/peek", "/v1/reserve"].into_iter().map(|path| of(path, &check)).collect();
    asks.extend([of("/v1/check", &batch), of("/json", &envoy), authorize]);
    asks
}

#[tokio::test]
async fn no_answer_names_a_shadow_rule() {
    let (door, _) = door(RULES);
    for round in 0..4 {
        for request in requests() {
            let path = request.uri().path().to_owned();
            let answer = whole(&door, request).await;
            assert!(!answer.contains("secret") && !answer.contains("shadow"), "{round} {path}: {answer}");
        }
    }
}

#[tokio::test]
async fn the_setting_tells_shadow_limits() {
    let (door, _) = door_to(Reference::new(), RULES, told());
    let asked = json!({ "domain": "api", "attributes": { "user": "a" } });
    post(&door, "/v1/check", &asked).await;
    let back = post(&door, "/v1/check", &asked).await;
    let watched = &back.body["limits"][1];
    assert_eq!(
        (&watched["rule"], &watched["mode"], &watched["allowed"]),
        (&json!("secret-plan"), &json!("shadow"), &json!(false))
    );
    assert_eq!((back.status.as_u16(), &back.body["denied_by"]), (200, &json!([])));
    assert!(back.headers.values().all(|value| !value.to_str().unwrap().contains("secret")));
    let descriptors = json!([{ "entries": [{ "key": "user", "value": "b" }] }]);
    let back = post(&door, "/json", json!({ "domain": "api", "descriptors": descriptors })).await;
    assert_eq!(back.body["statuses"][0]["currentLimit"]["name"], "per-user");
}

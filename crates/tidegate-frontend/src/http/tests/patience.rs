use super::*;
use crate::door::tests::Noting;

async fn ask(headers: &[(&str, &str)], path: &str, body: impl ToString) -> Vec<u128> {
    let store = Noting::default();
    let (door, _) = door_to(store.clone(), RULES, DoorSettings::default());
    let request = Request::post(path).header("content-type", "application/json");
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    send(&door, request.body(Body::from(body.to_string())).unwrap()).await;
    store.taken()
}

#[tokio::test]
async fn the_caller_s_time_reaches_the_store_on_every_way_that_asks_it() {
    let envoy = json!({ "domain": "api", "descriptors": [{ "entries": [{ "key": "user", "value": "a" }] }] });
    for path in ["/v1/check", "/v1/peek", "/v1/reserve"] {
        assert_eq!(ask(&[("x-request-timeout-ms", "50")], path, alice()).await, [40_000], "{path}");
    }
    let refunded = ask(&[("x-request-timeout-ms", "50")], "/v1/refund", alice()).await;
    assert_eq!(refunded, [40_000, 40_000], "given back, then read");
    assert_eq!(ask(&[("x-envoy-expected-rq-timeout-ms", "20")], "/json", envoy).await, [16_000]);
    let batch = json!([alice(), alice()]);
    assert_eq!(ask(&[("x-request-timeout-ms", "50")], "/v1/check", batch).await, [40_000, 40_000]);
}

#[tokio::test]
async fn whoever_says_nothing_or_rubbish_is_asked_without_an_end() {
    for headers in [&[][..], &[("x-request-timeout-ms", "soon")], &[("x-request-timeout-ms", "0")]] {
        assert_eq!(ask(headers, "/v1/check", alice()).await, [0]);
    }
}

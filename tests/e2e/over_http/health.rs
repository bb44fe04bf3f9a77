//! Health routes.

use crate::client::request;
use crate::client::send;
use crate::tidegate::Tidegate;

#[tokio::test]
async fn a_server_with_rules_is_alive_and_ready() {
    let tidegate = Tidegate::with("domain: api\nrules: []\n").await;
    for route in ["/healthz", "/readyz", "/healthcheck"] {
        tidegate.get(route).await.expect(200);
    }
    assert_eq!(tidegate.get("/healthcheck").await.body.trim(), "OK", "as envoyproxy/ratelimit has it");
}

#[tokio::test]
async fn health_can_be_asked_for_without_a_body() {
    let tidegate = Tidegate::with("domain: api\nrules: []\n").await;
    let answer = send(tidegate.http, request("HEAD", "/healthz", &[], String::new())).await;
    assert_eq!((answer.status, answer.body.as_str()), (200, ""));
}

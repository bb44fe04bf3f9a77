//! What no honest client sends.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::client::{Answer, request, send};
use crate::patience::within;
use crate::tidegate::{Tidegate, of};

const RULES: &str = "domain: api\nrules:\n  - name: per-key\n    by: [api_key]\n    limit: 10/h\n";

fn assert_is_problem(answer: &Answer, status: u16, of: &str) {
    assert_eq!(answer.status, status, "{of}: {answer:?}");
    assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{of}: {answer:?}");
    let problem = answer.json();
    assert_eq!(problem["status"], status, "{of}: {problem}");
    assert!(problem["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{of}: {problem}");
}

#[tokio::test]
async fn a_body_that_is_no_check_is_refused_with_a_reason() {
    let tidegate = Tidegate::with(RULES).await;
    let bodies = [
        "",
        "{",
        "null",
        "7",
        r#""text""#,
        "{}",
        r#"{"domain": "api", "cost": -1}"#,
        r#"{"domain": "api", "cost": 1.5}"#,
        r#"{"domain": "api", "attributes": {"api_key": ["k1"]}}"#,
        r#"{"domain": "api", "attributes": ["k1"]}"#,
        r#"{"domain": "api", "descriptors": [["api_key", "k1"]]}"#,
        r#"{"domain": "api", "descriptors": {"api_key": "k1"}}"#,
        "\u{0}",
    ];
    for body in bodies {
        assert_is_problem(&tidegate.post("/v1/check", body).await, 400, body);
    }
    assert_eq!(tidegate.left("k1").await, 10, "nothing was charged");
}

#[tokio::test]
async fn a_key_that_is_far_too_long_is_refused_with_a_reason() {
    let tidegate = Tidegate::with(RULES).await;
    assert_is_problem(&tidegate.check(&"k".repeat(60_000)).await, 400, "a long key");
}

#[tokio::test]
async fn a_nest_of_brackets_is_refused_with_a_reason() {
    let tidegate = Tidegate::with(RULES).await;
    assert_is_problem(&tidegate.post("/v1/check", "[".repeat(50_000)).await, 400, "a nest");
    tidegate.check("k1").await.expect(200);
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused_before_it_has_come() {
    let tidegate = Tidegate::with(RULES).await;
    let mut stream = TcpStream::connect(tidegate.http).await.unwrap();
    let head = "POST /v1/check HTTP/1.1\r\nhost: api.test\r\ncontent-length: 1000000000\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut first = [0; 12];
    within("an answer to the head", stream.read_exact(&mut first)).await.unwrap();
    assert_eq!(String::from_utf8_lossy(&first), "HTTP/1.1 413");
}

#[tokio::test]
async fn unknown_routes_and_methods_are_told_apart() {
    let tidegate = Tidegate::with(RULES).await;
    assert_is_problem(&tidegate.get("/v1/nothing").await, 404, "an unknown route");
    assert_is_problem(&tidegate.post("/v2/check", of("k1")).await, 404, "another version");
    let answer = send(tidegate.http, request("DELETE", "/v1/check", &[], String::new())).await;
    assert_eq!(answer.status, 405, "{answer:?}");
}

#[tokio::test]
async fn what_is_not_http_does_not_disturb_others() {
    let tidegate = Tidegate::with(RULES).await;
    for door in [tidegate.http, tidegate.grpc, tidegate.admin] {
        let mut stream = TcpStream::connect(door).await.unwrap();
        stream.write_all(b"\x16\x03\x01 no protocol of ours\r\n\r\n\0\0").await.unwrap();
        let mut answer = Vec::new();
        // Whether it is answered or cut off is the protocol's business.
        within("the end of the connection", stream.read_to_end(&mut answer)).await.ok();
    }
    let body: Value = tidegate.check("k1").await.expect(200).json();
    assert_eq!(body["decision"], json!("allow"));
}

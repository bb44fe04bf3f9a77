//! A key that callers use appears nowhere but in their own requests.

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::client;
use crate::envoy::{Envoy, Settings};
use crate::folder::Folder;
use crate::patience::within;
use crate::tidegate::{Tidegate, door};

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

/// Commands with the secret, right and wrong, and that it is in no reply.
async fn said_to_a_redis_client(tidegate: &Tidegate) {
    let mut stream = TcpStream::connect(door(&tidegate.program, "resp").await).await.unwrap();
    let commands = [
        format!("TG.CHECK api api_key {SECRET}"),
        format!("TG.CHECK api api_key {SECRET} token"),
        format!("TG.EXPLAIN api api_key {SECRET}"),
        format!("CL.THROTTLE {SECRET} 1 1 60"),
        format!("CL.THROTTLE {SECRET} a b c"),
        format!("AUTH {SECRET}"),
        "QUIT".to_owned(),
    ];
    stream.write_all(commands.map(|command| command + "\r\n").concat().as_bytes()).await.unwrap();
    let mut said = String::new();
    within("replies", stream.read_to_string(&mut said)).await.unwrap();
    assert!(said.contains("+OK\r\n") && !said.contains(SECRET), "{said}");
}

#[tokio::test]
async fn no_secret_is_in_any_answer_log_or_metric() {
    let settings = [("TIDEGATE_RESP", "127.0.0.1:0"), ("TIDEGATE_LOG_LEVEL", "trace")];
    let tidegate = Tidegate::set_up(Folder::of(RULES), &settings).await;
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
    for _ in 0..2 {
        let headers = [("x-api-key", SECRET), ("authorization", SECRET), ("x-forwarded-uri", "/")];
        seen.push(client::get(tidegate.http, "/v1/authorize?domain=api", &headers).await);
    }
    seen.push(client::get(tidegate.http, &format!("/v1/authorize?domain=api&{SECRET}=1"), &[]).await);
    said_to_a_redis_client(&tidegate).await;
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

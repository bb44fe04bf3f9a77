//! Our server gone, and back: what Envoy does meanwhile is its own setting.

use serde_json::json;

use crate::envoy::{Envoy, Settings};
use crate::folder::Folder;
use crate::patience::until;
use crate::tidegate::Tidegate;

const PER_KEY: &str = "domain: api\nrules:\n  - name: per-key\n    by: [api_key]\n    limit: 1/h\n";

/// On Linux every address of 127/8 is ours: on one that no other test uses, nobody takes the port while the server is gone.
fn host(last: u8) -> String {
    if cfg!(target_os = "linux") { format!("127.0.0.{last}:0") } else { "127.0.0.1:0".to_owned() }
}

/// Kills the server under Envoy, asks, starts another at the same address and waits until it refuses again.
async fn gone_and_back(host: &str, settings: &Settings, meanwhile: u16) {
    let mut tidegate = Tidegate::start_at(host, Folder::of(PER_KEY)).await;
    let envoy = Envoy::start(tidegate.grpc, settings).await;
    envoy.ask("k1").await.expect(200);
    envoy.ask("k1").await.expect(429);

    tidegate.program.kill().await;
    for _ in 0..3 {
        envoy.ask("k1").await.expect(meanwhile);
    }
    assert!(envoy.stat("cluster.upstream.ratelimit.error").await >= 3);

    let Tidegate { rules, grpc, .. } = tidegate;
    let _back = Tidegate::start_at(&grpc.to_string(), rules).await;
    until("a refusal by the server that came back", async || {
        (envoy.ask("k1").await.status == 429).then_some(())
    })
    .await;
}

#[tokio::test]
async fn envoy_lets_pass_while_our_server_is_gone_and_asks_it_again_when_it_is_back() {
    gone_and_back(&host(2), &Settings::api_key(), 200).await;
}

#[tokio::test]
async fn envoy_refuses_while_our_server_is_gone_if_it_is_told_to() {
    let settings = Settings::api_key()
        .with("failure_mode_deny", json!(true))
        .with("status_on_error", json!({ "code": 503 }));
    gone_and_back(&host(3), &settings, 503).await;
}

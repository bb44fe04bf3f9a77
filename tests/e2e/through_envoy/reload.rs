//! Rules that change under traffic.

use crate::envoy::{Envoy, Settings};
use crate::patience::until;
use crate::tidegate::Tidegate;

fn per_key(limit: &str) -> String {
    format!("domain: api\nrules:\n  - name: per-key\n    by: [api_key]\n    limit: {limit}\n")
}

#[tokio::test]
async fn a_raised_limit_unblocks_and_keeps_what_was_counted() {
    let tidegate = Tidegate::with(&per_key("2/h")).await;
    let envoy = Envoy::start(tidegate.grpc, &Settings::api_key()).await;
    envoy.ask("k1").await.expect(200);
    envoy.ask("k1").await.expect(200);
    envoy.ask("k1").await.expect(429);

    tidegate.rules.replace("api.yaml", &per_key("4/h"));
    let passes = async || (envoy.ask("k1").await.status == 200).then_some(());
    until("the raised limit to let k1 pass", passes).await;
    envoy.ask("k1").await.expect(200);
    envoy.ask("k1").await.expect(429);
    assert_eq!(envoy.upstream.served(), 4, "two before the change and two after it");
    assert_eq!(envoy.stat("cluster.upstream.ratelimit.error").await, 0);
}

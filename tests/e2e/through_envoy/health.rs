//! Our gRPC health service, as Envoy's own health checks see it.

use crate::envoy::{Envoy, Settings};
use crate::patience::until;
use crate::stop::half;
use crate::tidegate::Tidegate;

#[tokio::test]
async fn envoy_finds_our_server_healthy_until_it_begins_to_stop() {
    let tidegate = Tidegate::with("domain: api\nrules: []\n").await;
    let envoy = Envoy::start(tidegate.grpc, &Settings::api_key().with_health_check()).await;
    let healthy = async |wanted: u64| {
        let seen = async || (envoy.stat("cluster.tidegate.membership_healthy").await == wanted).then_some(());
        until(&format!("{wanted} healthy servers"), seen).await;
    };
    healthy(1).await;
    envoy.ask("k1").await.expect(200);
    let keeps_it_from_ending = half(&tidegate).await;
    tidegate.program.signal("TERM").await;
    healthy(0).await;
    drop(keeps_it_from_ending);
    let (code, said) = tidegate.program.end().await;
    assert_eq!(code, Some(0), "{said}");
}

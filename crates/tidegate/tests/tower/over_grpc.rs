//! A tonic server behind the layer, asked by a tonic client.

use std::time::Duration;

use tidegate::tower::{RateLimitLayer, key};
use tidegate::{Limit, Limiter, Rule};
use tokio::net::TcpListener;
use tonic::Code;
use tonic::transport::server::{TcpConnectInfo, TcpIncoming};
use tonic::transport::{Channel, Server};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

#[tokio::test]
async fn a_grpc_caller_over_its_limit_gets_resource_exhausted() {
    let three = Rule::new("per-peer", Limit::sliding_log(3, Duration::from_secs(3600)).unwrap()).unwrap();
    let by_peer = key::peer_ip(|extensions| Some(extensions.get::<TcpConnectInfo>()?.remote_addr()?.ip()));
    let layer = RateLimitLayer::new(Limiter::new()).rule(three, by_peer);

    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (_, health) = tonic_health::server::health_reporter();
    let serve =
        Server::builder().layer(layer).add_service(health).serve_with_incoming(TcpIncoming::from(listener));
    let server = tokio::spawn(serve);

    let channel = Channel::from_shared(format!("http://{address}")).unwrap().connect().await.unwrap();
    let mut client = HealthClient::new(channel);
    for left in (0..3).rev() {
        let answer = client.check(HealthCheckRequest::default()).await.unwrap();
        let told = answer.metadata().get("ratelimit").unwrap().to_str().unwrap();
        assert!(told.starts_with(&format!(r#""per-peer";r={left};"#)), "{told}");
    }
    let status = client.check(HealthCheckRequest::default()).await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert!(
        status.message().contains("limit of 3 per 3600 s reached for policy per-peer"),
        "{}",
        status.message()
    );
    assert!(status.metadata().contains_key("retry-after"));
    server.abort();
}

//! A stop that loses nothing, and one that does not wait for ever.

use std::time::Duration;

use tidegate_server::Stopped;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use crate::world::{World, channel, until};

/// A request whose handler waits for the rest of its body.
async fn under_way(world: &World) -> TcpStream {
    let mut stream = TcpStream::connect(world.http()).await.unwrap();
    let head = "POST /v1/check HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 17\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut going = [0; 25];
    stream.read_exact(&mut going).await.unwrap();
    assert_eq!(&going, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream
}

#[tokio::test(flavor = "multi_thread")]
async fn readiness_goes_first_while_requests_are_still_served() {
    let world = World::with(|config| config.shutdown.lame_duck = Duration::from_secs(3600)).await;
    let (http, grpc) = (world.http(), world.grpc());
    let stopping = tokio::spawn(world.server.stop());
    until(http, "/readyz", |answer| answer.status == 503).await;
    until(http, "/healthcheck", |answer| answer.status == 500).await;
    until(http, "/healthz", |answer| answer.status == 200).await;
    let mut client = HealthClient::new(channel(grpc).await);
    let answer = client.check(HealthCheckRequest { service: "ratelimit".into() }).await.unwrap().into_inner();
    assert_eq!(answer.status(), ServingStatus::NotServing);
    stopping.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_under_way_is_answered_and_then_the_doors_are_closed() {
    let world = World::new().await;
    let address = world.http();
    let mut stream = under_way(&world).await;
    let _watching = {
        let mut client = HealthClient::new(world.channel().await);
        client.watch(HealthCheckRequest { service: String::new() }).await.unwrap()
    };
    let stopping = tokio::spawn(world.server.stop());
    while TcpStream::connect(address).await.is_ok() {}
    stream.write_all(br#"{"domain": "api"}"#).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert_eq!(stopping.await.unwrap(), Stopped::Drained);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_end_is_not_waited_for() {
    let world = World::with(|config| config.shutdown.drain = Duration::from_millis(50)).await;
    let mut stream = under_way(&world).await;
    assert_eq!(world.server.stop().await, Stopped::Late);
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).await.ok();
    assert!(rest.is_empty());
}

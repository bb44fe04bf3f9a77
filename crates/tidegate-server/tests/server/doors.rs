//! What each door answers.

use axum::body::Bytes;
use axum::http::Request;
use envoy_types::pb::envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;
use envoy_types::pb::envoy::extensions::common::ratelimit::v3::rate_limit_descriptor::Entry;
use envoy_types::pb::envoy::service::ratelimit::v3::RateLimitRequest;
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_response::Code;
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_service_client::RateLimitServiceClient;
use http_body::Body as _;
use http_body_util::Full;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tidegate_frontend::v1::proto::{self, limits_client::LimitsClient};
use tidegate_server::{Error, start};
use tokio::net::TcpStream;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;

use crate::world::{World, ask, ask_as, config, send, until};

#[tokio::test(flavor = "multi_thread")]
async fn http_refuses_beyond_the_limit_and_grpc_counts_the_same() {
    let world = World::new().await;
    assert_eq!(world.check("k1").await.status, 200);
    let mut client = RateLimitServiceClient::new(world.channel().await);
    let entry = Entry { key: "api_key".into(), value: "k1".into() };
    let descriptor = RateLimitDescriptor { entries: vec![entry], ..Default::default() };
    let request =
        RateLimitRequest { domain: "api".into(), descriptors: vec![descriptor], ..Default::default() };
    let mut codes = Vec::new();
    for _ in 0..2 {
        codes.push(client.should_rate_limit(request.clone()).await.unwrap().into_inner().overall_code());
    }
    assert_eq!(codes, [Code::Ok, Code::OverLimit]);
    let refused = world.check("k1").await;
    assert_eq!(refused.status, 429);
    assert!(refused.head.contains("retry-after: "), "{}", refused.head);
    assert!(refused.body.contains(r#""denied_by":["per-key"]"#), "{}", refused.body);
}

fn asked(path: &str) -> proto::CheckRequest {
    let attributes = [("api_key", "k1"), ("path", path)].map(|(name, value)| (name.into(), value.into()));
    proto::CheckRequest { domain: "api".into(), attributes: attributes.into(), ..Default::default() }
}

/// What is left for the key, as the HTTP door says.
async fn left(world: &World) -> u64 {
    let body = r#"{"domain": "api", "attributes": {"api_key": "k1"}}"#;
    let answer = ask(world.http(), "POST", "/v1/peek", body).await;
    let json: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
    json["limits"][0]["remaining"].as_u64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_call_of_our_own_service_is_served_and_counts_the_same() {
    let world = World::with(|_| {}).await;
    world.write(
        "api.yaml",
        "domain: api\nrules:\n- { name: per-key, by: [api_key], limit: 9/h }\n- { name: slots, match: { path: /x }, by: [api_key], limit: 1 concurrent }\n",
    );
    until(world.admin(), "/admin/v1/rules", |answer| answer.body.contains("slots")).await;
    let mut client = LimitsClient::new(world.channel().await);
    let id = |decision: tonic::Response<proto::Decision>| decision.into_inner().id;

    assert!(client.check(asked("/y")).await.unwrap().into_inner().allowed);
    assert!(client.peek(asked("/y")).await.unwrap().into_inner().allowed);
    let checks = vec![asked("/y"); 2];
    assert_eq!(
        client.check_many(proto::CheckManyRequest { checks }).await.unwrap().into_inner().results.len(),
        2
    );
    assert_eq!(left(&world).await, 6);
    let refund = proto::RefundRequest { check: Some(asked("/y")), ..Default::default() };
    assert!(client.refund(refund).await.unwrap().into_inner().allowed);
    assert_eq!(left(&world).await, 7);

    let check = proto::CheckRequest { cost: Some(4), ..asked("/y") };
    let reserve = proto::ReserveRequest { check: Some(check), ..Default::default() };
    let reserved = id(client.reserve(reserve.clone()).await.unwrap());
    assert_eq!(left(&world).await, 3);
    client.commit(proto::CommitRequest { id: reserved, cost: Some(1), ..Default::default() }).await.unwrap();
    assert_eq!(left(&world).await, 6);
    let reserved = id(client.reserve(reserve).await.unwrap());
    client.cancel(proto::CancelRequest { id: reserved }).await.unwrap();
    assert_eq!(left(&world).await, 6);

    let held = id(client.check(asked("/x")).await.unwrap());
    assert!(!client.check(asked("/x")).await.unwrap().into_inner().allowed, "there is one slot");
    assert!(client.renew(proto::RenewRequest { id: held.clone() }).await.is_ok());
    client.release(proto::ReleaseRequest { id: held }).await.unwrap();
    assert!(client.check(asked("/x")).await.unwrap().into_inner().allowed);
}

/// What went wrong stands in the head, and nothing comes after it: clients that are strict take an empty piece of a body behind it for a
/// broken stream, and tell their callers of that instead.
#[tokio::test(flavor = "multi_thread")]
async fn calls_that_fail_end_with_their_heads() {
    let world = World::new().await;
    let stream = TokioIo::new(TcpStream::connect(world.grpc()).await.unwrap());
    let builder = http2::Builder::new(TokioExecutor::new());
    let (mut sender, connection) = builder.handshake(stream).await.unwrap();
    tokio::spawn(connection);
    for (path, message, status) in [
        ("tidegate.v1.Limits/Check", &[0, 0, 0, 0, 0][..], "3"),
        ("tidegate.v1.Limits/Check", &[1, 0, 0, 0, 0], "12"),
        ("tidegate.v1.Limits/Release", &[0, 0, 0, 0, 4, 10, 2, b'0', b'0'], "3"),
        ("tidegate.v1.Limits/None", &[0, 0, 0, 0, 0], "12"),
        ("envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit", &[0, 0, 0, 0, 0], "3"),
        ("grpc.health.v1.Health/Check", &[0, 0, 0, 0, 3, 10, 1, b'x'], "5"),
    ] {
        let body = Full::new(Bytes::copy_from_slice(message));
        let request = Request::post(format!("http://a/{path}")).header("content-type", "application/grpc");
        let answer = sender.send_request(request.body(body).unwrap()).await.unwrap();
        assert_eq!(answer.headers()["grpc-status"], status, "{path}");
        assert!(answer.body().is_end_stream(), "something comes after the head of {path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn health_is_told_over_http_and_grpc() {
    let world = World::new().await;
    for (path, body) in [("/healthz", "alive\n"), ("/readyz", "ready\n"), ("/healthcheck", "OK")] {
        let answer = ask(world.http(), "GET", path, "").await;
        assert_eq!((answer.status, answer.body.as_str()), (200, body), "{path}");
    }
    let mut client = HealthClient::new(world.channel().await);
    for service in ["", "ratelimit", "tidegate.v1.Limits"] {
        let answer = client.check(HealthCheckRequest { service: service.into() }).await.unwrap().into_inner();
        assert_eq!(answer.status(), ServingStatus::Serving, "{service}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_services_describe_themselves() {
    use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
    use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;
    let world = World::new().await;
    let mut client = ServerReflectionClient::new(world.channel().await);
    let list = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let mut answers = client.server_reflection_info(tokio_stream::once(list)).await.unwrap().into_inner();
    let answer = answers.message().await.unwrap().unwrap().message_response;
    let Some(MessageResponse::ListServicesResponse(listed)) = answer else { panic!("{answer:?}") };
    let names: Vec<&str> = listed.service.iter().map(|service| service.name.as_str()).collect();
    let expected =
        ["envoy.service.ratelimit.v3.RateLimitService", "tidegate.v1.Limits", "grpc.health.v1.Health"];
    for name in expected {
        assert!(names.contains(&name), "{name} is not among {names:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_and_methods_that_are_not_there_are_problems() {
    let world = World::new().await;
    for (address, method, path, status) in [
        (world.http(), "GET", "/nowhere", 404),
        (world.http(), "GET", "/v1/check", 405),
        (world.admin(), "GET", "/nowhere", 404),
    ] {
        let answer = ask(address, method, path, "").await;
        assert_eq!(answer.status, status, "{path}");
        assert!(answer.head.contains("application/problem+json"), "{}", answer.head);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_count_what_happened_and_name_no_key() {
    let world = World::new().await;
    for _ in 0..3 {
        world.check("a-secret-key").await;
    }
    for body in ["{", r#"{"domain": 5}"#, r#"{"domain": ""}"#] {
        ask(world.http(), "POST", "/v1/check", body).await;
    }
    let metrics = ask(world.admin(), "GET", "/metrics", "").await;
    assert!(metrics.head.contains("text/plain; version=0.0.4"), "{}", metrics.head);
    for line in [
        r#"ratelimit_decisions_total{domain="api",rule="per-key",outcome="allowed"} 2"#,
        r#"ratelimit_denied_total{domain="api",rule="per-key"} 1"#,
        "ratelimit_check_duration_seconds_count 3",
        "ratelimit_snapshot_version 1",
        r#"ratelimit_reloads_total{result="installed"} 1"#,
        "ratelimit_store_keys 1",
        "ratelimit_malformed_total 3",
        r#"ratelimit_in_flight{door="http"} 0"#,
        r#"ratelimit_connections_accepted_total{door="http"} 6"#,
    ] {
        assert!(metrics.body.lines().any(|one| one == line), "{line} is not in:\n{}", metrics.body);
    }
    assert!(!metrics.body.contains("a-secret-key"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_admin_door_keeps_other_names_away() {
    let world = World::new().await;
    assert_eq!(ask_as(world.admin(), "localhost", "GET", "/", "").await.status, 200);
    assert_eq!(ask_as(world.admin(), "evil.example", "GET", "/metrics", "").await.status, 421);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_admin_door_with_a_token_answers_whoever_knows_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    std::fs::write(&path, "0123456789abcdef\n").unwrap();
    let world = World::with(|config| {
        config.admin_token = Some(path.clone());
        config.listen.admin = Some(([0, 0, 0, 0], 0).into());
    })
    .await;
    let admin = std::net::SocketAddr::from(([127, 0, 0, 1], world.admin().port()));
    let with = async |line: &str, path: &str| {
        send(admin, &format!("host: limits.example\r\n{line}"), ("GET", path), "").await
    };
    let refused = with("", "/metrics").await;
    assert_eq!(refused.status, 401);
    assert!(refused.head.contains("www-authenticate: Bearer"), "{}", refused.head);
    assert_eq!(with("authorization: Bearer 0123456789abcdeX\r\n", "/metrics").await.status, 401);
    assert_eq!(with("authorization: Bearer 0123456789abcdef\r\n", "/metrics").await.status, 200);
    assert_eq!(with("", "/healthz").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_does_not_start_exposed_or_without_doors() {
    let mut exposed = config();
    exposed.listen.admin = Some(([0, 0, 0, 0], 0).into());
    assert!(matches!(start(&exposed).await, Err(Error::AdminExposed { .. })));
    let mut closed = config();
    (closed.listen.grpc, closed.listen.http, closed.listen.resp) = (None, None, None);
    assert!(matches!(start(&closed).await, Err(Error::NoDoor)));
    let world = World::new().await;
    let mut taken = config();
    taken.listen.http = Some(world.http());
    let error = start(&taken).await.err().unwrap();
    assert!(error.to_string().starts_with("the http door cannot listen on 127.0.0.1:"), "{error}");
}

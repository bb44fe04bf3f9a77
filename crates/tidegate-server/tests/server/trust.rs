//! Who is believed, and who may ask at all.

use envoy_types::pb::envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;
use envoy_types::pb::envoy::extensions::common::ratelimit::v3::rate_limit_descriptor::Entry;
use envoy_types::pb::envoy::service::ratelimit::v3::RateLimitRequest;
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_response::Code;
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_service_client::RateLimitServiceClient;
use tidegate_frontend::v1::proto::CheckRequest;
use tidegate_frontend::v1::proto::limits_client::LimitsClient;
use tidegate_server::config::TrustedPeer;
use tidegate_wire::Trusted;

use crate::world::{Answer, CEILING, World, ask, send};

const TOKEN: &str = "0123456789abcdef";

fn token() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    std::fs::write(&path, TOKEN).unwrap();
    (folder, path)
}

/// Asks on behalf of a proxy about a request with a key.
async fn authorize(world: &World, headers: &str) -> Answer {
    let asked = "/v1/authorize?domain=api&header.x-key=api_key&header.x-org=org";
    send(world.http(), &format!("host: x\r\n{headers}"), ("GET", asked), "").await
}

async fn claims(world: &World, door: &str, attribute: &str) -> u64 {
    let metrics = ask(world.admin(), "GET", "/metrics", "").await.body;
    let line = format!(r#"ratelimit_untrusted_claims_total{{door="{door}",attribute="{attribute}"}} "#);
    metrics
        .lines()
        .find_map(|one| one.strip_prefix(&line)?.parse().ok())
        .unwrap_or_else(|| panic!("{metrics}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn forward_auth_believes_the_proxies_that_are_named() {
    let stranger = World::new().await;
    let loopback = |config: &mut tidegate_server::Config| {
        let loopback = Trusted::parse(["127.0.0.0/8"]).unwrap();
        config.trust.peers = vec![TrustedPeer::in_networks(loopback)];
    };
    let friend = World::with(loopback).await;
    for world in [&stranger, &friend] {
        let told = "x-forwarded-for: 192.0.2.7\r\nx-org: acme\r\nx-key: k1\r\n";
        let statuses = [
            authorize(world, told).await.status,
            authorize(world, told).await.status,
            authorize(world, told).await.status,
        ];
        assert_eq!(statuses, [200, 200, 429]);
    }
    for (attribute, count) in [("ip", 3), ("org", 3), ("path", 0)] {
        assert_eq!(claims(&stranger, "authorize", attribute).await, count, "{attribute}");
        assert_eq!(claims(&friend, "authorize", attribute).await, 0, "{attribute}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_door_that_is_named_believes_whoever_knows_the_token() {
    let (_folder, path) = token();
    let world = World::with(|config| {
        config.trust.attributes = vec!["api_key".to_owned()];
        config.trust.doors = vec!["http"];
        config.trust.token_file = Some(path);
    })
    .await;
    for _ in 0..3 {
        assert_eq!(world.check("k1").await.status, 200, "what counts for nothing is not refused");
    }
    assert_eq!(claims(&world, "http", "api_key").await, 3);
    let mut statuses = Vec::new();
    for _ in 0..3 {
        let told = format!("host: x\r\nauthorization: Bearer {TOKEN}\r\n");
        let body = r#"{"domain": "api", "attributes": {"api_key": "k1"}}"#;
        statuses.push(send(world.http(), &told, ("POST", "/v1/check"), body).await.status);
    }
    assert_eq!(statuses, [200, 200, 429]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_with_a_token_answers_whoever_knows_it() {
    let (_folder, path) = token();
    let world = World::with(|config| config.http_token = Some(path)).await;
    let refused = world.check("k1").await;
    assert_eq!(refused.status, 401);
    assert!(refused.head.contains("www-authenticate: Bearer"), "{}", refused.head);
    assert!(refused.head.contains("application/problem+json"), "{}", refused.head);
    assert!(!refused.body.contains(TOKEN), "{}", refused.body);
    for path in ["/v1/authorize?domain=api", "/json", "/v1/release"] {
        assert_eq!(ask(world.http(), "POST", path, "{}").await.status, 401, "{path}");
    }
    assert_eq!(authorize(&world, "x-tidegate-token: 0123456789abcdeX\r\n").await.status, 401);
    assert_eq!(authorize(&world, &format!("x-tidegate-token: {TOKEN}\r\n")).await.status, 200);
    assert_eq!(ask(world.http(), "GET", "/healthz", "").await.status, 200);
    let metrics = ask(world.admin(), "GET", "/metrics", "").await.body;
    assert!(
        metrics.contains("ratelimit_callers_refused_total{door=\"http\",reason=\"secret\"} 5\n"),
        "{metrics}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_over_grpc_show_the_token_in_their_metadata() {
    let (_folder, path) = token();
    let world = World::with(|config| {
        config.trust.attributes = vec!["api_key".to_owned(), "org".to_owned()];
        config.trust.doors = vec!["grpc"];
        let attributes = Some(vec!["api_key".to_owned()]);
        let peer = TrustedPeer { token_file: Some(path), attributes, ..TrustedPeer::default() };
        config.trust.peers = vec![peer];
    })
    .await;
    let mut client = RateLimitServiceClient::connect(format!("http://{}", world.grpc())).await.unwrap();
    let mut codes = Vec::new();
    for shows in [false, false, false, true, true, true] {
        let entry = |key: &str| Entry { key: key.to_owned(), value: "k1".to_owned() };
        let entries = vec![entry("api_key"), entry("org")];
        let descriptors = vec![RateLimitDescriptor { entries, ..RateLimitDescriptor::default() }];
        let asked = RateLimitRequest { domain: "api".to_owned(), descriptors, ..RateLimitRequest::default() };
        let mut request = tonic::Request::new(asked);
        if shows {
            let bearer = format!("Bearer {TOKEN}").parse().unwrap();
            request.metadata_mut().insert("authorization", bearer);
        }
        codes.push(client.should_rate_limit(request).await.unwrap().into_inner().overall_code());
    }
    assert_eq!(codes, [Code::Ok, Code::Ok, Code::Ok, Code::Ok, Code::Ok, Code::OverLimit]);
    assert_eq!(claims(&world, "grpc", "api_key").await, 3);
    assert_eq!(claims(&world, "grpc", "org").await, 6, "the token is not good for that");
}

/// Where whoever calls is seen by its network alone, at both services of the door.
#[tokio::test(flavor = "multi_thread")]
async fn calls_over_grpc_are_known_by_their_network() {
    let claimed = ["org", "plan", "ip"];
    for (network, believed) in [("127.0.0.0/8", true), ("192.0.2.0/24", false)] {
        let world = World::with(|config| {
            config.trust.attributes = claimed.map(str::to_owned).to_vec();
            config.trust.doors = vec!["grpc"];
            config.trust.peers = vec![TrustedPeer::in_networks(Trusted::parse([network]).unwrap())];
        })
        .await;
        let entry = |key: &str| Entry { key: key.to_owned(), value: "192.0.2.7".to_owned() };
        let entries = claimed.map(entry).to_vec();
        let descriptors = vec![RateLimitDescriptor { entries, ..RateLimitDescriptor::default() }];
        let asked = RateLimitRequest { domain: "api".to_owned(), descriptors, ..RateLimitRequest::default() };
        let mut envoy = RateLimitServiceClient::connect(format!("http://{}", world.grpc())).await.unwrap();
        envoy.should_rate_limit(asked).await.unwrap();
        let mut ours = LimitsClient::new(world.channel().await);
        let attributes = claimed.map(|name| (name.to_owned(), "192.0.2.7".to_owned()));
        ours.check(CheckRequest {
            domain: "api".to_owned(),
            attributes: attributes.into(),
            ..CheckRequest::default()
        })
        .await
        .unwrap();
        for name in claimed {
            let expected = if believed { 0 } else { 2 };
            assert_eq!(claims(&world, "grpc", name).await, expected, "{name} from {network}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_changes_is_read_again() {
    let (_folder, path) = token();
    let world = World::with(|config| config.http_token = Some(path.clone())).await;
    assert_eq!(authorize(&world, &format!("x-tidegate-token: {TOKEN}\r\n")).await.status, 200);
    std::fs::write(&path, "fedcba9876543210").unwrap();
    let renewed =
        async { while authorize(&world, "x-tidegate-token: fedcba9876543210\r\n").await.status != 200 {} };
    tokio::time::timeout(CEILING, renewed).await.expect("the new token is never known");
    assert_eq!(authorize(&world, &format!("x-tidegate-token: {TOKEN}\r\n")).await.status, 401);
}

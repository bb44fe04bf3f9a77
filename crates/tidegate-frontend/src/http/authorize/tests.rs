//! The route, asked without a socket: by a proxy at 10.0.0.1, which is trusted, and by others.

mod claims;

use axum::body::Body;
use http::{HeaderMap, Request};
use serde_json::Value;
use tidegate_rules::{Source, compile};
use tidegate_store::{Reference, Store};
use tower::ServiceExt as _;

use super::*;
use crate::door::DoorSettings;
use crate::door::tests::{Faulty, door_to};
use crate::http::router;
use tidegate_wire::client_ip::Trusted;
use tidegate_wire::trust::{Grant, Peer, Trust};

const PROXY: &str = "10.0.0.1:4711";

const RULES: &str = "
domain: api
rules:
  - { name: per-key, by: [api_key], limit: 1/min }
  - { name: per-address, match: { path: /login, method: POST }, by: [ip], limit: 1/min }
  - { name: trials, match: { headers: { X-Trial: '1' } }, by: [host], limit: 1/min }
  - { name: paged, match: { query: { page: all } }, by: [scheme], limit: 1/min }
  - { name: bots, match: { agent: bot }, action: block }
  - { name: slow, match: { path: /slow }, by: [ip], limit: { amount: 2, per: 1m, algorithm: leaky_bucket }, action: delay }
";

/// What came back.
struct Back {
    status: u16,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Back {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    fn detail(&self) -> String {
        assert_eq!(self.headers["content-type"], "application/problem+json");
        self.json()["detail"].as_str().unwrap().to_owned()
    }
}

fn settings() -> DoorSettings {
    let proxies = Trusted::parse(["10.0.0.0/8"]).unwrap();
    DoorSettings {
        forward_trust: Trust::only_forwarded(vec![Grant::to_networks(proxies)], ["org", "plan"]),
        ..DoorSettings::default()
    }
}

fn door() -> Door<Reference> {
    door_to(Reference::new(), RULES, settings()).0
}

/// Asks from an address, about a request with these headers.
async fn ask<S: Store>(door: &Door<S>, peer: &str, query: &str, headers: &[(&str, &str)]) -> Back {
    let request = Request::get(format!("/v1/authorize?{query}")).extension(Peer::at(peer.parse().unwrap()));
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    send(door, request.body(Body::empty()).unwrap()).await
}

async fn send<S: Store>(door: &Door<S>, request: Request<Body>) -> Back {
    let (parts, body) = router(door.clone()).oneshot(request).await.unwrap().into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap().to_vec();
    Back { status: parts.status.as_u16(), headers: parts.headers, body }
}

const PER_KEY: &str = "domain=api&header.x-api-key=api_key";

#[tokio::test]
async fn a_request_passes_until_its_limit_is_spent() {
    let door = door();
    let passed = ask(&door, PROXY, PER_KEY, &[("x-api-key", "k1")]).await;
    assert_eq!((passed.status, passed.body.len()), (200, 0));
    assert_eq!(passed.headers["ratelimit-policy"], r#""per-key";q=1;w=60"#);
    let refused = ask(&door, PROXY, PER_KEY, &[("x-api-key", "k1")]).await;
    assert_eq!((refused.status, &refused.json()["status"]), (429, &429.into()));
    assert!(refused.headers.contains_key("retry-after"), "{:?}", refused.headers);
    assert_eq!(refused.headers["x-ratelimit-denied-by"], r#"api_key;rule="per-key""#);
    assert_eq!(refused.json()["denied_by"][0], "per-key");
    assert_eq!(ask(&door, PROXY, PER_KEY, &[("x-api-key", "k2")]).await.status, 200);
}

#[tokio::test]
async fn refusals_have_the_status_that_the_proxy_can_pass_on() {
    let door = door();
    let query = format!("{PER_KEY}&deny_status=403");
    ask(&door, PROXY, &query, &[("x-api-key", "k1")]).await;
    let refused = ask(&door, PROXY, &query, &[("x-api-key", "k1")]).await;
    assert_eq!((refused.status, &refused.json()["status"]), (403, &403.into()));
    assert!(refused.headers.contains_key("retry-after"));
    let blocked = ask(&door, PROXY, "domain=api&attribute.agent=bot&deny_status=401", &[]).await;
    assert_eq!(blocked.status, 401);
}

#[tokio::test]
async fn what_nobody_could_decide_is_503_whatever_refusals_are() {
    let rules = "domain: api\ndefaults: { class: security }\nrules: [{ name: a, by: [ip], limit: 1/s }]";
    let (door, _) = door_to(Faulty::Failing, rules, settings());
    let undecided = ask(&door, PROXY, "domain=api&deny_status=403", &[]).await;
    assert_eq!((undecided.status, &undecided.json()["reason"]), (503, &"undecided".into()));
    assert!(undecided.headers.contains_key("retry-after"));
    let rules = rules.replace("security", "comfort");
    let (door, _) = door_to(Faulty::Failing, &rules, settings());
    assert_eq!(ask(&door, PROXY, "domain=api", &[]).await.status, 200);
}

#[tokio::test]
async fn every_method_asks_and_no_body_is_read() {
    for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PURGE"] {
        let broken = unreadable();
        let request = Request::builder().method(method).uri(format!("/v1/authorize?{PER_KEY}"));
        let request = request.header("content-length", "100").header("x-api-key", "k1");
        assert_eq!(send(&door(), request.body(broken).unwrap()).await.status, 200, "{method}");
    }
}

/// A body that cannot be read without failing.
fn unreadable() -> Body {
    struct Broken;
    impl axum::body::HttpBody for Broken {
        type Data = axum::body::Bytes;
        type Error = std::io::Error;

        fn poll_frame(
            self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<Result<http_body::Frame<Self::Data>, Self::Error>>> {
            panic!("the body is read")
        }
    }
    Body::new(Broken)
}

#[tokio::test]
async fn an_address_that_cannot_be_meant_is_told_what_to_write() {
    let door = door();
    for (query, told) in [
        ("domain=", "has no `domain`"),
        ("domain=api&deny_status=200", "`deny_status` should be a status from 400 to 599"),
        ("domain=api&cost=-1", "`cost` should be a whole number"),
        ("domain=api&timeout_ms=0", "`timeout_ms` should be from 1 to 60000"),
        ("domain=api&from=elsewhere", "forwarded, original or original_url"),
        ("domain=api&header.x-api-key", "header.x-api-key=api_key"),
        ("domain=api&header.=api_key", "header.x-api-key=api_key"),
        ("domain=api&secret-word=1", "it may say domain, deny_status, cost"),
    ] {
        let back = ask(&door, PROXY, query, &[]).await;
        let detail = back.detail();
        assert_eq!(back.status, 400, "{query}");
        assert!(detail.contains(told) && !detail.contains("secret-word"), "{query}: {detail}");
    }
    assert_eq!(door.malformed(), 8);
}

#[tokio::test]
async fn costs_and_attributes_can_stand_in_the_address() {
    let door = door();
    let query = "domain=api&attribute.api_key=a+key%21&cost=0";
    assert_eq!(ask(&door, PROXY, query, &[]).await.status, 200);
    assert_eq!(ask(&door, PROXY, "domain=api&attribute.api_key=a+key%21", &[]).await.status, 200);
    assert_eq!(ask(&door, PROXY, "domain=api&attribute.api_key=a%20key!", &[]).await.status, 429);
}

#[tokio::test]
async fn whoever_serves_the_request_is_told_to_hold_it_back() {
    let (door, about) = (door(), [("x-forwarded-uri", "/slow"), ("x-forwarded-for", "192.0.2.7")]);
    ask(&door, PROXY, "domain=api", &about).await;
    let held = ask(&door, PROXY, "domain=api", &about).await;
    assert_eq!(held.status, 200);
    assert!(held.headers.contains_key("x-tidegate-delay-ms"), "{:?}", held.headers);
}

#[tokio::test]
async fn sole_domain_need_not_be_named() {
    let door = door();
    let query = "header.x-api-key=api_key";
    for status in [200, 429] {
        assert_eq!(ask(&door, PROXY, query, &[("x-api-key", "k1")]).await.status, status);
    }
    let other = Source::new("other.yaml", "domain: other\nrules: [{ name: a, by: [user], limit: 1/s }]");
    let sources = vec![Source::new("api.yaml", RULES), other];
    door.engine().install(compile(sources).snapshot.unwrap());
    let back = ask(&door, PROXY, query, &[("x-api-key", "k1")]).await;
    assert_eq!(back.status, 400);
    assert!(back.detail().contains("the address has no `domain`"), "{}", back.detail());
}

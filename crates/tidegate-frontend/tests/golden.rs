//! The answers to the same few checks, as Envoy and as callers of the HTTP API read them.
//!
//! `TIDEGATE_BLESS=1 cargo test -p tidegate-frontend --test golden` writes the files anew; review what changed.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use axum::body::Body;
use envoy_types::pb::envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;
use envoy_types::pb::envoy::extensions::common::ratelimit::v3::rate_limit_descriptor::Entry;
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_service_client::RateLimitServiceClient;
use envoy_types::pb::envoy::service::ratelimit::v3::{RateLimitRequest, RateLimitResponse};
use envoy_types::pb::google::protobuf::value::Kind;
use envoy_types::pb::google::protobuf::{Struct, Value};
use http::Request;
use tidegate_core::Timestamp;
use tidegate_engine::Engine;
use tidegate_frontend::door::{Door, DoorSettings};
use tidegate_frontend::{http as http_api, rls};
use tidegate_rules::{Source, compile};
use tidegate_store::Reference;
use tidegate_wire::headers::{Legacy, Settings};
use tower::ServiceExt as _;

const RULES: &str = "
domain: api
rules:
  - { name: per-user, by: [user], limits: [1/s, 100/h] }
  - { name: per-path, by: [path], limit: 1/min, mode: shadow }
  - { name: uploads, match: { path: /upload }, by: [user], limit: 1 concurrent, title: Busy, message: One upload at a time. }
  - { name: heavy, match: { path: /heavy }, by: [path], limit: 1/min, action: degrade }
  - { name: banned, match: { user: mallory }, action: block }
descriptors:
  - key: plan
    rate_limit: { unit: day, requests_per_unit: 2, name: daily }
    metadata: { team: billing, weights: [1, 2] }
";

/// Fails unless the file says exactly this; with `TIDEGATE_BLESS=1` writes it.
fn check(file: &str, written: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file);
    if std::env::var_os("TIDEGATE_BLESS").is_some_and(|value| value == "1") {
        std::fs::write(&path, written).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(written, golden, "{file} differs; TIDEGATE_BLESS=1 rewrites it");
}

/// A door at noon, each call of which takes a millisecond.
fn door() -> Door<Reference> {
    let engine = Engine::new(Reference::new());
    engine.install(compile(vec![Source::new("api.yaml", RULES)]).snapshot.unwrap().with_version(7));
    let us = AtomicU64::new(1_800_014_400_000_000);
    let clock = Arc::new(move || Timestamp::from_micros(us.fetch_add(1000, Relaxed)));
    let headers = Settings { legacy: Legacy::Epoch, ..Settings::default() };
    Door::new(Arc::new(engine), clock, DoorSettings { headers, ..DoorSettings::default() })
}

/// The facts of each check; the engine and the doors see them in this order.
const CHECKS: [&[(&str, &str)]; 10] = [
    &[("user", "alice"), ("path", "/a")],
    &[("user", "alice"), ("path", "/a")],
    &[("user", "bob"), ("path", "/upload")],
    &[("user", "carol"), ("path", "/heavy")],
    &[("user", "dan"), ("path", "/heavy")],
    &[("user", "mallory")],
    &[("plan", "free")],
    &[("plan", "free")],
    &[("plan", "free")],
    &[("colour", "red")],
];

/// Ids differ from run to run: their digits, with and without hyphens, become zeros.
fn without_ids(text: &str) -> String {
    let mut out = String::new();
    for piece in text.split_inclusive(|one: char| !one.is_ascii_hexdigit() && one != '-') {
        let digits = piece.chars().filter(char::is_ascii_hexdigit).count();
        let is_id = (digits == 32 || digits == 33) && piece.len() >= 32;
        let zero = |one: char| if one.is_ascii_hexdigit() { '0' } else { one };
        if is_id { out.extend(piece.chars().map(zero)) } else { out.push_str(piece) }
    }
    out
}

fn descriptor((key, value): &(&str, &str)) -> RateLimitDescriptor {
    let entry = Entry { key: (*key).to_owned(), value: (*value).to_owned() };
    RateLimitDescriptor { entries: vec![entry], ..RateLimitDescriptor::default() }
}

#[tokio::test]
async fn envoy_is_told() {
    let door = door();
    let mut written = String::new();
    for facts in CHECKS {
        let descriptors = facts.iter().map(descriptor).collect();
        let message = RateLimitRequest { domain: "api".to_owned(), descriptors, hits_addend: 0 };
        let mut client = RateLimitServiceClient::new(rls::service(door.clone()));
        let response = client.should_rate_limit(message).await.unwrap().into_inner();
        writeln!(written, "# {facts:?}\n{}", response_text(&response)).unwrap();
    }
    check("rls.txt", &without_ids(&written));
}

fn response_text(response: &RateLimitResponse) -> String {
    let mut out = format!("{}\n", response.overall_code().as_str_name());
    for status in &response.statuses {
        let limit = status.current_limit.as_ref().map(|limit| {
            format!(" {:?}: {} per {}", limit.name, limit.requests_per_unit, limit.unit().as_str_name())
        });
        let reset = status.duration_until_reset.as_ref().map(|reset| format!(" reset {} s", reset.seconds));
        writeln!(
            out,
            "status {}{} remaining {}{}",
            status.code().as_str_name(),
            limit.unwrap_or_default(),
            status.limit_remaining,
            reset.unwrap_or_default(),
        )
        .unwrap();
    }
    for header in &response.response_headers_to_add {
        writeln!(out, "response header {}: {}", header.key, header.value).unwrap();
    }
    for header in &response.request_headers_to_add {
        writeln!(out, "request header {}: {}", header.key, header.value).unwrap();
    }
    writeln!(out, "body {}", String::from_utf8(response.raw_body.clone()).unwrap()).unwrap();
    writeln!(out, "metadata {}", struct_text(response.dynamic_metadata.as_ref().unwrap())).unwrap();
    out
}

/// Fields by name: the order on the wire is left to chance.
fn struct_text(fields: &Struct) -> String {
    let mut fields: Vec<_> = fields.fields.iter().collect();
    fields.sort_by_key(|(name, _)| *name);
    let fields: Vec<_> =
        fields.into_iter().map(|(name, value)| format!("{name}: {}", value_text(value))).collect();
    format!("{{ {} }}", fields.join(", "))
}

fn value_text(value: &Value) -> String {
    match value.kind.as_ref().unwrap() {
        Kind::NullValue(_) => "null".to_owned(),
        Kind::BoolValue(truth) => truth.to_string(),
        Kind::NumberValue(number) => number.to_string(),
        Kind::StringValue(text) => format!("{text:?}"),
        Kind::StructValue(fields) => struct_text(fields),
        Kind::ListValue(list) => {
            format!("[{}]", list.values.iter().map(value_text).collect::<Vec<_>>().join(", "))
        }
    }
}

#[tokio::test]
async fn callers_of_the_http_api_are_told() {
    let door = door();
    let mut written = String::new();
    for facts in CHECKS {
        let attributes: serde_json::Map<_, _> =
            facts.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
        let pairs: Vec<_> = facts.iter().map(|(key, value)| vec![vec![*key, *value]]).collect();
        let body = if facts[0].0 == "plan" {
            serde_json::json!({ "domain": "api", "descriptors": pairs })
        } else {
            serde_json::json!({ "domain": "api", "attributes": attributes })
        };
        ask(&door, "/v1/check", &body.to_string(), &mut written).await;
    }
    ask(&door, "/v1/check", r#"[{"domain":"api","attributes":{"user":"dave"}},{"domain":"api","attributes":{"user":"mallory"}},{}]"#, &mut written).await;
    ask(&door, "/v1/cancel", r#"{"id":"00000000000000000000000000000000"}"#, &mut written).await;
    ask(&door, "/v1/check", r#"{"domain":"api","color":"red"}"#, &mut written).await;
    ask(
        &door,
        "/json",
        r#"{"domain":"api","descriptors":[{"entries":[{"key":"plan","value":"pro"}]}]}"#,
        &mut written,
    )
    .await;
    check("http.txt", &without_ids(&written));
}

async fn ask(door: &Door<Reference>, path: &str, body: &str, out: &mut String) {
    let request =
        Request::post(path).header("content-type", "application/json").body(Body::from(body.to_owned()));
    let response = http_api::router(door.clone()).oneshot(request.unwrap()).await.unwrap();
    writeln!(out, "# POST {path} {body}\n{}", response.status()).unwrap();
    for (name, value) in response.headers() {
        writeln!(out, "{name}: {}", value.to_str().unwrap()).unwrap();
    }
    let bytes = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
    writeln!(out, "\n{}\n", String::from_utf8(bytes.to_vec()).unwrap()).unwrap();
}

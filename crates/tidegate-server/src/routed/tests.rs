//! Checks over HTTP/1.1 through an engine, by the shortcut and by the route: both must agree.

use std::sync::Arc;
use std::time::Duration;

use tidegate_core::Timestamp;
use tidegate_engine::Engine;
use tidegate_frontend::door::{Door, DoorSettings};
use tidegate_net::http::HttpListener;
use tidegate_net::{ConnectionCounts, ConnectionHandler as _, ConnectionLimits, ListenerConfig, Phase};
use tidegate_rules::{Source, compile};
use tidegate_store::Memory;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use tokio::sync::watch;
use tokio::time::Instant;

use super::*;
use crate::health::Health;
use crate::http;

const RULES: &str = "
domain: api
rules:
  - { name: per-user, by: [user], limit: 3/min }
";

const HEADER_TIMEOUT: Duration = Duration::from_secs(7);
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
const IDLE_TIMEOUT: Duration = Duration::from_secs(9);

const BODY: &str = r#"{"domain":"api","attributes":{"user":"alice"}}"#;

/// A check of a user who may pass three times.
fn check() -> String {
    let head = "POST /v1/check HTTP/1.1\r\nhost: a\r\ncontent-type: application/json";
    format!("{head}\r\ncontent-length: {}\r\n\r\n{BODY}", BODY.len())
}

/// A connection to an engine of its own, by the shortcut or by the route.
async fn connect(by_shortcut: bool) -> (DuplexStream, watch::Sender<Phase>) {
    let engine = Arc::new(Engine::new(Stack::Memory(Memory::new())));
    engine.install(compile(vec![Source::new("a.yaml", RULES)]).snapshot.unwrap());
    let clock = Arc::new(|| Timestamp::from_micros(1_790_000_000_000_000));
    let door = Door::new(engine, clock, DoorSettings::default());
    let limits = ConnectionLimits {
        header_timeout: HEADER_TIMEOUT,
        request_timeout: REQUEST_TIMEOUT,
        idle_timeout: IDLE_TIMEOUT,
        ..ConnectionLimits::default()
    };
    let counts = Arc::new(ConnectionCounts::default());
    let server = Arc::new(HttpListener {
        listener: ListenerConfig { name: "http", limits, counts, tls: None },
        http2_only: false,
        budget: door.room().clone(),
        app: RoutedApp {
            shortcut: by_shortcut.then(|| Shortcut::Check(http_api::Checks::new(door.clone()))),
            router: http::app(door, &Arc::new(Health::new().await), None),
            needs_peer: true,
            is_stream: |_| false,
            fallbacks: http::FALLBACKS,
        },
    });
    let (ours, theirs) = duplex(1 << 20);
    let (phases, phase) = watch::channel(Phase::Serving);
    tokio::spawn(server.handle(theirs, Peer::at("192.0.2.1:4711".parse().unwrap()), phase));
    (ours, phases)
}

/// Everything that the server sends until it closes the connection.
async fn rest(mut ours: DuplexStream) -> String {
    let mut back = String::new();
    ours.read_to_string(&mut back).await.unwrap();
    back
}

#[tokio::test(start_paused = true)]
async fn answers_pipelined_checks_in_order() {
    for by_shortcut in [true, false] {
        let (mut ours, _phases) = connect(by_shortcut).await;
        ours.write_all(check().repeat(5).as_bytes()).await.unwrap();
        let back = rest(ours).await;
        let statuses: Vec<&str> = back.split("HTTP/1.1 ").skip(1).map(|answer| &answer[..3]).collect();
        assert_eq!(statuses, ["200", "200", "200", "429", "429"]);
    }
}

#[tokio::test(start_paused = true)]
async fn closes_silent_and_slow_peers() {
    let whole = check();
    let body = whole.len() - BODY.len();
    for (sent, expected, after) in [
        ("", "", IDLE_TIMEOUT),
        (&whole[..20], "", HEADER_TIMEOUT),
        (&whole[..body], "HTTP/1.1 408 ", REQUEST_TIMEOUT),
        (&whole[..whole.len() - 1], "HTTP/1.1 408 ", REQUEST_TIMEOUT),
        (whole.as_str(), "HTTP/1.1 200 ", HEADER_TIMEOUT),
    ] {
        for by_shortcut in [true, false] {
            let (mut ours, _phases) = connect(by_shortcut).await;
            let start = Instant::now();
            ours.write_all(sent.as_bytes()).await.unwrap();
            let back = rest(ours).await;
            assert!(back.starts_with(expected) && back.is_empty() == expected.is_empty(), "{back}");
            assert_eq!(start.elapsed().as_secs(), after.as_secs(), "{sent}");
        }
    }
}

/// `POST http://a/v1/peek` over HTTP/2, with a body that ends in a frame of its own.
#[tokio::test(start_paused = true)]
async fn answers_many_short_requests_at_once() {
    const REQUESTS: u32 = 100;
    const GOAWAY: u8 = 7;
    const HEADERS: u8 = 1;
    for by_shortcut in [true, false] {
        let (mut ours, _phases) = connect(by_shortcut).await;
        let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0".to_vec();
        for stream in (1..2 * REQUESTS).step_by(2).map(u32::to_be_bytes) {
            bytes.extend([b"\0\0\x0f\x01\x04", &stream[..], b"\x83\x86\x04\x08/v1/peek\x01\x01a"].concat());
            let body = [b"\0\0\x10\0\0", &stream[..], br#"{"domain":"api"}"#, b"\0\0\0\0\x01", &stream[..]];
            bytes.extend(body.concat());
        }
        ours.write_all(&bytes).await.unwrap();
        let mut heads = 0;
        while heads < REQUESTS {
            let mut head = [0; 9];
            ours.read_exact(&mut head).await.expect("the connection stays open");
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
            ours.read_exact(&mut vec![0; length]).await.unwrap();
            assert_ne!(head[3], GOAWAY);
            heads += u32::from(head[3] == HEADERS);
        }
    }
}

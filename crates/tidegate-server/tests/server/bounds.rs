//! What callers can make grow has an end.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Bytes;
use axum::http::Request;
use envoy_types::pb::envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;
use envoy_types::pb::envoy::service::ratelimit::v3::RateLimitRequest;
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_service_client::RateLimitServiceClient;
use http_body::Frame;
use hyper::body::Incoming;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use tidegate_frontend::v1::proto::{CheckManyRequest, CheckRequest};
use tidegate_server::config::RuntimeChoice;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tonic::Code;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;

use crate::world::{Answer, CEILING, World, ask, until};

/// Everything that comes until the connection is closed.
async fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    // A connection that is reset is closed too.
    timeout(CEILING, stream.read_to_end(&mut bytes)).await.expect("the connection stays open").ok();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_beyond_the_bound_are_closed_at_once() {
    let world = World::with(|config| config.limits.network.connections = 1).await;
    let mut first = TcpStream::connect(world.http()).await.unwrap();
    first.write_all(b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    assert_eq!(first.read(&mut [0; 1024]).await.unwrap_or_default().min(1), 1, "the first is served");
    let mut second = TcpStream::connect(world.http()).await.unwrap();
    assert_eq!(rest(&mut second).await, "");
    let metrics = ask(world.admin(), "GET", "/metrics", "").await.body;
    assert!(metrics.contains("ratelimit_connections_refused_total{door=\"http\"} 1\n"), "{metrics}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_without_requests_is_closed() {
    let world = World::with(|config| config.limits.network.idle_timeout = Duration::from_millis(20)).await;
    for address in [world.http(), world.grpc()] {
        let mut silent = TcpStream::connect(address).await.unwrap();
        rest(&mut silent).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_connection_is_closed_however_busy_it_is() {
    let world = World::with(|config| config.limits.network.connection_age = Duration::from_millis(20)).await;
    let mut busy = TcpStream::connect(world.http()).await.unwrap();
    let asking = async {
        // Until it is closed: then it cannot be written to, or there is nothing to read.
        while busy.write_all(b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n").await.is_ok()
            && busy.read(&mut [0; 1024]).await.is_ok_and(|bytes| bytes > 0)
        {}
    };
    timeout(CEILING, asking).await.expect("the connection stays open");
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_are_spread_over_all_cores() {
    let world = World::with(|config| config.runtime = RuntimeChoice::Cores(3)).await;
    let mut open = Vec::new();
    for _ in 0..6 {
        let mut connection = TcpStream::connect(world.http()).await.unwrap();
        connection.write_all(b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
        assert!(connection.read(&mut [0; 1024]).await.unwrap() > 0);
        open.push(connection);
    }
    let metrics = ask(world.admin(), "GET", "/metrics", "").await.body;
    for core in 0..3 {
        let line = format!("ratelimit_core_connections{{core=\"{core}\"}} 2\n");
        assert!(metrics.contains(&line), "{metrics}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_runtime_can_serve_all() {
    let world = World::with(|config| config.runtime = RuntimeChoice::Shared).await;
    let answer = ask(world.http(), "POST", "/v1/check", r#"{"domain": "api"}"#).await;
    assert_eq!(answer.status, 200);
    let metrics = ask(world.admin(), "GET", "/metrics", "").await.body;
    assert!(!metrics.contains("ratelimit_core_connections{core=\"1\"}"), "{metrics}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_that_does_not_come_is_not_waited_for() {
    let world = World::with(|config| config.limits.network.header_timeout = Duration::from_millis(20)).await;
    let mut slow = TcpStream::connect(world.http()).await.unwrap();
    slow.write_all(b"GET /healthz HTTP/1.1\r\nhost:").await.unwrap();
    rest(&mut slow).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_does_not_come_is_answered_in_time() {
    let world = World::with(|config| config.limits.network.request_timeout = Duration::from_millis(20)).await;
    let mut slow = TcpStream::connect(world.http()).await.unwrap();
    let head = b"POST /v1/check HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: 9\r\n\r\n{";
    slow.write_all(head).await.unwrap();
    let answer = rest(&mut slow).await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(answer.contains("application/problem+json"), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_and_batches_are_bounded() {
    let world = World::with(|config| {
        config.limits.body_bytes = 1024;
        config.limits.batch = 2;
    })
    .await;
    let large = format!(r#"{{"domain": "{}"}}"#, "a".repeat(2000));
    assert_eq!(ask(world.http(), "POST", "/v1/check", &large).await.status, 413);
    let batch = format!("[{}]", [r#"{"domain": "api"}"#; 3].join(","));
    assert_eq!(ask(world.http(), "POST", "/v1/check", &batch).await.status, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_never_ends_keeps_long_ones_out_only_as_long_as_it_is_there() {
    const LONG: usize = 10_000;
    // What is free of it is not counted.
    const COUNTED: usize = LONG - (4 << 10);
    let world = World::with(|config| {
        (config.limits.body_bytes, config.limits.bodies_bytes) = (LONG, COUNTED);
    })
    .await;
    let held = |least: usize, most: usize| {
        until(world.admin(), "/metrics", move |page| {
            (least..=most).contains(&read_gauge(page, r#"ratelimit_body_bytes{door="http"}"#))
        })
    };
    let mut endless = TcpStream::connect(world.http()).await.unwrap();
    let head = format!("POST /v1/check HTTP/1.1\r\nhost: a\r\ncontent-length: {LONG}\r\n\r\n");
    endless.write_all(format!("{head}{}", " ".repeat(LONG - 1)).as_bytes()).await.unwrap();
    // It takes a little more than it needs if it comes in parts.
    held(COUNTED - 1, COUNTED).await;
    let body = format!(r#"{:9000}{{"domain": "api"}}"#, ' ');
    let long = || ask(world.http(), "POST", "/v1/check", &body);
    let refused = long().await;
    assert_eq!(refused.status, 503, "{}", refused.body);
    assert!(refused.head.contains("application/problem+json"), "{}", refused.head);
    assert_eq!(world.check("k1").await.status, 200, "whoever needs little is served");
    let mut client = RateLimitServiceClient::new(world.channel().await);
    let request = RateLimitRequest {
        domain: "api".to_owned(),
        descriptors: vec![RateLimitDescriptor::default()],
        ..RateLimitRequest::default()
    };
    client.should_rate_limit(request).await.unwrap();
    drop(endless);
    let metrics = held(0, 0).await.body;
    assert!(metrics.contains("ratelimit_bodies_refused_total{door=\"http\"} 1\n"), "{metrics}");
    assert_eq!(long().await.status, 200);
}

/// One piece of a body, and then nothing: neither more nor its end, unless it ends with that.
struct Piece {
    bytes: Option<Bytes>,
    ends: bool,
}

impl http_body::Body for Piece {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.bytes.take() {
            Some(bytes) => Poll::Ready(Some(Ok(Frame::data(bytes)))),
            None if self.ends => Poll::Ready(None),
            None => Poll::Pending,
        }
    }
}

/// A connection over HTTP/2 whose answers have no room for a byte of their bodies.
async fn miserly(address: SocketAddr) -> http2::SendRequest<Piece> {
    let stream = TokioIo::new(TcpStream::connect(address).await.unwrap());
    let mut builder = http2::Builder::new(TokioExecutor::new());
    let (sender, connection) = builder.initial_stream_window_size(0).handshake(stream).await.unwrap();
    tokio::spawn(connection);
    sender
}

/// A figure of the metrics.
fn read_gauge(page: &Answer, name: &str) -> usize {
    let figure = page.body.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    figure.unwrap_or_else(|| panic!("{name} is not among the metrics"))
}

async fn gauge(world: &World, name: &str) -> usize {
    read_gauge(&ask(world.admin(), "GET", "/metrics", "").await, name)
}

/// Waits for a line among the metrics.
async fn measured(world: &World, line: &'static str) {
    until(world.admin(), "/metrics", move |answer| answer.body.lines().any(|one| one == line)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_that_nobody_takes_have_their_bound() {
    const ROOM: usize = 256 << 10;
    let world = World::with(|config| {
        (config.limits.body_bytes, config.limits.bodies_bytes) = (ROOM, ROOM);
    })
    .await;
    let batch = Bytes::from(format!("[{}]", [r#"{"domain": "api"}"#; 100].join(",")));
    let mut sender = miserly(world.http()).await;
    let (mut answers, mut held, mut refused) = (Vec::<axum::http::Response<Incoming>>::new(), 0, 0);
    for _ in 0..100 {
        let body = Piece { bytes: Some(batch.clone()), ends: true };
        let request = Request::post("http://a/v1/check").body(body).unwrap();
        let answer = timeout(CEILING, sender.send_request(request)).await.expect("an answer").unwrap();
        match answer.status().as_u16() {
            200 => held += answer.headers()["content-length"].to_str().unwrap().parse::<usize>().unwrap(),
            503 => refused += 1,
            other => panic!("{other}"),
        }
        answers.push(answer);
    }
    // They have half as much as bodies.
    assert!(held <= ROOM / 2, "{held} bytes are held");
    assert!(held > ROOM / 4 && refused > 0, "{held} bytes are held, and {refused} were refused");
    // Whoever needs little is served.
    assert_eq!(world.check("k1").await.status, 200);
    drop((answers, sender));
    measured(&world, r#"ratelimit_body_bytes{door="http"} 0"#).await;
}

/// A call's message in its frame.
fn framed(message: &impl Message) -> Bytes {
    let (message, mut bytes) = (message.encode_to_vec(), vec![0]);
    bytes.extend_from_slice(&u32::try_from(message.len()).unwrap().to_be_bytes());
    bytes.extend_from_slice(&message);
    Bytes::from(bytes)
}

/// Many checks at once, each of which has to be told about.
fn many() -> Bytes {
    let attributes = HashMap::from([("api_key".to_owned(), "k".to_owned())]);
    let check = CheckRequest { domain: "api".to_owned(), attributes, ..CheckRequest::default() };
    framed(&CheckManyRequest { checks: vec![check; 100] })
}

/// A question with a long answer: the description of our own service.
fn description() -> Bytes {
    let name = "tidegate.v1.Limits".to_owned();
    let asked = Some(MessageRequest::FileContainingSymbol(name));
    framed(&ServerReflectionRequest { host: String::new(), message_request: asked })
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_to_calls_that_nobody_takes_have_their_bound() {
    const ROOM: usize = 64 << 10;
    let world = World::with(|config| {
        (config.limits.body_bytes, config.limits.bodies_bytes) = (ROOM, ROOM);
    })
    .await;
    let mut sender = miserly(world.grpc()).await;
    let (mut answers, mut refused) = (Vec::<axum::http::Response<Incoming>>::new(), 0);
    for _ in 0..50 {
        let body = Piece { bytes: Some(many()), ends: true };
        let request = Request::post("http://a/tidegate.v1.Limits/CheckMany").body(body).unwrap();
        let answer = timeout(CEILING, sender.send_request(request)).await.expect("an answer").unwrap();
        refused += usize::from(answer.headers().get("grpc-status").is_some_and(|status| status == "8"));
        answers.push(answer);
    }
    let held = gauge(&world, r#"ratelimit_body_bytes{door="grpc"}"#).await;
    assert!(held > ROOM / 4 && held <= ROOM / 2 && refused > 0, "{held} are held, {refused} were refused");
    drop((answers, sender));
    measured(&world, r#"ratelimit_body_bytes{door="grpc"} 0"#).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn descriptions_that_nobody_takes_pay_for_their_room() {
    let world = World::new().await;
    let stream = TokioIo::new(TcpStream::connect(world.grpc()).await.unwrap());
    let mut builder = http2::Builder::new(TokioExecutor::new());
    // One byte of each answer is taken, so that the rest has to wait.
    let (mut sender, connection) = builder.initial_stream_window_size(1).handshake(stream).await.unwrap();
    tokio::spawn(connection);
    let path = "http://a/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
    let body = Piece { bytes: Some(description()), ends: true };
    let answer = sender.send_request(Request::post(path).body(body).unwrap()).await.unwrap();
    let paid = |page: &Answer| read_gauge(page, r#"ratelimit_body_bytes{door="grpc"}"#) > 4 << 10;
    until(world.admin(), "/metrics", paid).await;
    drop((answer, sender));
    measured(&world, r#"ratelimit_body_bytes{door="grpc"} 0"#).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn so_many_of_a_connection_watch_and_no_more() {
    let world = World::new().await;
    let mut client = HealthClient::new(world.channel().await);
    let mut streams = Vec::new();
    for _ in 0..16 {
        let mut stream = client.watch(HealthCheckRequest::default()).await.unwrap().into_inner();
        assert_eq!(stream.message().await.unwrap().unwrap().status(), ServingStatus::Serving);
        streams.push(stream);
    }
    let refused = client.watch(HealthCheckRequest::default()).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted);
    let mut other = HealthClient::new(world.channel().await);
    other.watch(HealthCheckRequest::default()).await.expect("another connection has its own");
    streams.pop();
    let again = async { while client.watch(HealthCheckRequest::default()).await.is_err() {} };
    timeout(CEILING, again).await.expect("one has ended");
    let stopped = tokio::spawn(world.server.stop());
    for mut stream in streams {
        let told = timeout(CEILING, stream.message()).await.expect("nobody is told that the server goes");
        assert_eq!(told.unwrap().unwrap().status(), ServingStatus::NotServing);
    }
    stopped.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn long_heads_of_requests_that_never_end_have_their_bound() {
    const ROOM: usize = 256 << 10;
    let world = World::with(|config| {
        (config.limits.body_bytes, config.limits.bodies_bytes) = (ROOM, ROOM);
    })
    .await;
    let mut sender = miserly(world.http()).await;
    let long = "a".repeat(30 << 10);
    let asked = (0..20).map(|number| {
        let body = Piece { bytes: None, ends: false };
        // Wherever they are long.
        let (host, field) = if number % 2 == 0 { ("a", long.as_str()) } else { (long.as_str(), "a") };
        let request = Request::post(format!("http://{host}/v1/peek")).header("x-long", field);
        sender.send_request(request.body(body).unwrap())
    });
    let asked: Vec<_> = asked.map(tokio::spawn).collect();
    // Four fit into their room, half of that for bodies.
    measured(&world, r#"ratelimit_bodies_refused_total{door="http"} 16"#).await;
    assert_eq!(world.check("k1").await.status, 200);
    asked.iter().for_each(tokio::task::JoinHandle::abort);
    drop(sender);
    measured(&world, r#"ratelimit_body_bytes{door="http"} 0"#).await;
}

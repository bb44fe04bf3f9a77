//! Connections with silent, slow or old peers: closed in time, and not before.

mod app;
mod http1;

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex, split};
use tokio::sync::watch;
use tokio::task::{JoinHandle, yield_now};
use tokio::time::{Instant, sleep_until};

use super::connection::KEEP_ALIVE;
use super::*;
use crate::{CLOSE_GRACE, ConnectionCounts, ConnectionLimits};
use app::TestApp;

const HEADER_TIMEOUT: Duration = Duration::from_secs(7);
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
const IDLE_TIMEOUT: Duration = Duration::from_secs(9);
const AGE: Duration = Duration::from_secs(20);
/// The bytes that bodies may take; heads and answers have half as many.
const BUDGET: usize = 64 << 20;

/// A server over an application that keeps the heads of requests in memory or does not.
fn server(drops_heads: bool) -> HttpListener<TestApp> {
    let limits = ConnectionLimits {
        header_timeout: HEADER_TIMEOUT,
        request_timeout: REQUEST_TIMEOUT,
        idle_timeout: IDLE_TIMEOUT,
        connection_age: AGE,
        ..ConnectionLimits::default()
    };
    let counts = Arc::new(ConnectionCounts::default());
    HttpListener {
        listener: ListenerConfig { name: "http", limits, counts, tls: None },
        http2_only: false,
        budget: ListenerBudget::new(BUDGET),
        app: TestApp { drops_heads },
    }
}

/// The client's end of a connection, and the sender that makes the server drain.
fn connect(server: HttpListener<TestApp>) -> (DuplexStream, watch::Sender<Phase>) {
    let (ours, theirs) = duplex(1 << 20);
    (ours, connect_over(theirs, Arc::new(server)).0)
}

/// The same over a given stream, and the task that serves it.
fn connect_over(
    theirs: impl ByteStream,
    server: Arc<HttpListener<TestApp>>,
) -> (watch::Sender<Phase>, JoinHandle<()>) {
    let (phases, phase) = watch::channel(Phase::Serving);
    let peer = Peer::at("192.0.2.1:4711".parse().unwrap());
    (phases, tokio::spawn(server.handle(theirs, peer, phase)))
}

/// Lets the server do all it can.
async fn settle() {
    for _ in 0..16 {
        yield_now().await;
    }
}

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// How long a peer is waited for that sends the start of HTTP/2 and no more.
async fn waited_for(server: HttpListener<TestApp>) -> Duration {
    let (mut ours, _phases) = connect(server);
    let start = Instant::now();
    ours.write_all(PREFACE).await.unwrap();
    ours.read_to_end(&mut Vec::new()).await.unwrap();
    start.elapsed()
}

#[tokio::test(start_paused = true)]
async fn closes_silent_http2_peers() {
    for drops_heads in [true, false] {
        let took = waited_for(server(drops_heads)).await;
        assert!((IDLE_TIMEOUT..=IDLE_TIMEOUT + 2 * CLOSE_GRACE).contains(&took), "{took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn closes_peers_that_ignore_pings() {
    let mut server = server(false);
    let limits = &mut server.listener.limits;
    (limits.idle_timeout, limits.connection_age) = (100 * IDLE_TIMEOUT, 1000 * IDLE_TIMEOUT);
    let (ping_after, answer_within) = KEEP_ALIVE;
    let (expected, took) = (ping_after + answer_within, waited_for(server).await);
    assert!((expected..=expected + 2 * CLOSE_GRACE).contains(&took), "{took:?}");
}

/// The kind, the flags and the payload of the next frame; `None` at the end.
async fn next_frame(stream: &mut (impl AsyncRead + Unpin)) -> Option<(u8, u8, Vec<u8>)> {
    let mut head = [0; 9];
    stream.read_exact(&mut head).await.ok()?;
    let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
    stream.read_exact(&mut payload).await.ok()?;
    Some((head[3], head[4], payload))
}

/// A server that waits so long for an answer to be read, far less than for an idle connection.
fn patient(drops_heads: bool, reading: Duration) -> HttpListener<TestApp> {
    let mut server = server(drops_heads);
    let limits = &mut server.listener.limits;
    (limits.idle_timeout, limits.connection_age) = (100 * reading, 100 * reading);
    (limits.request_timeout, limits.header_timeout) = (reading, 100 * reading);
    server
}

/// With a stream window of no byte, and of one.
#[tokio::test(start_paused = true)]
async fn closes_http2_peers_with_unread_answers() {
    const DATA: u8 = 0;
    const HEADERS: u8 = 1;
    const PING: u8 = 6;
    // Pings are sent and answered meanwhile.
    let reading = KEEP_ALIVE.0 + KEEP_ALIVE.1;
    for (drops_heads, window) in [(true, 0), (false, 0), (true, 1), (false, 1)] {
        let (mut ours, _phases) = connect(patient(drops_heads, reading));
        let start = Instant::now();
        ours.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\x06\x04\0\0\0\0\0\0\x04\0\0\0").await.unwrap();
        ours.write_all(&[window]).await.unwrap();
        // GET http://a/healthz, and no more of it.
        ours.write_all(b"\0\0\x0f\x01\x05\0\0\0\x01\x82\x86\x04\x08/healthz\x01\x01a").await.unwrap();
        let (mut heads, mut pings, mut bytes) = (0, 0, 0);
        while let Some((kind, flags, payload)) = next_frame(&mut ours).await {
            heads += usize::from(kind == HEADERS);
            bytes += if kind == DATA { payload.len() } else { 0 };
            if kind == PING && flags == 0 {
                pings += 1;
                drop(ours.write_all(&[&b"\0\0\x08\x06\x01\0\0\0\0"[..], &payload].concat()).await);
            }
        }
        let took = start.elapsed();
        assert!(heads == 1 && pings > 0, "{heads} answers, {pings} pings");
        assert_eq!(bytes, usize::from(window));
        assert!((reading..=2 * reading + 2 * CLOSE_GRACE).contains(&took), "{took:?}");
    }
}

/// The answer keeps its bytes of the budget until then.
#[tokio::test(start_paused = true)]
async fn closes_http1_peers_with_unread_answers() {
    let reading = Duration::from_secs(30);
    let server = Arc::new(patient(false, reading));
    let (mut ours, theirs) = duplex(1 << 10);
    let (_phases, serving) = connect_over(theirs, Arc::clone(&server));
    let start = Instant::now();
    ours.write_all(b"GET /openapi.json HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    tokio::time::sleep(reading / 2).await;
    assert!(server.budget.hold(BUDGET / 2).is_none(), "an unread answer takes its bytes");
    serving.await.unwrap();
    let took = start.elapsed();
    assert!((reading..=2 * reading + 2 * CLOSE_GRACE).contains(&took), "{took:?}");
    assert!(server.budget.hold(BUDGET / 2).is_some());
}

/// A peer that ignores the graceful shutdown and always has an unfinished request.
#[tokio::test(start_paused = true)]
async fn closes_old_connections_despite_requests() {
    let (mut ours, _phases) = connect(server(false));
    let start = Instant::now();
    ours.write_all(PREFACE).await.unwrap();
    let begin = async |ours: &mut DuplexStream, number: u8| {
        // POST http://a/v1/peek, with a body to follow.
        let head = [b"\0\0\x0f\x01\x04\0\0\0".as_slice(), &[number], b"\x83\x86\x04\x08/v1/peek\x01\x01a"];
        ours.write_all(&head.concat()).await.is_ok()
    };
    for number in (1..255).step_by(2) {
        if !begin(&mut ours, number).await {
            break;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let (took, most) = (start.elapsed(), AGE * 11 / 10 + REQUEST_TIMEOUT + 3 * CLOSE_GRACE);
    assert!((AGE * 9 / 10..=most).contains(&took), "{took:?}");
}

/// The start of HTTP/2 with a stream window of zero.
fn without_window() -> Vec<u8> {
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\x06\x04\0\0\0\0\0\0\x04\0\0\0\0".to_vec()
}

/// A request for `/healthz` on a stream.
fn healthz(stream: u32) -> Vec<u8> {
    [b"\0\0\x0f\x01\x05", &stream.to_be_bytes()[..], b"\x82\x86\x04\x08/healthz\x01\x01a"].concat()
}

/// A window for the answer on a stream.
fn window_for(stream: u32) -> Vec<u8> {
    [b"\0\0\x04\x08\0", &stream.to_be_bytes()[..], b"\0\0\xff\xff"].concat()
}

/// A peer that reads other answers meanwhile gains no time for this one.
#[tokio::test(start_paused = true)]
async fn one_unread_answer_closes_the_connection() {
    let reading = Duration::from_secs(8);
    for drops_heads in [true, false] {
        let (ours, _phases) = connect(patient(drops_heads, reading));
        let (mut reader, mut writer) = split(ours);
        let start = Instant::now();
        let taken = tokio::spawn(async move {
            reader.read_to_end(&mut Vec::new()).await.unwrap();
            start.elapsed()
        });
        writer.write_all(&[without_window(), healthz(1)].concat()).await.unwrap();
        for stream in (3..99).step_by(2) {
            tokio::time::sleep(reading / 4).await;
            if writer.write_all(&[healthz(stream), window_for(stream)].concat()).await.is_err() {
                break;
            }
        }
        let took = taken.await.unwrap();
        assert!((reading..=2 * reading + 3 * CLOSE_GRACE).contains(&took), "{took:?}");
    }
}

/// Sends each piece at its time. Returns how many answers arrive, and when the connection closes.
async fn sends(server: HttpListener<TestApp>, pieces: Vec<(Duration, Vec<u8>)>) -> (usize, Duration) {
    const HEADERS: u8 = 1;
    let (ours, _phases) = connect(server);
    let (mut reader, mut writer) = split(ours);
    let start = Instant::now();
    let writes = async {
        for (at, bytes) in pieces {
            sleep_until(start + at).await;
            drop(writer.write_all(&bytes).await);
        }
    };
    let reads = async {
        let mut answers = 0;
        while let Some((kind, ..)) = next_frame(&mut reader).await {
            answers += usize::from(kind == HEADERS);
        }
        (answers, start.elapsed())
    };
    tokio::join!(writes, reads).1
}

/// One answer is left unread, and another request is unfinished when the connection is found stuck.
#[tokio::test(start_paused = true)]
async fn stuck_connections_still_answer_open_requests() {
    let reading = Duration::from_secs(8);
    let head = b"\0\0\x0f\x01\x04\0\0\0\x03\x83\x86\x04\x08/v1/peek\x01\x01a".to_vec();
    let rest = [b"\0\0\x10\0\x01\0\0\0\x03".as_slice(), br#"{"domain":"api"}"#].concat();
    let (while_it_waits, found_out) = (reading * 3 / 2, reading * 2);
    let pieces = vec![
        (Duration::ZERO, [without_window(), healthz(1)].concat()),
        (while_it_waits, head),
        (found_out + CLOSE_GRACE * 2, rest),
    ];
    let (answers, took) = sends(patient(false, reading), pieces).await;
    assert_eq!(answers, 2, "the other one is not answered");
    assert!((found_out..=found_out + 5 * CLOSE_GRACE).contains(&took), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn unread_answers_do_not_delay_a_stop() {
    let (mut ours, theirs) = duplex(1 << 20);
    let (phases, serving) = connect_over(theirs, Arc::new(server(false)));
    ours.write_all(&[without_window(), healthz(1)].concat()).await.unwrap();
    settle().await;
    let start = Instant::now();
    phases.send_replace(Phase::Draining);
    serving.await.unwrap();
    let took = start.elapsed();
    assert!(took <= 2 * CLOSE_GRACE, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn read_answers_leave_the_whole_idle_time() {
    let (reading, idle) = (Duration::from_secs(2), Duration::from_secs(20));
    let mut server = server(false);
    let limits = &mut server.listener.limits;
    (limits.request_timeout, limits.idle_timeout) = (reading, idle);
    limits.connection_age = 100 * idle;
    let (mut ours, _phases) = connect(server);
    let start = Instant::now();
    ours.write_all(&[PREFACE, &healthz(1), &healthz(3)].concat()).await.unwrap();
    ours.read_to_end(&mut Vec::new()).await.unwrap();
    let took = start.elapsed();
    assert!((idle..=idle + 2 * CLOSE_GRACE).contains(&took), "{took:?}");
}

/// The server drains while a slow peer reads a long answer.
#[tokio::test(start_paused = true)]
async fn draining_delivers_a_long_answer() {
    let (mut ours, theirs) = duplex(1 << 10);
    let (phases, _serving) = connect_over(theirs, Arc::new(server(false)));
    ours.write_all(b"GET /openapi.json HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    let (mut back, mut piece) = (Vec::new(), [0; 4 << 10]);
    loop {
        let bytes = ours.read(&mut piece).await.unwrap();
        back.extend_from_slice(&piece[..bytes]);
        phases.send_replace(Phase::Draining);
        tokio::time::sleep(REQUEST_TIMEOUT / 200).await;
        if bytes == 0 {
            break;
        }
    }
    let back = String::from_utf8(back).unwrap();
    let (head, body) = back.split_once("\r\n\r\n").unwrap();
    assert!(head.contains(&format!("content-length: {}", body.len())), "{} of {head}", body.len());
}

/// Many short bodies, each of which ends with a frame of its own.
#[tokio::test(start_paused = true)]
async fn accepts_many_short_requests_at_once() {
    const REQUESTS: u32 = 1000;
    const GOAWAY: u8 = 7;
    let mut server = server(false);
    server.listener.limits.streams = 2 * REQUESTS;
    let (mut ours, _phases) = connect(server);
    let mut bytes = PREFACE.to_vec();
    for stream in (1..2 * REQUESTS).step_by(2).map(u32::to_be_bytes) {
        let head = [b"\0\0\x0f\x01\x04", &stream[..], b"\x83\x86\x04\x08/v1/peek\x01\x01a"];
        let body = [b"\0\0\x10\0\0", &stream[..], br#"{"domain":"api"}"#, b"\0\0\0\0\x01", &stream[..]];
        bytes.extend(head.concat());
        bytes.extend(body.concat());
    }
    ours.write_all(&bytes).await.unwrap();
    let mut heads = 0;
    while heads < REQUESTS {
        let (kind, _, payload) = next_frame(&mut ours).await.expect("it was closed");
        assert_ne!(kind, GOAWAY, "{}", String::from_utf8_lossy(&payload));
        heads += u32::from(kind == 1);
    }
}

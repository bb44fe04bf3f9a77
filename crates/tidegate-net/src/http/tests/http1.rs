//! Requests over HTTP/1.1: pipelines, slow peers, old connections, and a server that stops.

use std::io;
use std::pin::Pin;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll};

use tokio::io::{AsyncWrite, ReadBuf};

use super::*;

const BODY: &str = r#"{"domain":"api","attributes":{"user":"alice"}}"#;

/// A request with a body.
fn check() -> String {
    let head = "POST /v1/check HTTP/1.1\r\nhost: a\r\ncontent-type: application/json";
    format!("{head}\r\ncontent-length: {}\r\n\r\n{BODY}", BODY.len())
}

/// Everything that the server sends until it closes the connection.
async fn rest(mut ours: DuplexStream) -> String {
    let mut back = String::new();
    ours.read_to_string(&mut back).await.unwrap();
    back
}

#[tokio::test(start_paused = true)]
async fn answers_pipelined_requests_in_order() {
    let request = |body: &str| {
        let head = format!("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: {}", body.len());
        format!("{head}\r\n\r\n{body}")
    };
    for drops_heads in [true, false] {
        let (mut ours, _phases) = connect(server(drops_heads));
        let requests: String = ["a", "bcd", "", "ef", "ghijk"].map(request).concat();
        ours.write_all(requests.as_bytes()).await.unwrap();
        let back = rest(ours).await;
        let answers = back.split("HTTP/1.1 200 OK\r\n").skip(1);
        let lengths: Vec<&str> = answers.filter_map(|one| one.split("\r\n\r\n").nth(1)).collect();
        assert_eq!(lengths, ["1", "3", "0", "2", "5"]);
    }
}

#[tokio::test(start_paused = true)]
async fn closes_silent_and_slow_peers() {
    let whole = check();
    let body = whole.len() - BODY.len();
    for (came, expected, after) in [
        ("", "", IDLE_TIMEOUT),
        (&whole[..20], "", HEADER_TIMEOUT),
        (&whole[..body], "HTTP/1.1 408 ", REQUEST_TIMEOUT),
        (&whole[..whole.len() - 1], "HTTP/1.1 408 ", REQUEST_TIMEOUT),
        (whole.as_str(), "HTTP/1.1 200 ", HEADER_TIMEOUT),
    ] {
        for drops_heads in [true, false] {
            let (mut ours, _phases) = connect(server(drops_heads));
            let start = Instant::now();
            ours.write_all(came.as_bytes()).await.unwrap();
            let back = rest(ours).await;
            assert!(back.starts_with(expected) && back.is_empty() == expected.is_empty(), "{back}");
            assert_eq!(start.elapsed().as_secs(), after.as_secs(), "{came}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn times_head_and_body_apart() {
    let whole = check();
    let body = whole.len() - BODY.len();
    let (mut ours, _phases) = connect(server(true));
    let start = Instant::now();
    for (begin, end) in [(0, 10), (10, body + 1)] {
        ours.write_all(&whole.as_bytes()[begin..end]).await.unwrap();
        tokio::time::sleep(Duration::from_secs(3)).await;
    }
    let back = rest(ours).await;
    assert!(back.starts_with("HTTP/1.1 408 "), "{back}");
    assert_eq!(start.elapsed().as_secs(), 3 + REQUEST_TIMEOUT.as_secs());
}

/// Sends the first half of a check, lets something happen, and sends the rest.
async fn interrupted(ours: &mut DuplexStream, meanwhile: impl Future<Output = ()>) {
    let whole = check();
    let (first, second) = whole.as_bytes().split_at(50);
    ours.write_all(first).await.unwrap();
    settle().await;
    meanwhile.await;
    settle().await;
    ours.write_all(second).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn old_connections_close_with_their_answer() {
    let mut server = server(true);
    server.listener.limits.connection_age = 3 * CLOSE_GRACE;
    let (mut ours, _phases) = connect(server);
    interrupted(&mut ours, tokio::time::sleep(CLOSE_GRACE * 7 / 2)).await;
    let back = rest(ours).await;
    assert!(back.starts_with("HTTP/1.1 200 OK\r\n") && back.contains("connection: close\r\n"), "{back}");
}

#[tokio::test(start_paused = true)]
async fn old_connections_close_between_requests() {
    let (mut ours, _phases) = connect(server(true));
    // Ages vary by a tenth: the fourth check comes before the youngest, the fifth after the oldest.
    for _ in 0..5 {
        drop(ours.write_all(check().as_bytes()).await);
        tokio::time::sleep(AGE * 29 / 100).await;
    }
    assert_eq!(rest(ours).await.matches("HTTP/1.1 ").count(), 4);
}

/// A stream that reads at most so many bytes at a time, as an encrypted one does.
struct SmallReads(DuplexStream, usize);

impl AsyncRead for SmallReads {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut small = vec![0; self.1.min(into.remaining())];
        let mut here = ReadBuf::new(&mut small);
        let polled = Pin::new(&mut self.0).poll_read(context, &mut here);
        into.put_slice(here.filled());
        polled
    }
}

impl AsyncWrite for SmallReads {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

impl ByteStream for SmallReads {}

#[tokio::test(start_paused = true)]
async fn draining_stops_busy_connections() {
    let whole = check();
    for most in [whole.len(), 1 << 20] {
        let (mut ours, theirs) = duplex(1 << 20);
        let (phases, _serving) = connect_over(SmallReads(theirs, most), Arc::new(server(true)));
        ours.write_all(whole.repeat(500).as_bytes()).await.unwrap();
        phases.send_replace(Phase::Draining);
        let answers = rest(ours).await.matches("HTTP/1.1 ").count();
        assert!(answers < 500, "all of {answers} are answered");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_lets_requests_finish() {
    let (mut ours, phases) = connect(server(true));
    ours.write_all(check().as_bytes()).await.unwrap();
    settle().await;
    phases.send_replace(Phase::Draining);
    assert!(rest(ours).await.starts_with("HTTP/1.1 200 OK\r\n"));

    let (mut ours, phases) = connect(server(true));
    interrupted(&mut ours, async { phases.send(Phase::Draining).unwrap() }).await;
    let back = rest(ours).await;
    assert!(back.starts_with("HTTP/1.1 200 OK\r\n") && back.contains("connection: close\r\n"), "{back}");
}

#[tokio::test(start_paused = true)]
async fn counts_panics_and_refused_callers() {
    let server = Arc::new(server(false));
    let (mut ours, theirs) = duplex(1 << 20);
    let (phases, _serving) = connect_over(theirs, Arc::clone(&server));
    for path in ["/panic", "/unauthorized", "/401", "/"] {
        ours.write_all(format!("GET {path} HTTP/1.1\r\nhost: a\r\n\r\n").as_bytes()).await.unwrap();
    }
    settle().await;
    phases.send_replace(Phase::Draining);
    let back = rest(ours).await;
    let statuses: Vec<&str> = back.split("HTTP/1.1 ").skip(1).map(|answer| &answer[..3]).collect();
    assert_eq!(statuses, ["500", "401", "401", "200"]);
    let counts = &server.listener.counts;
    assert_eq!((counts.panics.load(Relaxed), counts.unauthorized.load(Relaxed)), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn long_kept_heads_need_budget() {
    let request = format!("GET / HTTP/1.1\r\nhost: a\r\nx-long: {}\r\n\r\n", "x".repeat(8 << 10));
    for (drops_heads, expected) in [(true, "HTTP/1.1 200 "), (false, "HTTP/1.1 503 ")] {
        let server = Arc::new(server(drops_heads));
        let held = server.budget.hold(BUDGET).expect("the budget is unused");
        let (mut ours, theirs) = duplex(1 << 20);
        let (_phases, _serving) = connect_over(theirs, Arc::clone(&server));
        ours.write_all(request.as_bytes()).await.unwrap();
        assert!(rest(ours).await.starts_with(expected));
        drop(held);
        assert_eq!(server.budget.taken(), 0);
    }
}

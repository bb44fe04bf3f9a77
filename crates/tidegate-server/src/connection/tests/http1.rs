//! Checks over HTTP/1.1: pipelines, slow peers, old connections, and a server that stops.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncWrite, ReadBuf};

use super::*;

const BODY: &str = r#"{"domain":"api","attributes":{"user":"alice"}}"#;

/// A check of a user who may pass three times.
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
async fn answers_pipelined_checks_in_order() {
    for short in [true, false] {
        let (mut ours, _serving) = connect(door(short).await);
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
    for (came, expected, after) in [
        ("", "", IDLE_TIMEOUT),
        (&whole[..20], "", HEADER_TIMEOUT),
        (&whole[..body], "HTTP/1.1 408 ", REQUEST_TIMEOUT),
        (&whole[..whole.len() - 1], "HTTP/1.1 408 ", REQUEST_TIMEOUT),
        (whole.as_str(), "HTTP/1.1 200 ", HEADER_TIMEOUT),
    ] {
        for short in [true, false] {
            let (mut ours, _serving) = connect(door(short).await);
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
    let (mut ours, _serving) = connect(door(true).await);
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
    breathe().await;
    meanwhile.await;
    breathe().await;
    ours.write_all(second).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn old_connections_close_with_their_answer() {
    let mut door = Arc::into_inner(door(true).await).unwrap();
    door.limits.connection_age = 3 * PATIENCE;
    let (mut ours, _serving) = connect(Arc::new(door));
    interrupted(&mut ours, tokio::time::sleep(PATIENCE * 7 / 2)).await;
    let back = rest(ours).await;
    assert!(back.starts_with("HTTP/1.1 200 OK\r\n") && back.contains("connection: close\r\n"), "{back}");
}

#[tokio::test(start_paused = true)]
async fn old_connections_close_between_requests() {
    let (mut ours, _serving) = connect(door(true).await);
    // Ages vary by a tenth: the fourth check comes before the youngest, the fifth after the oldest.
    for _ in 0..5 {
        drop(ours.write_all(check().as_bytes()).await);
        tokio::time::sleep(AGE * 29 / 100).await;
    }
    assert_eq!(rest(ours).await.matches("HTTP/1.1 ").count(), 4);
}

/// A connection that gives a little at a time, as an encrypted one does.
struct Sips(DuplexStream, usize);

impl AsyncRead for Sips {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut sip = vec![0; self.1.min(into.remaining())];
        let mut here = ReadBuf::new(&mut sip);
        let came = Pin::new(&mut self.0).poll_read(context, &mut here);
        into.put_slice(here.filled());
        came
    }
}

impl AsyncWrite for Sips {
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

impl Wire for Sips {}

#[tokio::test(start_paused = true)]
async fn busy_connections_hear_of_a_stop() {
    let whole = check();
    for sip in [whole.len(), 1 << 20] {
        let (mut ours, theirs) = duplex(1 << 20);
        let (going, _serving) = connect_over(Sips(theirs, sip), door(true).await);
        ours.write_all(whole.repeat(500).as_bytes()).await.unwrap();
        going.send_replace(Phase::Draining);
        let answers = rest(ours).await.matches("HTTP/1.1 ").count();
        assert!(answers < 500, "all of {answers} are answered");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_lets_requests_finish() {
    let (mut ours, going) = connect(door(true).await);
    ours.write_all(check().as_bytes()).await.unwrap();
    breathe().await;
    going.send_replace(Phase::Draining);
    assert!(rest(ours).await.starts_with("HTTP/1.1 200 OK\r\n"));

    let (mut ours, going) = connect(door(true).await);
    interrupted(&mut ours, async { going.send(Phase::Draining).unwrap() }).await;
    let back = rest(ours).await;
    assert!(back.starts_with("HTTP/1.1 200 OK\r\n") && back.contains("connection: close\r\n"), "{back}");
}

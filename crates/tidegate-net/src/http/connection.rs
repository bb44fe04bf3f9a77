//! One connection from its first byte to its last: it closes when it is idle, stuck or old, or when
//! the server stops, and it closes gracefully where the protocol allows.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::activity::ConnectionActivity;
use super::answer::answer;
use super::batches::{PendingRequests, RequestBatches};
use super::coalesce::CoalescingStream;
use super::{HttpApp, HttpListener};
use crate::{ByteStream, CLOSE_GRACE, ConnectionLimits, Peer, Phase, reached};

/// Bytes that are kept of a request's head.
const HEAD_BYTES: u32 = 64 << 10;

/// Bytes that an HTTP/2 peer may send of one request before the application reads them.
const STREAM_WINDOW: u32 = 64 << 10;

/// The window of a connection: the least, and what each of the allowed streams adds.
///
/// h2 closes a connection whose many short frames take 256 bytes each of half the window, so the
/// window must leave that much for every stream.
const CONNECTION_WINDOW: (u32, u32) = (256 << 10, 512);

/// How often an HTTP/2 peer is pinged, and how long it has to answer.
pub(super) const KEEP_ALIVE: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(20));

/// Serves a connection. Invariants of the loop:
/// - bytes that have arrived are read before the connection is told to close, because they may be the
///   start of a request (`biased`);
/// - it is told to close once (`end_at` is set then), and ends by `end_at` whatever the peer does;
/// - the timer runs to the earliest instant at which it may be idle, stuck or old.
pub(super) async fn drive<A: HttpApp, S: ByteStream>(
    stream: S,
    peer: Peer,
    server: Arc<HttpListener<A>>,
    mut phase: watch::Receiver<Phase>,
) {
    let _open = server.listener.counts.open();
    let limits = server.listener.limits;
    let old_at = Instant::now() + limits.jittered_age();
    let activity = Arc::new(ConnectionActivity::new());
    let service = {
        let (server, activity) = (Arc::clone(&server), Arc::clone(&activity));
        let shared = server.app.connect(peer);
        service_fn(move |request: Request<Incoming>| answer(Arc::clone(&server), &activity, request, &shared))
    };
    let arrived = PendingRequests::default();
    let (builder, mut batches) = (builder(&server, arrived.clone()), RequestBatches::new(arrived));
    let stream = TokioIo::new(CoalescingStream::new(stream, &activity));
    let mut connection = pin!(builder.serve_connection(stream, service));
    let mut deadline = Instant::now() + limits.idle_timeout.min(limits.request_timeout);
    let mut end_at = None;
    loop {
        tokio::select! {
            biased;
            ended = poll_fn(|context| {
                activity.begin_turn();
                batches.poll(connection.as_mut(), context)
            }) => {
                if let Err(error) = ended {
                    tracing::debug!(door = %server.listener.name, %error, "connection");
                }
                return;
            }
            () = reached(&mut phase, Phase::Draining), if end_at.is_none() => {}
            () = sleep_until(deadline.min(end_at.unwrap_or(old_at))) => {
                let now = Instant::now();
                let stays_until = match end_at {
                    None => next_check(&activity, &limits).filter(|_| now < old_at),
                    Some(end_at) if now < end_at && activity.is_progressing() => Some(now + CLOSE_GRACE),
                    Some(_) => return,
                };
                if let Some(until) = stays_until {
                    deadline = until;
                    continue;
                }
            }
        }
        let now = Instant::now();
        (deadline, end_at) = (now + CLOSE_GRACE, Some(now + limits.request_timeout + CLOSE_GRACE));
        connection.as_mut().graceful_shutdown();
    }
}

/// When to check a connection again that is neither idle nor stuck; `None` if it is. The peer has as
/// long to read an answer as the request had.
fn next_check(activity: &ConnectionActivity, limits: &ConnectionLimits) -> Option<Instant> {
    let (now, patience) = (Instant::now(), limits.request_timeout);
    let stuck_at = activity.stuck_at(patience).unwrap_or(now + patience);
    let until = activity.busy_until(limits.idle_timeout)?.min(stuck_at);
    (until > now).then_some(until)
}

fn builder<A: HttpApp>(server: &HttpListener<A>, arrived: PendingRequests) -> Builder<PendingRequests> {
    let limits = &server.listener.limits;
    let window = limits.streams.saturating_mul(CONNECTION_WINDOW.1);
    let mut builder = Builder::new(arrived);
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_timeout)
        // Vectored writes keep the guards of an answer's bytes until they are sent; a copy would not.
        .writev(true)
        .max_buf_size(HEAD_BYTES as usize);
    builder
        .http2()
        .timer(TokioTimer::new())
        // gRPC has no use for the date.
        .auto_date_header(!server.http2_only)
        .max_concurrent_streams(limits.streams)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW.0.max(window))
        .max_header_list_size(HEAD_BYTES)
        .keep_alive_interval(KEEP_ALIVE.0)
        .keep_alive_timeout(KEEP_ALIVE.1);
    if server.http2_only { builder.http2_only() } else { builder }
}

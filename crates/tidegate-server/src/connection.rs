//! One connection from its first byte to its last: requests are answered within their time, and a connection that is idle
//! for too long, or whose server is going away, is told so and closed.

#[cfg(test)]
mod tests;

mod hour;
mod activity;
mod answer;
mod reply;
mod whole;
mod turn;

pub(crate) use answer::Shortcut;

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use hyper_util::server::conn::auto::Builder;
use tidegate_wire::trust::Peer;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::config::Limits;
use crate::listener::{Counts, Door, Phase, Serves, Wire, reached};
use crate::tls::{Inside, Tls};
use activity::Activity;
use hour::Hours;
use turn::{Came, Turns};
use whole::Whole;

/// Bytes that are kept of a request's head.
const HEAD_BYTES: u32 = 64 << 10;

/// Bytes that an HTTP/2 peer may send of one request before anybody reads them.
const WINDOW: u32 = 64 << 10;

/// The same in all, and for each request that may be under way: a library takes a peer for hostile that has many short messages lying
/// about, which is 256 bytes for each and half of the window.
const WINDOW_OF_ALL: (u32, u32) = (256 << 10, 512);

/// How often an HTTP/2 peer is asked whether it is still there, and how long it has to answer.
const KEEP_ALIVE: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(20));

/// How long a connection that was told to end may take after its last request. One that never began to speak cannot be
/// told.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);

impl Serves for Door {
    fn name(&self) -> &'static str {
        self.name
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn counts(&self) -> &Counts {
        &self.counts
    }

    fn tls(&self) -> Option<(&Tls, Inside)> {
        let inside = if self.http2_only { Inside::Http2 } else { Inside::Http };
        self.tls.as_deref().map(|tls| (tls, inside))
    }

    async fn drive<S: Wire>(self: Arc<Self>, (stream, peer): (S, Peer), phase: watch::Receiver<Phase>) {
        drive((stream, peer), self, phase).await;
    }
}

async fn drive<S: Wire>((stream, peer): (S, Peer), door: Arc<Door>, mut phase: watch::Receiver<Phase>) {
    let _open = door.counts.open();
    let peer = door.tells_peers.then_some(peer);
    let old_at = Instant::now() + spread(door.limits.connection_age);
    let activity = Arc::new(Activity::new());
    let service = {
        let (door, activity) = (Arc::clone(&door), Arc::clone(&activity));
        hyper::service::service_fn(move |request: Request<Incoming>| {
            answer::answer(Arc::clone(&door), &activity, (request, peer.as_ref()))
        })
    };
    let came = Came::default();
    let (builder, mut turns) = (builder(&door, came.clone()), Turns::new(came));
    let stream = TokioIo::new(Whole::new(stream, &activity));
    let mut connection = pin!(builder.serve_connection(stream, service));
    // An answer has as much time to be taken as its request had.
    let (idle, taking) = (door.limits.idle_timeout, door.limits.request_timeout);
    let mut deadline = Instant::now() + idle.min(taking);
    // When it was told to end, the time at which it does, whatever its peer does.
    let mut end_at = None;
    loop {
        tokio::select! {
            // What has come is read before it is told to end: it may be the beginning of a request.
            biased;
            ended = poll_fn(|context| turns.poll(connection.as_mut(), context)) => {
                if let Err(error) = ended {
                    tracing::debug!(door = %door.name, %error, "connection");
                }
                return;
            }
            () = reached(&mut phase, Phase::Draining), if end_at.is_none() => {}
            () = sleep_until(deadline.min(end_at.unwrap_or(old_at))) => {
                let now = Instant::now();
                let goes_on_until = match end_at {
                    None => goes_on_until(&activity, (idle, taking)).filter(|_| now < old_at),
                    Some(end_at) if now < end_at && activity.goes_on() => Some(now + PATIENCE),
                    Some(_) => return,
                };
                if let Some(until) = goes_on_until {
                    deadline = until;
                    continue;
                }
            }
        }
        let now = Instant::now();
        (deadline, end_at) = (now + PATIENCE, Some(now + taking + PATIENCE));
        connection.as_mut().graceful_shutdown();
    }
}

/// When to look again at a connection that is neither idle nor stuck.
fn goes_on_until(activity: &Activity, (idle, taking): (Duration, Duration)) -> Option<Instant> {
    let (now, stuck_at) = (Instant::now(), activity.stuck_at(taking));
    let until = activity.busy_until(idle)?.min(stuck_at.unwrap_or(now + taking));
    (until > now).then_some(until)
}

/// Give or take a tenth, so that connections that came together do not all go together.
pub(crate) fn spread(age: Duration) -> Duration {
    use std::hash::{BuildHasher as _, RandomState};
    let fifth = u32::try_from(RandomState::new().hash_one(0) % 201).unwrap_or(0);
    age * (900 + fifth) / 1000
}

fn builder(door: &Door, came: Came) -> Builder<Came> {
    let limits = &door.limits;
    let mut builder = Builder::new(came);
    builder
        .http1()
        .timer(Hours::new())
        .header_read_timeout(limits.header_timeout)
        // Answers keep their room until they are sent, which a copy of them would not.
        .writev(true)
        .max_buf_size(HEAD_BYTES as usize);
    builder
        .http2()
        .timer(Hours::new())
        // Nobody who calls by gRPC asks for the date.
        .auto_date_header(!door.http2_only)
        .max_concurrent_streams(limits.streams)
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(WINDOW_OF_ALL.0.max(limits.streams.saturating_mul(WINDOW_OF_ALL.1)))
        .max_header_list_size(HEAD_BYTES)
        .keep_alive_interval(KEEP_ALIVE.0)
        .keep_alive_timeout(KEEP_ALIVE.1);
    if door.http2_only { builder.http2_only() } else { builder }
}

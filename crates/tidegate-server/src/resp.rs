//! The listener for the Redis protocol: one connection from its first byte to its last.
//! [`tidegate_frontend::resp`] reads commands and writes replies; here are the socket and the deadlines.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use tidegate_frontend::resp::{Next, Service, Session};
use tidegate_net::deadline::{Failure, within};
use tidegate_net::line::{ConnectionDeadlines, IdleEvent, IdleWait, Progress};
use tidegate_net::{ByteStream, CLOSE_GRACE, ConnectionHandler, ListenerConfig, Peer, Phase};
use tidegate_net::{reached, send_within};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use crate::routed::trust_peer;
use crate::stack::Stack;

/// Bytes that are read and ignored while a connection closes.
const IGNORED_BYTES: usize = 1 << 20;

/// The listener.
pub(crate) struct RespListener {
    pub(crate) listener: ListenerConfig,
    pub(crate) service: Service<Stack>,
}

impl ConnectionHandler for RespListener {
    fn listener(&self) -> &ListenerConfig {
        &self.listener
    }

    async fn handle<S: ByteStream>(
        self: Arc<Self>,
        stream: S,
        peer: Peer,
        mut phase: watch::Receiver<Phase>,
    ) {
        let _open = self.listener.counts.open();
        converse(stream, peer, &self, reached(&mut phase, Phase::Draining)).await;
    }
}

/// Answers commands until either side closes.
async fn converse(
    mut stream: impl ByteStream,
    peer: Peer,
    server: &RespListener,
    draining: impl Future<Output = ()>,
) {
    let mut session = server.service.session_from(Some(trust_peer(peer)));
    let mut deadlines = ConnectionDeadlines::new(&server.listener.limits, Instant::now());
    let mut wait = pin!(IdleWait::new(draining, deadlines.next_check()));
    loop {
        let Some(buffer) = session.room() else {
            if send(&mut stream, &mut session, server).await.is_none() {
                return;
            }
            break;
        };
        let (is_draining, progress) = match wait.as_mut().next_event(&mut stream, buffer).await {
            IdleEvent::Read(Ok(0) | Err(_)) => return,
            IdleEvent::Read(Ok(_)) => {
                let is_draining = wait.as_mut().is_draining_now().await;
                let Some((next, answered)) = answer(&mut stream, &mut session, server).await else { return };
                if next == Next::Close {
                    break;
                }
                (is_draining, Some(Progress { answered, partial: !session.is_between() }))
            }
            IdleEvent::Draining => (true, None),
            IdleEvent::Timer => (false, None),
        };
        let now = Instant::now();
        if is_draining {
            deadlines.close_soon(now);
        }
        if let Some(progress) = progress {
            deadlines.on_progress(now, progress);
        }
        if deadlines.is_over(now) {
            break;
        }
        wait.as_mut().wake_at(deadlines.next_check());
    }
    close(stream).await;
}

/// Answers all commands that have arrived and sends the replies. Returns what to do next and whether
/// there were replies; `None` if the connection cannot go on.
async fn answer(
    stream: &mut impl ByteStream,
    session: &mut Session<'_, Stack>,
    server: &RespListener,
) -> Option<(Next, bool)> {
    let counts = &server.listener.counts;
    let (mut any, mut failures) = (false, session.wrong_passwords());
    loop {
        let next = match within(server.listener.limits.request_timeout, session.answer()).await {
            Ok(next) => next,
            Err(Failure::Panicked) => {
                counts.panics.fetch_add(1, Relaxed);
                session.broke();
                Next::Close
            }
            // After a timeout, replies can no longer be matched with commands.
            Err(Failure::TimedOut) => return None,
        };
        any |= !session.replies().is_empty();
        let failed = session.wrong_passwords().saturating_sub(failures);
        if failed > 0 {
            counts.unauthorized.fetch_add(failed, Relaxed);
            failures += failed;
        }
        send(stream, session, server).await?;
        if next != Next::Answer {
            return Some((next, any));
        }
    }
}

/// Sends the replies; nothing is read from a client that does not take them.
async fn send(
    stream: &mut impl ByteStream,
    session: &mut Session<'_, Stack>,
    server: &RespListener,
) -> Option<()> {
    let replies = session.replies();
    if !replies.is_empty() {
        send_within(stream, replies, server.listener.limits.request_timeout).await.ok()?;
    }
    session.sent();
    Some(())
}

/// Closes so that the last reply arrives: unread bytes would make the system reset the connection.
async fn close(mut stream: impl AsyncRead + AsyncWrite + Unpin) {
    let rest = async {
        stream.shutdown().await?;
        tokio::io::copy(&mut stream.take(IGNORED_BYTES as u64), &mut tokio::io::sink()).await
    };
    drop(timeout(CLOSE_GRACE, rest).await);
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use tidegate_core::Timestamp;
    use tidegate_engine::Engine;
    use tidegate_frontend::door::{Door, DoorSettings};
    use tidegate_net::{ConnectionCounts, ConnectionLimits};
    use tidegate_store::Memory;

    use super::*;

    #[tokio::test]
    async fn draining_stops_busy_clients() {
        const COMMANDS: usize = 100_000;
        let engine = Arc::new(Engine::new(Stack::Memory(Memory::new())));
        let door = Door::new(engine, Arc::new(|| Timestamp::ZERO), DoorSettings::default());
        let limits = ConnectionLimits::default();
        let counts = Arc::new(ConnectionCounts::default());
        let listener = ListenerConfig { name: "resp", limits, counts, tls: None };
        let server = RespListener { listener, service: Service::new(door, None) };
        let (mut ours, theirs) = tokio::io::duplex(1 << 20);
        // Commands of eight bytes, so that every read ends with a command.
        ours.write_all("PING  \r\n".repeat(COMMANDS).as_bytes()).await.unwrap();
        let peer = Peer::at("192.0.2.1:4711".parse().unwrap());
        let mut replies = Vec::new();
        let serving = converse(theirs, peer, &server, ready(()));
        let ((), read) = tokio::join!(serving, ours.read_to_end(&mut replies));
        read.unwrap();
        assert!(replies.len() < COMMANDS * "+PONG\r\n".len(), "all {COMMANDS} are answered");
    }
}

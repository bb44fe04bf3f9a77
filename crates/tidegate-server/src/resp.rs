//! The door that speaks the Redis protocol: one connection from its first byte to its last. What is said is the business of
//! [`tidegate_frontend::resp`]; here are the socket and the time.

mod between;
mod hours;

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use tidegate_frontend::resp::{Next, Service, Session};
use tidegate_wire::trust::Peer;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use crate::config::Limits;
use crate::connection::PATIENCE;
use crate::guarded::{Failed, guarded};
use crate::listener::{self, Counts, Phase, Serves, Wire, reached};
use crate::stack::Stack;
use crate::tls::{Inside, Tls};
use between::{Between, Event};
use hours::{Came, Hours};

/// Bytes that are read and not looked at before a connection is closed.
const FAREWELL_BYTES: usize = 1 << 20;

/// The door.
pub(crate) struct Door {
    pub(crate) service: Service<Stack>,
    /// What encrypts it, if it is.
    pub(crate) tls: Option<Arc<Tls>>,
    pub(crate) limits: Limits,
    pub(crate) counts: Arc<Counts>,
}

impl Serves for Door {
    fn name(&self) -> &'static str {
        "resp"
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn counts(&self) -> &Counts {
        &self.counts
    }

    fn tls(&self) -> Option<(&Tls, Inside)> {
        self.tls.as_deref().map(|tls| (tls, Inside::Words))
    }

    async fn drive<S: Wire>(self: Arc<Self>, (stream, peer): (S, Peer), mut phase: watch::Receiver<Phase>) {
        let _open = self.counts.open();
        talk((stream, peer), &self, reached(&mut phase, Phase::Draining)).await;
    }
}

/// Talks until one of both has enough, and says farewell.
async fn talk((mut stream, peer): (impl Wire, Peer), door: &Door, going: impl Future<Output = ()>) {
    let mut session = door.service.session_from(Some(peer));
    let mut hours = Hours::new(&door.limits, Instant::now());
    let mut between = pin!(Between::new(going, hours.next_look()));
    loop {
        let Some(room) = session.room() else {
            if send(&mut stream, &mut session, door).await.is_none() {
                return;
            }
            break;
        };
        let (is_going, came) = match between.as_mut().hear(&mut stream, room).await {
            Event::Bytes(Ok(0) | Err(_)) => return,
            Event::Bytes(Ok(_)) => {
                let is_going = between.as_mut().hears_of_going().await;
                let Some((next, answered)) = answer(&mut stream, &mut session, door).await else { return };
                if next == Next::Close {
                    break;
                }
                (is_going, Some(Came { answered, within: !session.is_between() }))
            }
            Event::Going => (true, None),
            Event::Alarm => (false, None),
        };
        let now = Instant::now();
        if is_going {
            hours.end_soon(now);
        }
        if let Some(came) = came {
            hours.heard(now, came);
        }
        if hours.is_over(now) {
            break;
        }
        between.as_mut().look_at(hours.next_look());
    }
    say_farewell(stream).await;
}

/// Answers all that has come and sends it: what to do next, and whether there was anything; `None` if that is not possible any
/// more.
async fn answer(
    stream: &mut impl Wire,
    session: &mut Session<'_, Stack>,
    door: &Door,
) -> Option<(Next, bool)> {
    let (mut any, mut failures) = (false, session.wrong_passwords());
    loop {
        let next = match guarded(door.limits.request_timeout, session.answer()).await {
            Ok(next) => next,
            Err(Failed::Broken) => {
                door.counts.panics.fetch_add(1, Relaxed);
                session.broke();
                Next::Close
            }
            // Who waits so long for the store does not know any more which reply belongs to what.
            Err(Failed::Late) => return None,
        };
        any |= !session.replies().is_empty();
        let failed = session.wrong_passwords().saturating_sub(failures);
        if failed > 0 {
            door.counts.strangers.fetch_add(failed, Relaxed);
            failures += failed;
        }
        send(stream, session, door).await?;
        if next != Next::Answer {
            return Some((next, any));
        }
    }
}

/// Sends what there is; nothing more is read from whoever does not take it.
async fn send(stream: &mut impl Wire, session: &mut Session<'_, Stack>, door: &Door) -> Option<()> {
    let replies = session.replies();
    if !replies.is_empty() {
        listener::send(stream, replies, door.limits.request_timeout).await?;
    }
    session.sent();
    Some(())
}

/// Closes so that the last reply arrives: what comes meanwhile must be read, or it would be torn from the peer.
async fn say_farewell(mut stream: impl AsyncRead + AsyncWrite + Unpin) {
    let rest = async {
        stream.shutdown().await?;
        tokio::io::copy(&mut stream.take(FAREWELL_BYTES as u64), &mut tokio::io::sink()).await
    };
    drop(timeout(PATIENCE, rest).await);
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use tidegate_core::Timestamp;
    use tidegate_engine::Engine;
    use tidegate_frontend::door::DoorSettings;
    use tidegate_store::Memory;

    use super::*;

    #[tokio::test]
    async fn whoever_never_pauses_hears_that_the_server_goes() {
        const COMMANDS: usize = 100_000;
        let engine = Arc::new(Engine::new(Stack::Memory(Memory::new())));
        let way =
            tidegate_frontend::door::Door::new(engine, Arc::new(|| Timestamp::ZERO), DoorSettings::default());
        let (limits, counts) = (Limits::default(), Arc::new(Counts::default()));
        let door = Door { service: Service::new(way, None), tls: None, limits, counts };
        let (mut ours, theirs) = tokio::io::duplex(1 << 20);
        // Of eight bytes, so that reads end where a command does, and nobody has to wait for the rest of one.
        ours.write_all("PING  \r\n".repeat(COMMANDS).as_bytes()).await.unwrap();
        let peer = Peer::at("192.0.2.1:4711".parse().unwrap());
        let mut replies = Vec::new();
        let ((), read) = tokio::join!(talk((theirs, peer), &door, ready(())), ours.read_to_end(&mut replies));
        read.unwrap();
        assert!(replies.len() < COMMANDS * "+PONG\r\n".len(), "all {COMMANDS} are answered");
    }
}

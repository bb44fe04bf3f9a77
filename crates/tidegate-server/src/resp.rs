//! The door that speaks the Redis protocol: one connection from its first byte to its last. What is said is the business of
//! [`tidegate_wire::resp`]; here are the socket and the time.

mod hours;

use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use tidegate_wire::resp::{Next, Service, Session};
use tidegate_wire::trust::Peer;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};

use crate::config::Limits;
use crate::connection::PATIENCE;
use crate::guarded::{Failed, at_once, guarded};
use crate::listener::{Counts, Phase, Serves, Wire, has_come, reached};
use crate::stack::Stack;
use crate::tls::{Inside, Tls};
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

/// What happened while nothing was under way.
enum Heard {
    Bytes(io::Result<usize>),
    /// There was no room for any.
    NoRoom,
    /// The server is going away.
    Going,
    /// It is time to look at the clock.
    Alarm,
}

/// Talks until one of both has enough, and says farewell.
async fn talk(
    (mut stream, peer): (impl AsyncRead + AsyncWrite + Unpin, Peer),
    door: &Door,
    going: impl Future<Output = ()>,
) {
    let mut session = door.service.session_from(Some(peer));
    let mut hours = Hours::new(&door.limits, Instant::now());
    let (mut going, mut alarm) = (pin!(going), pin!(sleep_until(hours.next_look())));
    loop {
        let mut most = 0;
        let heard = match session.room() {
            None => Heard::NoRoom,
            Some(room) => {
                most = room.capacity() - room.len();
                tokio::select! {
                    biased;
                    bytes = stream.read_buf(room) => Heard::Bytes(bytes),
                    () = &mut going, if !hours.is_ending() => Heard::Going,
                    () = &mut alarm => Heard::Alarm,
                }
            }
        };
        match heard {
            Heard::Bytes(Ok(0) | Err(_)) => return,
            Heard::Bytes(Ok(bytes)) => {
                // Whoever never pauses hears of it too.
                if bytes == most && !hours.is_ending() && has_come(going.as_mut()).await {
                    hours.end_soon(Instant::now());
                }
                let Some((next, answered)) = answer(&mut stream, &mut session, door).await else { return };
                if next == Next::Close {
                    break;
                }
                hours.heard(Instant::now(), Came { answered, within: !session.is_between() });
            }
            Heard::NoRoom if send(&mut stream, &mut session, door).await.is_some() => break,
            Heard::NoRoom => return,
            Heard::Going => hours.end_soon(Instant::now()),
            Heard::Alarm => {}
        }
        if hours.is_over(Instant::now()) {
            break;
        }
        // To wake too early costs less than to be set anew with each command.
        if alarm.is_elapsed() || hours.next_look() < alarm.deadline() {
            alarm.as_mut().reset(hours.next_look());
        }
    }
    say_farewell(stream).await;
}

/// Answers all that has come and sends it: what to do next, and whether there was anything; `None` if that is not possible any
/// more.
async fn answer(
    stream: &mut (impl AsyncWrite + Unpin),
    session: &mut Session<'_, Stack>,
    door: &Door,
) -> Option<(Next, bool)> {
    let mut any = false;
    loop {
        let answered = match at_once(|| session.answer_at_once()) {
            Ok(Some(next)) => Ok(next),
            Ok(None) => guarded(door.limits.request_timeout, session.answer()).await,
            Err(failed) => Err(failed),
        };
        let next = match answered {
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
        send(stream, session, door).await?;
        if next != Next::Answer {
            return Some((next, any));
        }
    }
}

/// Sends what there is; nothing more is read from whoever does not take it.
async fn send(
    stream: &mut (impl AsyncWrite + Unpin),
    session: &mut Session<'_, Stack>,
    door: &Door,
) -> Option<()> {
    if session.replies().is_empty() {
        return Some(());
    }
    let sending = async {
        stream.write_all(session.replies()).await?;
        stream.flush().await
    };
    guarded(door.limits.request_timeout, sending).await.ok()?.ok()?;
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
    use tidegate_store::Memory;
    use tidegate_wire::door::DoorSettings;

    use super::*;

    #[tokio::test]
    async fn whoever_never_pauses_hears_that_the_server_goes() {
        const COMMANDS: usize = 100_000;
        let engine = Arc::new(Engine::new(Stack::Memory(Memory::new())));
        let way =
            tidegate_wire::door::Door::new(engine, Arc::new(|| Timestamp::ZERO), DoorSettings::default());
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

//! Plain checks over HTTP/1.1, by the shortest way: read where they lie, answered in place, those that came together together.
//! With the first byte of anything else the connection goes on as any other does.

#[cfg(test)]
mod tests;

use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::atomic::Ordering::Relaxed;

use tidegate_wire::http::{Checks, Heard, MOST_PLAIN_BYTES, Part, Plain, hear};
use tidegate_wire::trust::Peer;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::{Instant, sleep_until};

use crate::guarded::{Failed, at_once, guarded};
use crate::listener::{Door, Wire};
use crate::stack::Stack;

/// In how many pieces it may come: its head and its body, and one more for good measure.
const MOST_PIECES: u32 = 3;
/// Room for a connection that has said nothing yet.
const FIRST_BYTES: usize = 1 << 10;
/// Bytes of answers that go out together.
const TOGETHER: usize = 32 << 10;

/// How it went on with a connection.
pub(super) enum Ended {
    /// It is over.
    Closed,
    /// Something else has come, and begins with these bytes.
    Other {
        came: Vec<u8>,
        /// Whether it is known by now what is spoken.
        is_http1: bool,
    },
}

/// What happened while nothing was under way.
enum Came {
    Bytes(io::Result<usize>),
    /// The server is going away.
    Going,
    /// It is time to look at the clock.
    Alarm,
}

/// A connection over which only plain checks have come so far.
struct Line<'d, W> {
    stream: W,
    checks: &'d Checks<Stack>,
    peer: Option<&'d Peer>,
    door: &'d Door,
    /// What came and is not answered.
    came: Vec<u8>,
    answers: Vec<u8>,
    /// Whether any was answered.
    answered: bool,
}

/// Answers checks until the connection is old, the server goes away, nothing has come for long, or something else has.
pub(super) async fn serve<W: Wire>(
    stream: &mut W,
    (checks, peer): (&Checks<Stack>, Option<&Peer>),
    (door, old_at): (&Door, Instant),
    going: impl Future<Output = ()>,
) -> Ended {
    let quiet = door.limits.header_timeout.min(door.limits.idle_timeout);
    let mut line =
        Line { stream, checks, peer, door, came: Vec::new(), answers: Vec::new(), answered: false };
    let (mut quiet_at, mut part, mut pieces) = (Instant::now() + quiet, Part::Head, 0);
    let (mut going, mut alarm) = (pin!(going), pin!(sleep_until(quiet_at.min(old_at))));
    loop {
        let room = if line.answered { MOST_PLAIN_BYTES } else { FIRST_BYTES };
        line.came.reserve(room.saturating_sub(line.came.len()).max(FIRST_BYTES));
        let came = tokio::select! {
            biased;
            bytes = line.stream.read_buf(&mut line.came) => Came::Bytes(bytes),
            () = &mut going => Came::Going,
            () = &mut alarm => Came::Alarm,
        };
        match came {
            Came::Bytes(Ok(0)) | Came::Going => return line.left(),
            Came::Bytes(Err(_)) => return Ended::Closed,
            Came::Bytes(Ok(_)) => {
                let answered = match line.answer().await {
                    Some((answered, Next::Part(now))) => {
                        part = now;
                        answered
                    }
                    Some((_, Next::Other)) => return line.left(),
                    None => return Ended::Closed,
                };
                pieces = if answered { 0 } else { pieces + 1 };
                if pieces >= MOST_PIECES || line.came.len() >= MOST_PLAIN_BYTES {
                    return line.left();
                }
                if answered {
                    let now = Instant::now();
                    // Whoever never pauses grows old all the same.
                    if old_at <= now {
                        return line.left();
                    }
                    quiet_at = now + quiet;
                }
            }
            Came::Alarm if old_at <= Instant::now() => return line.left(),
            Came::Alarm if quiet_at <= Instant::now() => {
                return if part == Part::Body { line.left() } else { Ended::Closed };
            }
            // To wake too early costs less than to be set anew with each check.
            Came::Alarm => alarm.as_mut().reset(quiet_at.min(old_at)),
        }
    }
}

/// What is left of what came once all checks are answered.
enum Next {
    /// Nothing, or the beginning of a check, of which so much is missing.
    Part(Part),
    Other,
}

impl<W: Wire> Line<'_, &mut W> {
    /// Nobody is left alone with half of a request.
    fn left(self) -> Ended {
        if self.came.is_empty() {
            return Ended::Closed;
        }
        Ended::Other { came: self.came, is_http1: self.answered }
    }

    /// Answers all checks that have come: whether there were any, and what comes next; `None` if answers cannot be sent any more.
    async fn answer(&mut self) -> Option<(bool, Next)> {
        let (mut came, mut done) = (std::mem::take(&mut self.came), 0);
        let next = loop {
            match hear(&came[done..]) {
                Heard::Check(plain) => {
                    done += plain.bytes();
                    self.answer_one(&plain).await;
                }
                Heard::Part(part) => break Next::Part(part),
                Heard::Other => break Next::Other,
            }
            if self.answers.len() >= TOGETHER {
                self.send().await?;
            }
        };
        came.drain(..done);
        self.came = came;
        self.answered |= done > 0;
        self.send().await?;
        Some((done > 0, next))
    }

    async fn answer_one(&mut self, plain: &Plain<'_>) {
        let (checks, peer, door) = (self.checks, self.peer, self.door);
        let begin = self.answers.len();
        let answered = match at_once(|| checks.answer_at_once(plain, peer, &mut self.answers)) {
            Ok(true) => Ok(()),
            Ok(false) => {
                let answering = Box::pin(checks.answer(plain, peer, &mut self.answers));
                guarded(door.limits.request_timeout, answering).await
            }
            Err(failed) => Err(failed),
        };
        let instead = match answered {
            Ok(()) => return,
            Err(Failed::Broken) => {
                door.counts.panics.fetch_add(1, Relaxed);
                door.broken
            }
            Err(Failed::Late) => door.late,
        };
        self.answers.truncate(begin);
        checks.write(instead(), &mut self.answers).await;
    }

    /// Sends what there is; nothing more is read from whoever does not take it.
    async fn send(&mut self) -> Option<()> {
        if self.answers.is_empty() {
            return Some(());
        }
        let sending = async {
            self.stream.write_all(&self.answers).await?;
            self.stream.flush().await
        };
        guarded(self.door.limits.request_timeout, sending).await.ok()?.ok()?;
        self.answers.clear();
        self.answers.shrink_to(TOGETHER);
        Some(())
    }
}

//! Plain checks over HTTP/1.1, by the shortest way: read where they lie, answered in place, those that came together together.
//! With the first byte of anything else the connection goes on as any other does.

#[cfg(test)]
mod tests;

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::Ordering::Relaxed;

use axum::http::HeaderValue;
use axum::http::header::CONNECTION;
use tidegate_wire::http::{Checks, Heard, MOST_PLAIN_BYTES, Part, Plain, hear};
use tidegate_wire::trust::Peer;
use tokio::time::Instant;

use crate::between::{Between, Event};
use crate::guarded::at_once;
use crate::listener::{self, Door, Wire};
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
        /// Whether the connection should end with it.
        is_last: bool,
    },
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
    /// What is missing of the next one, and when that has to be there, or anything at all.
    part: Part,
    quiet_at: Instant,
}

/// Answers checks until the connection is old, the server goes away, nothing has come for long, or something else has. The store
/// answers at once.
pub(super) async fn serve<W: Wire>(
    stream: &mut W,
    (checks, peer): (&Checks<Stack>, Option<&Peer>),
    (door, old_at): (&Door, Instant),
    going: impl Future<Output = ()>,
) -> Ended {
    let quiet_at = Instant::now() + door.limits.idle_timeout;
    let (came, answers) = (Vec::new(), Vec::new());
    let mut line =
        Line { stream, checks, peer, door, came, answers, answered: false, part: Part::Head, quiet_at };
    let mut between = pin!(Between::new(going, quiet_at.min(old_at)));
    let mut pieces = 0;
    loop {
        line.make_room();
        let came = between.as_mut().hear(line.stream, &mut line.came).await;
        let now = Instant::now();
        match came {
            Event::Bytes(Err(_)) => return Ended::Closed,
            Event::Bytes(Ok(0)) => return line.left(false),
            // That it is the last one is told with its answer, by who knows how to.
            Event::Going => return line.left(true),
            Event::Bytes(Ok(_)) | Event::Alarm if old_at <= now => return line.left(true),
            Event::Bytes(Ok(_)) => {
                if between.as_mut().hears_of_going().await {
                    return line.left(true);
                }
                match line.answer(now).await {
                    Some(Next::Part { answered }) => pieces = if answered { 0 } else { pieces + 1 },
                    Some(Next::Other) => return line.left(false),
                    None => return Ended::Closed,
                }
                if pieces >= MOST_PIECES || line.came.len() >= MOST_PLAIN_BYTES {
                    return line.left(false);
                }
            }
            Event::Alarm if line.quiet_at <= now => {
                if line.part == Part::Body {
                    line.be_late().await;
                }
                return Ended::Closed;
            }
            Event::Alarm => {}
        }
        between.as_mut().look_at(line.quiet_at.min(old_at));
    }
}

/// What is left of what came once all checks are answered.
enum Next {
    /// Nothing, or the beginning of a check; and whether any was answered.
    Part {
        answered: bool,
    },
    Other,
}

impl<W: Wire> Line<'_, &mut W> {
    /// Makes room for what comes next.
    fn make_room(&mut self) {
        let most = if self.answered { MOST_PLAIN_BYTES } else { FIRST_BYTES };
        self.came.reserve(most.saturating_sub(self.came.len()).max(FIRST_BYTES));
    }

    /// Nobody is left alone with a request, or with half of one.
    fn left(self, is_last: bool) -> Ended {
        if self.came.is_empty() {
            return Ended::Closed;
        }
        // HTTP/2 begins with other letters.
        let is_http1 = self.answered || self.came.starts_with(b"PO");
        Ended::Other { came: self.came, is_http1, is_last }
    }

    /// Answers all checks that have come; `None` if answers cannot be sent any more.
    async fn answer(&mut self, now: Instant) -> Option<Next> {
        let (mut came, mut done) = (std::mem::take(&mut self.came), 0);
        let next = loop {
            match hear(&came[done..]) {
                Heard::Check(plain) => {
                    done += plain.bytes();
                    self.answer_one(&plain).await;
                }
                Heard::Part(part) => break Some(part),
                Heard::Other => break None,
            }
            if self.answers.len() >= TOGETHER {
                self.send().await?;
            }
        };
        came.drain(..done);
        self.came = came;
        self.answered |= done > 0;
        self.send().await?;
        let Some(part) = next else { return Some(Next::Other) };
        self.wait_for(part, done > 0, now);
        Some(Next::Part { answered: done > 0 })
    }

    /// The head of a check has its time as a whole, and so has its body.
    fn wait_for(&mut self, part: Part, begins: bool, now: Instant) {
        let limits = &self.door.limits;
        let patience = match part {
            _ if self.came.is_empty() => limits.header_timeout.min(limits.idle_timeout),
            Part::Head => limits.header_timeout,
            Part::Body => limits.request_timeout,
        };
        let is_another = begins || part != self.part;
        self.part = part;
        self.quiet_at = if is_another { now + patience } else { self.quiet_at.min(now + patience) };
    }

    async fn answer_one(&mut self, plain: &Plain<'_>) {
        let begin = self.answers.len();
        let (checks, peer) = (self.checks, self.peer);
        if at_once(|| checks.answer_at_once(plain, peer, &mut self.answers)).is_err() {
            self.door.counts.panics.fetch_add(1, Relaxed);
            self.answers.truncate(begin);
            checks.write((self.door.broken)(), &mut self.answers).await;
        }
    }

    /// Says that the body of a check did not come in time.
    async fn be_late(&mut self) -> Option<()> {
        let mut late = (self.door.late)();
        late.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        self.checks.write(late, &mut self.answers).await;
        self.send().await
    }

    /// Sends what there is; nothing more is read from whoever does not take it.
    async fn send(&mut self) -> Option<()> {
        if self.answers.is_empty() {
            return Some(());
        }
        listener::send(self.stream, &self.answers, self.door.limits.request_timeout).await?;
        self.answers.clear();
        self.answers.shrink_to(TOGETHER);
        Some(())
    }
}

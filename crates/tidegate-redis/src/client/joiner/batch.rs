//! Several calls as one.

use std::pin::pin;
use std::sync::Arc;

use redis::Value;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use super::{MOST, Outcome, Waiting, weight};
use crate::client::command::Body;
use crate::client::link::{Line, Link};
use crate::client::reply::Reply;
use crate::client::trouble::Trouble;
use crate::{Call, Fault, Script};

/// Calls that travel together.
pub(super) struct Batch {
    /// Whether they are made one; then they are of one script.
    joined: bool,
    calls: Vec<Arc<Call>>,
    asking: Vec<Asking>,
    weight: usize,
}

/// Whoever asks, until they are answered or have no time left.
struct Asking {
    deadline: Instant,
    answer: Option<oneshot::Sender<Outcome>>,
}

impl Batch {
    pub(super) fn new(joined: bool) -> Self {
        Self { joined, calls: Vec::with_capacity(MOST), asking: Vec::with_capacity(MOST), weight: 0 }
    }

    pub(super) fn has_room_for(&self, call: &Call) -> bool {
        let same = self.calls.first().is_none_or(|first| std::ptr::eq(first.script, call.script));
        (same || !self.joined) && self.weight + weight(call) <= MOST
    }

    pub(super) fn push(&mut self, waiting: Waiting) {
        self.weight += weight(&waiting.call);
        self.calls.push(waiting.call);
        self.asking.push(Asking { deadline: waiting.deadline, answer: Some(waiting.answer) });
    }

    /// Sends them, and gives everybody their part of the answer, or tells them at their own deadline that there is none.
    pub(super) async fn run(mut self, link: &Link) {
        let line = match link.line() {
            Ok(line) => line,
            Err(trouble) => return tell_all(&mut self.asking, trouble),
        };
        let sent = Sent { joined: self.joined, calls: self.calls };
        let mut sending = pin!(sent.send(&line));
        while let Some(next) = next_deadline(&self.asking) {
            match timeout_at(next, &mut sending).await {
                Ok(Ok(replies)) => return share(&mut self.asking, replies),
                Ok(Err(trouble)) => {
                    if matches!(trouble.fault, Fault::Disconnected | Fault::Garbled) {
                        link.lose(&line);
                    }
                    return tell_all(&mut self.asking, trouble);
                }
                Err(_) => tell_late(&mut self.asking, next),
            }
        }
    }
}

/// When the first who still asks has no time left.
fn next_deadline(asking: &[Asking]) -> Option<Instant> {
    asking.iter().filter(|asking| asking.answer.is_some()).map(|asking| asking.deadline).min()
}

/// Whoever has gone needs no answer.
fn tell(asking: &mut Asking, outcome: Outcome) {
    if let Some(answer) = asking.answer.take() {
        drop(answer.send(outcome));
    }
}

fn share(asking: &mut [Asking], replies: Vec<Reply>) {
    for (asking, reply) in asking.iter_mut().zip(replies) {
        tell(asking, Ok(reply));
    }
}

fn tell_all(asking: &mut [Asking], trouble: Trouble) {
    for asking in asking {
        tell(asking, Err(trouble));
    }
}

fn tell_late(asking: &mut [Asking], now: Instant) {
    for asking in asking.iter_mut().filter(|asking| asking.deadline <= now) {
        tell(asking, Err(Trouble::after_sending(Fault::TimedOut)));
    }
}

/// Calls that are out.
struct Sent {
    joined: bool,
    calls: Vec<Arc<Call>>,
}

impl Sent {
    /// One reply for each call.
    async fn send(&self, line: &Line) -> Result<Vec<Reply>, Trouble> {
        if self.joined {
            return self.part(line.run(self, false).await?);
        }
        let calls: Vec<&Call> = self.calls().collect();
        line.run_each(&calls).await
    }

    /// Everybody's part of one reply to all, with what stands behind the parts because it concerns everybody.
    fn part(&self, reply: Reply) -> Result<Vec<Reply>, Trouble> {
        let checks: usize = self.calls().map(|call| call.arguments.len()).sum();
        match reply {
            Reply::Answer(answer) if self.calls.len() == 1 => Ok(vec![Reply::Answer(answer)]),
            Reply::Answer(Value::Array(mut answers)) if answers.len() >= checks => {
                let for_all = answers.split_off(checks);
                let mut answers = answers.into_iter();
                let part = |call: &Call| {
                    let own = answers.by_ref().take(call.arguments.len());
                    own.chain(for_all.iter().cloned()).collect()
                };
                Ok(self.calls().map(part).map(|part| Reply::Answer(Value::Array(part))).collect())
            }
            Reply::Answer(_) => Err(Trouble::after_sending(Fault::Garbled)),
            other => Ok(self.calls.iter().map(|_| other.clone()).collect()),
        }
    }
}

impl Body for Sent {
    fn script(&self) -> &'static Script {
        self.calls.first().expect("nobody sends an empty batch").script
    }

    fn calls(&self) -> impl Iterator<Item = &Call> + Clone {
        self.calls.iter().map(|call| &**call)
    }
}

//! Several calls as one.

use redis::Value;
use tokio::time::timeout_at;

use super::{MOST, Waiting, weight};
use crate::client::command::Body;
use crate::client::link::{Line, Link};
use crate::client::reply::Reply;
use crate::client::trouble::Trouble;
use crate::{Call, Fault, Script};

/// Calls that travel together.
pub(super) struct Batch {
    /// Whether they are made one; then they are of one script.
    joined: bool,
    members: Vec<Waiting>,
    weight: usize,
}

impl Batch {
    pub(super) fn new(joined: bool) -> Self {
        Self { joined, members: Vec::new(), weight: 0 }
    }

    pub(super) fn has_room_for(&self, call: &Call) -> bool {
        let same = self.members.first().is_none_or(|first| std::ptr::eq(first.call.script, call.script));
        (same || !self.joined) && self.weight + weight(call) <= MOST
    }

    pub(super) fn push(&mut self, waiting: Waiting) {
        self.weight += weight(&waiting.call);
        self.members.push(waiting);
    }

    /// Sends them, waits until the last deadline of all, and gives everybody their part of the answer.
    pub(super) async fn run(self, link: &Link) {
        let line = match link.line() {
            Ok(line) => line,
            Err(trouble) => return self.tell_all(trouble),
        };
        let Some(last) = self.members.iter().map(|member| member.deadline).max() else { return };
        let outcome = timeout_at(last, self.send(&line)).await;
        match outcome.unwrap_or(Err(Trouble::after_sending(Fault::TimedOut))) {
            Ok(replies) => self.share(replies),
            Err(trouble) => {
                if matches!(trouble.fault, Fault::Disconnected | Fault::Garbled) {
                    link.lose(&line);
                }
                self.tell_all(trouble);
            }
        }
    }

    /// One reply for each member.
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
            Reply::Answer(answer) if self.members.len() == 1 => Ok(vec![Reply::Answer(answer)]),
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
            other => Ok(self.members.iter().map(|_| other.clone()).collect()),
        }
    }

    fn share(self, replies: Vec<Reply>) {
        for (member, reply) in self.members.into_iter().zip(replies) {
            // Whoever has gone needs no answer.
            drop(member.answer.send(Ok(reply)));
        }
    }

    fn tell_all(self, trouble: Trouble) {
        for member in self.members {
            drop(member.answer.send(Err(trouble)));
        }
    }
}

impl Body for Batch {
    fn script(&self) -> &'static Script {
        self.members.first().expect("nobody sends an empty batch").call.script
    }

    fn calls(&self) -> impl Iterator<Item = &Call> + Clone {
        self.members.iter().map(|member| &*member.call)
    }
}

//! Several calls as one.

use redis::Value;
use tokio::time::{Instant, timeout_at};

use super::{MOST, Outcome, Waiting};
use crate::client::command::Body;
use crate::client::link::Link;
use crate::client::reply::Reply;
use crate::client::trouble::Trouble;
use crate::{Call, Fault, Script};

/// Calls of one script that travel together.
#[derive(Default)]
pub(super) struct Batch {
    members: Vec<Waiting>,
    checks: usize,
}

impl Batch {
    pub(super) fn has_room_for(&self, call: &Call) -> bool {
        let same = self.members.first().is_none_or(|first| std::ptr::eq(first.call.script, call.script));
        same && self.checks + call.arguments.len() <= MOST
    }

    pub(super) fn push(&mut self, waiting: Waiting) {
        self.checks += waiting.call.arguments.len();
        self.members.push(waiting);
    }

    /// Sends them, waits until the last deadline of all, and gives everybody their part of the answer.
    pub(super) async fn run(self, link: &Link) {
        let line = match link.line() {
            Ok(line) => line,
            Err(trouble) => return self.tell_all(|| Err(trouble)),
        };
        let Some(last) = self.members.iter().map(|member| member.deadline).max() else { return };
        match self.wait(&line, last).await {
            Ok(Reply::Answer(Value::Array(answers))) if answers.len() == self.checks => self.share(answers),
            Ok(Reply::Answer(_)) => self.tell_all(|| Err(Trouble::after_sending(Fault::Garbled))),
            Ok(Reply::ReadOnly) => self.tell_all(|| Ok(Reply::ReadOnly)),
            Ok(Reply::TryAgain) => self.tell_all(|| Ok(Reply::TryAgain)),
            Ok(Reply::NoScript) => self.tell_all(|| Ok(Reply::NoScript)),
            Ok(Reply::Refused(refusal)) => self.tell_all(|| Ok(Reply::Refused(refusal))),
            Ok(Reply::Moved(place)) => self.tell_all(|| Ok(Reply::Moved(place.clone()))),
            Ok(Reply::Ask(place)) => self.tell_all(|| Ok(Reply::Ask(place.clone()))),
            Err(trouble) => {
                if matches!(trouble.fault, Fault::Disconnected | Fault::Garbled) {
                    link.lose(&line);
                }
                self.tell_all(|| Err(trouble));
            }
        }
    }

    async fn wait(&self, line: &crate::client::link::Line, last: Instant) -> Outcome {
        let outcome = timeout_at(last, line.run(self, false)).await;
        outcome.unwrap_or(Err(Trouble::after_sending(Fault::TimedOut)))
    }

    fn share(self, answers: Vec<Value>) {
        let mut answers = answers.into_iter();
        for member in self.members {
            let part = answers.by_ref().take(member.call.arguments.len()).collect();
            // Whoever has gone needs no answer.
            drop(member.answer.send(Ok(Reply::Answer(Value::Array(part)))));
        }
    }

    fn tell_all(self, outcome: impl Fn() -> Outcome) {
        for member in self.members {
            drop(member.answer.send(outcome()));
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

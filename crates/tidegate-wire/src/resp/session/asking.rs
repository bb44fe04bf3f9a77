//! Questions to the store. One that answers at once is asked one thing after another; of one that makes callers wait, several
//! questions of a connection are under way at a time, and their replies keep the order of the questions.

use std::future::Future;
use std::pin::{Pin, pin};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesOrdered;
use tidegate_engine::{Malformed, Settled};
use tidegate_store::{Hold, Store};

use super::super::command::Ask;
use super::super::question;
use super::super::reply::{Protocol, Replies};
use super::super::throttle;
use super::super::wrong::Wrong;
use crate::door::{DEFAULT_HOLD_MS, Door, at_once};

/// Questions of one connection that may be under way at a time.
const MOST_TOGETHER: usize = 128;

/// Asks a store that answers at once. What is large about a question stays on the stack, and a connection stays small.
#[inline(never)]
pub(super) fn ask_at_once<S: Store + 'static>(door: &Door<S>, asked: &Ask<'_>, replies: &mut Replies) {
    let whole = replies.bytes.len();
    if at_once(pin!(ask(door, asked, replies))).is_none() {
        replies.bytes.truncate(whole);
        replies.error("TRYAGAIN", "the store did not answer");
    }
}

/// Asks, and writes what came of it.
async fn ask<S: Store + 'static>(door: &Door<S>, ask: &Ask<'_>, replies: &mut Replies) {
    match ask {
        Ask::Throttle(throttle::Question { form, asked }) => {
            let throttled = door.throttle(asked).await;
            throttle::answer(*form, &throttled.verdict, replies);
        }
        Ask::Check(asked) => match door.check(&asked.check()).await {
            Ok(decision) => question::decision(&decision, decision.holds, replies),
            Err(malformed) => Wrong::new(malformed.to_string()).write(replies),
        },
        settling => Box::pin(settle(door, settling, replies)).await,
    }
}

/// Apart and boxed, to keep the future of a check small.
async fn settle<S: Store + 'static>(door: &Door<S>, ask: &Ask<'_>, replies: &mut Replies) {
    let refused = |malformed: Malformed, replies: &mut Replies| {
        Wrong::new(malformed.to_string()).write(replies);
    };
    match ask {
        Ask::Reserve(asked) => {
            let hold = Hold::lasting(Duration::from_millis(DEFAULT_HOLD_MS));
            match door.reserve(&asked.check(), hold).await {
                Ok(decision) => question::decision(&decision, decision.allowed(), replies),
                Err(malformed) => refused(malformed, replies),
            }
        }
        Ask::Commit(commit) => match door.commit_sent(commit).await {
            Ok(settled) => question::settled(&settled, replies),
            Err(malformed) => refused(malformed, replies),
        },
        Ask::Refund(asked) => match door.refund(&asked.check(), None).await {
            Ok(decision) if decision.is_uncounted() => {
                question::settled(&Settled::Failed(String::new()), replies);
            }
            Ok(decision) => question::decision(&decision, false, replies),
            Err(malformed) => refused(malformed, replies),
        },
        Ask::Cancel(id) => question::settled(&door.cancel(*id).await, replies),
        Ask::Release(id) => question::settled(&door.release(*id).await, replies),
        Ask::Throttle(_) | Ask::Check(_) => {}
    }
}

type Reply<'b> = Pin<Box<dyn Future<Output = Vec<u8>> + Send + 'b>>;

/// Questions that are under way, in their order.
pub(super) struct Waiting<'b, S> {
    door: &'b Door<S>,
    /// Made when it is needed: where the store answers at once, nobody waits.
    questions: Option<FuturesOrdered<Reply<'b>>>,
}

impl<'b, S: Store + 'static> Waiting<'b, S> {
    pub(super) const fn new(door: &'b Door<S>) -> Self {
        Self { door, questions: None }
    }

    /// Asks one more, once there are not too many.
    pub(super) async fn push(&mut self, ask: Ask<'b>, replies: &mut Replies) {
        let questions = self.questions.get_or_insert_default();
        while questions.len() >= MOST_TOGETHER {
            next(questions, replies).await;
        }
        questions.push_back(Box::pin(apart(self.door, ask, replies.protocol)));
    }

    /// Waits for all replies.
    pub(super) async fn all(&mut self, replies: &mut Replies) {
        while let Some(questions) = self.questions.as_mut().filter(|questions| !questions.is_empty()) {
            next(questions, replies).await;
        }
    }
}

async fn next(questions: &mut FuturesOrdered<Reply<'_>>, replies: &mut Replies) {
    if let Some(reply) = questions.next().await {
        replies.bytes.extend_from_slice(&reply);
    }
}

/// Asks, with the reply apart from all others.
async fn apart<S: Store + 'static>(door: &Door<S>, asked: Ask<'_>, protocol: Protocol) -> Vec<u8> {
    let mut reply = Replies::new(protocol);
    ask(door, &asked, &mut reply).await;
    reply.bytes
}

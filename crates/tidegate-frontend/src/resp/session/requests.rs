//! Requests to the store. One that the store answers without waiting is answered on the stack; of the others, several of a
//! connection are under way at a time, and their replies keep the order of the requests.

use std::future::{Future, poll_fn, ready};
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesOrdered;
use tidegate_engine::{Decision, Malformed, Settled, Throttled};
use tidegate_store::{Hold, Store};

use super::super::command::Ask;
use super::super::question::{self, Question};
use super::super::throttle::{self, Form};
use super::super::wrong::Wrong;
use crate::door::{DEFAULT_HOLD_MS, Door};
use tidegate_wire::resp::{Protocol, Replies};

/// Requests of one connection that may be under way at a time.
const MOST_IN_FLIGHT: usize = 128;

type PendingReply<'b> = Pin<Box<dyn Future<Output = Vec<u8>> + Send + 'b>>;

/// Requests that are under way, in their order.
pub(super) struct RequestQueue<'b, S> {
    door: &'b Door<S>,
    /// Made when it is needed: a store in memory needs none.
    pending: Option<FuturesOrdered<PendingReply<'b>>>,
}

/// A request that the store answered.
#[expect(clippy::large_enum_variant, reason = "it is made once and written at once")]
enum Outcome {
    Throttle(Form, Throttled),
    Check(Result<Decision, Malformed>),
}

impl<'b, S: Store> RequestQueue<'b, S> {
    pub(super) const fn new(door: &'b Door<S>) -> Self {
        Self { door, pending: None }
    }

    /// Begins a request, and writes the reply if it is there already. `Some` is to be [pushed](Self::push).
    ///
    /// Not a part of the async caller, so that what is large about a check stays on the stack.
    #[inline(never)]
    pub(super) fn begin(&self, ask: Ask<'b>, replies: &mut Replies) -> Option<PendingReply<'b>> {
        let (door, protocol) = (self.door, replies.protocol);
        let outcome = match ask {
            Ask::Throttle(throttle::Question { form, asked }) => match door.try_throttle(&asked) {
                Ok(throttled) => Outcome::Throttle(form, throttled),
                Err(pending) => {
                    return Some(Box::pin(async move {
                        Outcome::Throttle(form, door.wait_throttle(pending).await).reply(protocol)
                    }));
                }
            },
            Ask::Check(asked) => match door.try_check(&asked.check()) {
                Ok(decided) => Outcome::Check(decided),
                Err(pending) => {
                    return Some(Box::pin(async move {
                        Outcome::Check(door.wait(pending, &asked.check()).await).reply(protocol)
                    }));
                }
            },
            ask => return Some(Box::pin(settle(door, ask, protocol))),
        };
        if self.is_empty() {
            outcome.write(replies);
            return None;
        }
        // Replies of earlier requests come first.
        Some(Box::pin(ready(outcome.reply(protocol))))
    }

    /// Adds a request once there are not too many, starts it, and writes the replies that are there.
    pub(super) async fn push(&mut self, reply: PendingReply<'b>, replies: &mut Replies) {
        let pending = self.pending.get_or_insert_default();
        while pending.len() >= MOST_IN_FLIGHT {
            write_next(pending, replies).await;
        }
        pending.push_back(reply);
        // A request is started before the next one, so that a store sees them in order.
        poll_fn(|context| {
            while let Poll::Ready(Some(reply)) = pending.poll_next_unpin(context) {
                replies.bytes.extend_from_slice(&reply);
            }
            Poll::Ready(())
        })
        .await;
    }

    /// Waits for all replies.
    pub(super) async fn finish(&mut self, replies: &mut Replies) {
        while let Some(pending) = self.pending.as_mut().filter(|pending| !pending.is_empty()) {
            write_next(pending, replies).await;
        }
    }

    fn is_empty(&self) -> bool {
        self.pending.as_ref().is_none_or(FuturesOrdered::is_empty)
    }
}

async fn write_next(pending: &mut FuturesOrdered<PendingReply<'_>>, replies: &mut Replies) {
    if let Some(reply) = pending.next().await {
        replies.bytes.extend_from_slice(&reply);
    }
}

impl Outcome {
    fn write(&self, replies: &mut Replies) {
        match self {
            Self::Throttle(form, throttled) => throttle::answer(*form, &throttled.verdict, replies),
            Self::Check(decided) => write_decision(decided, |decision| decision.holds, replies),
        }
    }

    fn reply(&self, protocol: Protocol) -> Vec<u8> {
        let mut replies = Replies::new(protocol);
        self.write(&mut replies);
        replies.bytes
    }
}

fn write_decision(
    decided: &Result<Decision, Malformed>,
    holds: impl Fn(&Decision) -> bool,
    replies: &mut Replies,
) {
    match decided {
        Ok(decision) => question::decision(decision, holds(decision), replies),
        Err(malformed) => Wrong::new(malformed.to_string()).write(replies),
    }
}

/// The requests beside checks.
async fn settle<S: Store>(door: &Door<S>, ask: Ask<'_>, protocol: Protocol) -> Vec<u8> {
    let mut replies = Replies::new(protocol);
    match ask {
        Ask::Reserve(asked) => {
            let hold = Hold::lasting(Duration::from_millis(DEFAULT_HOLD_MS));
            write_decision(&door.reserve(&asked.check(), hold).await, Decision::allowed, &mut replies);
        }
        Ask::Refund(asked) => refund(door, &asked, &mut replies).await,
        Ask::Commit(commit) => match door.commit_sent(&commit).await {
            Ok(settled) => question::settled(&settled, &mut replies),
            Err(malformed) => Wrong::new(malformed.to_string()).write(&mut replies),
        },
        Ask::Cancel(id) => question::settled(&door.cancel(id).await, &mut replies),
        Ask::Release(id) => question::settled(&door.release(id).await, &mut replies),
        Ask::Throttle(_) | Ask::Check(_) => {}
    }
    replies.bytes
}

async fn refund<S: Store>(door: &Door<S>, asked: &Question<'_>, replies: &mut Replies) {
    match door.refund(&asked.check(), None).await {
        Ok(decision) if decision.is_uncounted() => {
            question::settled(&Settled::Failed(String::new()), replies);
        }
        decided => write_decision(&decided, |_| false, replies),
    }
}

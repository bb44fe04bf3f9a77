//! Joins calls that wait: where one server has all keys, checks of one script travel and run as one call; otherwise calls travel
//! together and run one by one.
//!
//! A call that finds few others under way goes at once and alone. Those that come while so many are out wait until one of them is
//! back, or until they are enough for a joined call; so nobody waits for company that may not come.
//!
//! Whoever is out comes back by its deadline. So a call whose deadline is not before those of all who came earlier needs no timer
//! of its own: by then it has been sent, and its batch tells it.

mod batch;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use super::link::Link;
use super::reply::Reply;
use super::trouble::Trouble;
use crate::{Call, Fault};
use batch::Batch;

/// What calls that travel together weigh at most, in checks: more would hold the server up for others.
const MOST: usize = 32;
/// Calls that go alone while no more than this many are out.
const ALONE: usize = 4;

/// What is told of a call that nobody carries any more.
const GONE: Trouble = Trouble::after_sending(Fault::Disconnected);

type Outcome = Result<Reply, Trouble>;

/// One link with a queue before it.
pub(crate) struct Joiner {
    link: Link,
    /// Whether calls can be made one.
    joins: bool,
    runtime: Handle,
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Waiting>,
    /// What those who wait weigh.
    weight: usize,
    /// Calls that are out, joined or alone.
    out: usize,
    /// The number of the next who waits.
    next: u64,
    /// The last of all deadlines so far.
    latest: Option<Instant>,
}

/// One call that waits for company.
struct Waiting {
    number: u64,
    call: Arc<Call>,
    deadline: Instant,
    answer: oneshot::Sender<Outcome>,
}

/// Where a call goes.
enum Way {
    Alone,
    /// Its batch, or who goes before it, tells it when its time is up.
    Queued(oneshot::Receiver<Outcome>),
    /// It has less time than others who may go before it.
    Hurried {
        number: u64,
        answer: oneshot::Receiver<Outcome>,
    },
}

impl Joiner {
    pub(crate) fn new(link: Link, joins: bool, runtime: Handle) -> Arc<Self> {
        Arc::new(Self { link, joins, runtime, queue: Mutex::default() })
    }

    /// The link behind it.
    pub(crate) fn link(&self) -> &Link {
        &self.link
    }

    /// Runs a call, alone or joined with others.
    pub(crate) async fn run(self: &Arc<Self>, call: &Arc<Call>, deadline: Instant) -> Outcome {
        match self.way(call, deadline) {
            Way::Alone => {
                let _turn = Turn(self);
                // Apart, so that those who wait in the queue do not carry its room about.
                Box::pin(run_alone(&self.link, call, false, deadline)).await
            }
            Way::Queued(answer) => answer.await.unwrap_or(Err(GONE)),
            Way::Hurried { number, answer } => match timeout_at(deadline, answer).await {
                Ok(outcome) => outcome.unwrap_or(Err(GONE)),
                Err(_) if self.withdraw(number) => Err(Trouble::before_sending(Fault::TimedOut)),
                Err(_) => Err(Trouble::after_sending(Fault::TimedOut)),
            },
        }
    }

    fn way(self: &Arc<Self>, call: &Arc<Call>, deadline: Instant) -> Way {
        let mut queue = self.queue();
        let is_hurried = queue.latest.is_some_and(|latest| deadline < latest);
        queue.latest = queue.latest.max(Some(deadline));
        if queue.out < ALONE && queue.waiting.is_empty() {
            queue.out += 1;
            return Way::Alone;
        }
        let (sender, answer) = oneshot::channel();
        let number = queue.push(Arc::clone(call), deadline, sender);
        if queue.weight >= MOST {
            queue.out += 1;
            self.send_batch(queue);
        }
        if is_hurried { Way::Hurried { number, answer } } else { Way::Queued(answer) }
    }

    /// Takes a call back that was not sent.
    fn withdraw(&self, number: u64) -> bool {
        let mut queue = self.queue();
        let Ok(index) = queue.waiting.binary_search_by_key(&number, |waiting| waiting.number) else {
            return false;
        };
        let waiting = queue.waiting.remove(index);
        queue.weight -= waiting.map_or(0, |waiting| weight(&waiting.call));
        true
    }

    /// Somebody is back: the next may go.
    fn next_turn(self: &Arc<Self>) {
        let mut queue = self.queue();
        if queue.waiting.is_empty() {
            queue.out -= 1;
        } else {
            self.send_batch(queue);
        }
    }

    /// Sends those who wait as one call, in the turn of somebody who was counted as out.
    fn send_batch(self: &Arc<Self>, mut queue: MutexGuard<'_, Queue>) {
        match queue.take(self.joins) {
            None => queue.out -= 1,
            Some(batch) => {
                drop(queue);
                let joiner = Arc::clone(self);
                self.runtime.spawn(async move {
                    let turn = Turn(&joiner);
                    let mut next = Some(batch);
                    while let Some(batch) = next {
                        batch.run(&joiner.link).await;
                        next = joiner.queue().take(joiner.joins);
                    }
                    drop(turn);
                });
            }
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn push(&mut self, call: Arc<Call>, deadline: Instant, answer: oneshot::Sender<Outcome>) -> u64 {
        let number = self.next;
        self.next += 1;
        self.weight += weight(&call);
        self.waiting.push_back(Waiting { number, call, deadline, answer });
        number
    }

    /// The next who wait and can travel together, without those who have gone or have no time left.
    fn take(&mut self, joins: bool) -> Option<Batch> {
        let mut batch: Option<Batch> = None;
        let now = Instant::now();
        while let Some(next) = self.waiting.front() {
            let fits = batch.as_ref().is_none_or(|batch| batch.has_room_for(&next.call));
            if !fits {
                break;
            }
            let Some(next) = self.waiting.pop_front() else { break };
            self.weight -= weight(&next.call);
            if next.deadline <= now {
                drop(next.answer.send(Err(Trouble::before_sending(Fault::TimedOut))));
            } else if !next.answer.is_closed() {
                batch.get_or_insert_with(|| Batch::new(joins && next.call.script.joins)).push(next);
            }
        }
        batch
    }
}

/// What a call counts among those that travel together: its checks, and something if it has none.
fn weight(call: &Call) -> usize {
    call.arguments.len().max(1)
}

/// The right to have a call out. Whoever gives it back lets the next go.
struct Turn<'joiner>(&'joiner Arc<Joiner>);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.next_turn();
    }
}

/// Runs a call by itself, until its deadline.
pub(crate) async fn run_alone(link: &Link, call: &Call, asking: bool, deadline: Instant) -> Outcome {
    let line = link.line()?;
    let outcome = timeout_at(deadline, line.run(call, asking)).await;
    let outcome = outcome.unwrap_or(Err(Trouble::after_sending(Fault::TimedOut)));
    if matches!(outcome, Err(Trouble { fault: Fault::Disconnected | Fault::Garbled, .. })) {
        link.lose(&line);
    }
    outcome
}

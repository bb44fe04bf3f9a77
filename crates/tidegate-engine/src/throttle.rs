//! Limits that callers bring along: a key and numbers, and no rule at all. A short way past matching and resolving, to the
//! same store.

use std::sync::LazyLock;
use std::time::Instant;

use tidegate_core::{EncodedParts, Limit, Plan, PreparedKey, Ticket, Timestamp, Verdict};
use tidegate_store::{Answer, Store, StoreError};

use crate::check::Check;
use crate::contain::contain;
use crate::decision::{Consistency, Trouble};
use crate::engine::Engine;
use crate::flight::FlightLimit;
use crate::last_resort::{Asked, Question};
use crate::pending::AbandonGuard;
use crate::settle;
use crate::store_call::{Inquiry, StoreCall};

/// What homes of such counters begin with: a domain without a name, which no rule and no check can have.
static DOMAIN: LazyLock<EncodedParts> = LazyLock::new(|| EncodedParts::new(&[b""]));

/// What they count, in the place where a rule's counters have the name of their limit.
static COUNTED: LazyLock<EncodedParts> = LazyLock::new(|| EncodedParts::new(&[b"throttle"]));

/// Their share of a store's memory, as a rule has one.
static SHARE: LazyLock<u32> = LazyLock::new(|| {
    let [.., a, b, c, d] = EncodedParts::digest(&[b"", b"throttle"]).to_be_bytes();
    u32::from_be_bytes([a, b, c, d])
});

/// A counter of the caller's choice and what it is held to.
#[derive(Clone, Copy)]
pub struct Throttle<'a> {
    /// The counter's name: other names, other counters, whatever bytes they have.
    pub key: &'a [u8],
    /// What it is held to. It may be another one each time: what was counted before is kept.
    pub limit: Limit,
    /// Units asked for; 0 charges nothing.
    pub cost: u64,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throttled {
    /// Whether it may pass, and what is left.
    pub verdict: Verdict,
    /// How exact that is.
    pub state: Consistency,
}

impl Throttle<'_> {
    fn plan(&self, ticket: Ticket) -> Plan {
        let limit = self.limit.in_share(*SHARE);
        let mut plan = Plan::new();
        plan.set_ticket(ticket);
        plan.charge(key(&[self.key]), limit, self.cost)
            .expect("one charge is a plan, and a part of a key that is long is hashed");
        plan
    }
}

/// The key of such a counter, by its name.
fn key<'k>(name: &'k [&'k [u8]]) -> PreparedKey<'k> {
    PreparedKey { front: &DOMAIN, home: name, back: &COUNTED, own: &[] }
}

/// Keys may be secret.
impl std::fmt::Debug for Throttle<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Throttle")
            .field("limit", &self.limit)
            .field("cost", &self.cost)
            .finish_non_exhaustive()
    }
}

/// A throttle whose plan is made and which the store has not answered yet. Dropped without
/// [`Engine::finish_throttle`], it is counted as abandoned.
#[derive(Debug)]
pub struct PendingThrottle<'e> {
    guard: AbandonGuard<'e>,
    started: Instant,
    now: Timestamp,
    plan: Plan,
    limit: Limit,
    cost: u64,
}

impl<S: Store> Engine<S> {
    /// May so much pass under a limit that the caller brought? If nobody can say, it is treated as comfort is.
    pub async fn throttle(&self, asked: &Throttle<'_>, now: Timestamp, flights: &FlightLimit) -> Throttled {
        let pending = self.begin_throttle(asked, now);
        match self.try_throttle(&pending) {
            Some(answer) => self.finish_throttle(pending, answer),
            None => Box::pin(self.wait_throttle(pending, flights)).await,
        }
    }

    /// The first half: a plan of one charge.
    #[inline]
    pub fn begin_throttle(&self, asked: &Throttle<'_>, now: Timestamp) -> PendingThrottle<'_> {
        PendingThrottle {
            guard: AbandonGuard::armed(self.observed()),
            started: Instant::now(),
            now,
            plan: asked.plan(self.next_ticket()),
            limit: asked.limit,
            cost: asked.cost,
        }
    }

    /// The store's answer, if it need not be waited for.
    #[inline]
    pub fn try_throttle(&self, pending: &PendingThrottle<'_>) -> Option<Result<Answer, StoreError>> {
        contain(|| self.store().try_decide(&pending.plan, pending.now))
            .unwrap_or(Some(Err(StoreError::Panicked)))
    }

    /// Goes on with a throttle that [`try_throttle`](Engine::try_throttle) could not answer.
    pub async fn wait_throttle(&self, mut pending: PendingThrottle<'_>, flights: &FlightLimit) -> Throttled {
        let Some(_permit) = flights.acquire() else {
            return self.settle_throttle(pending, Err(Trouble::Overload));
        };
        let plan = std::mem::take(&mut pending.plan);
        let (_, answer) = StoreCall::new(&self.store, Inquiry::Decide, plan, pending.now).await;
        self.finish_throttle(pending, answer)
    }

    /// The second half: what the store's answer comes to.
    pub fn finish_throttle(
        &self,
        pending: PendingThrottle<'_>,
        answer: Result<Answer, StoreError>,
    ) -> Throttled {
        let settled = match answer {
            Ok(answer) => {
                let state = if answer.local { Consistency::Local } else { Consistency::Exact };
                Ok(Throttled { verdict: answer.verdicts[0], state })
            }
            Err(StoreError::Panicked) => {
                self.observed().panicked();
                Err(Trouble::Panic)
            }
            Err(_) => Err(Trouble::Store),
        };
        self.settle_throttle(pending, settled)
    }

    fn settle_throttle(
        &self,
        mut pending: PendingThrottle<'_>,
        settled: Result<Throttled, Trouble>,
    ) -> Throttled {
        pending.guard.disarm();
        let throttled = settled.unwrap_or_else(|trouble| self.uncounted(&pending, trouble));
        self.observed().throttle(throttled.verdict.allowed(), pending.started.elapsed());
        throttled
    }

    #[cold]
    fn uncounted(&self, pending: &PendingThrottle<'_>, trouble: Trouble) -> Throttled {
        let check = Check::new("");
        let asked = if pending.cost == 0 { Asked::ToSee } else { Asked::ToPass };
        let last = Question { resort: self.last_resort(), check: &check, asked };
        let (verdict, trouble) = settle::uncounted(&pending.limit, trouble, &last, pending.now);
        self.observed().undecided_throttle(trouble, verdict.allowed());
        Throttled { verdict, state: Consistency::Open }
    }
}

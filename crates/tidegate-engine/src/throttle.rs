//! Limits that callers bring along: a key and numbers, and no rule at all. A short way past matching and resolving, to the
//! same store.

use std::sync::LazyLock;
use std::time::Instant;

use tidegate_core::{EncodedParts, Limit, Plan, PreparedKey, Timestamp, Verdict};
use tidegate_store::{Answer, Done, Store, StoreError};

use crate::check::Check;
use crate::contain::{Panicked, contain};
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
    /// The one charge. It holds nothing, so the plan needs no ticket.
    #[inline]
    fn charge(&self, plan: &mut Plan) {
        let limit = self.limit.in_share(*SHARE);
        plan.charge(key(&[self.key]), limit, self.cost)
            .expect("one charge is a plan, and a part of a key that is long is hashed");
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

/// A throttle that the store has to be waited for. Dropped before [`Engine::wait_throttle`] ends, it is counted as
/// abandoned.
#[derive(Debug)]
pub struct PendingThrottle<'e> {
    guard: AbandonGuard<'e>,
    plan: Plan,
    begun: Begun,
}

/// What settling a throttle needs of it.
#[derive(Clone, Copy, Debug)]
struct Begun {
    started: Instant,
    now: Timestamp,
    limit: Limit,
    cost: u64,
}

impl<S: Store> Engine<S> {
    /// May so much pass under a limit that the caller brought? If the store cannot say, it is treated as comfort is.
    pub async fn throttle(&self, asked: &Throttle<'_>, now: Timestamp, flights: &FlightLimit) -> Throttled {
        match self.try_throttle(asked, now) {
            Ok(throttled) => throttled,
            Err(pending) => self.wait_throttle(pending, flights).await,
        }
    }

    /// The same, if the store need not be waited for; otherwise what to wait for.
    ///
    /// One function on one stack frame, because a plan is large and moving it costs more than the decision.
    pub fn try_throttle(
        &self,
        asked: &Throttle<'_>,
        now: Timestamp,
    ) -> Result<Throttled, Box<PendingThrottle<'_>>> {
        let begun = Begun { started: Instant::now(), now, limit: asked.limit, cost: asked.cost };
        let mut plan = Plan::new();
        asked.charge(&mut plan);
        // A decision makes the counter; a throttle that charges nothing only reads it.
        if asked.cost == 0 {
            return Err(self.pending_throttle(plan, begun));
        }
        // Settled inside of the closure, because an answer is large and would be copied on its way out.
        let settled = contain(|| {
            let answer = self.store().try_decide(&plan, now)?;
            Some(self.settle_throttle(&begun, answer.as_ref()))
        });
        match settled {
            Ok(Some(throttled)) => Ok(throttled),
            Ok(None) => Err(self.pending_throttle(plan, begun)),
            Err(Panicked) => Ok(self.settle_throttle(&begun, Err(&StoreError::Panicked))),
        }
    }

    fn pending_throttle(&self, plan: Plan, begun: Begun) -> Box<PendingThrottle<'_>> {
        Box::new(PendingThrottle { guard: AbandonGuard::armed(self.observed()), plan, begun })
    }

    /// Asks the store. With too many that wait, it is treated as comfort is.
    pub async fn wait_throttle(
        &self,
        mut pending: Box<PendingThrottle<'_>>,
        flights: &FlightLimit,
    ) -> Throttled {
        let Some(_permit) = flights.acquire() else {
            pending.guard.disarm();
            return self.uncounted(&pending.begun, Trouble::Overload);
        };
        let plan = std::mem::take(&mut pending.plan);
        let inquiry = if pending.begun.cost == 0 { Inquiry::Read } else { Inquiry::Decide };
        let (_, done) = StoreCall::new(&self.store, inquiry, plan, pending.begun.now).await;
        pending.guard.disarm();
        match &done {
            Ok(Done::Answer(answer)) => self.settle_throttle(&pending.begun, Ok(answer)),
            Ok(_) => self.settle_throttle(&pending.begun, Err(&StoreError::OtherAct)),
            Err(error) => self.settle_throttle(&pending.begun, Err(error)),
        }
    }

    fn settle_throttle(&self, begun: &Begun, answer: Result<&Answer, &StoreError>) -> Throttled {
        let trouble = match answer {
            Ok(answer) => {
                let state = if answer.local { Consistency::Local } else { Consistency::Exact };
                let throttled = Throttled { verdict: answer.verdicts[0], state };
                self.observed().throttle(throttled.verdict.allowed(), begun.started.elapsed());
                return throttled;
            }
            Err(StoreError::Panicked) => {
                self.observed().panicked();
                Trouble::Panic
            }
            Err(_) => Trouble::Store,
        };
        self.uncounted(begun, trouble)
    }

    #[cold]
    fn uncounted(&self, begun: &Begun, trouble: Trouble) -> Throttled {
        let check = Check::new("");
        let asked = if begun.cost == 0 { Asked::ToSee } else { Asked::ToPass };
        let last = Question { resort: self.last_resort(), check: &check, asked };
        let (verdict, trouble) = settle::uncounted(&begun.limit, trouble, &last, begun.now);
        self.observed().undecided_throttle(trouble, verdict.allowed());
        self.observed().throttle(verdict.allowed(), begun.started.elapsed());
        Throttled { verdict, state: Consistency::Open }
    }
}

//! When the store cannot answer, this node goes on by itself: with its part of each limit, from what was last known of it.
//!
//! What it admits meanwhile is owed to the store. Counters that owe something are decided here until it was paid, so that
//! nobody gets a second burst when the store is back: [`Fallback::pay_back`] does that, largest debts first. Plans on which
//! [exactness hangs](tidegate_core::Class::is_exact) are never decided here.
//!
//! What the store [has lost](Fallback::lost) of long windows it is [told again](Fallback::tell_again), step by step.
//!
//! **Bounds.** While the store is away, n nodes together admit at most the limit and n units more (parts are rounded up, and one
//! request that is allowed by the limit is allowed by a part of it), and what the store had admitted that this node had not
//! heard of. A debt that finds no room in the ledger is lost: at most this node's part of that limit.

mod known;
mod long;
mod ledger;
mod leftover;
mod untold;
mod repay;
mod retell;
mod availability;

pub use availability::Availability;

use std::sync::atomic::{AtomicU64, Ordering};

use tidegate_core::{Charge, KeyRef, Limit, Pay, Plan, Timestamp};

use crate::contract::{Act, Answer, Done, Settlement, Store, StoreError, Verdicts};
use crate::layer::Members;
use crate::memory::Memory;
use availability::Answers;
use known::Known;
use ledger::Ledger;
use leftover::Leftover;
use long::Long;
use untold::Untold;

/// A store, and this node alone when it cannot answer.
pub struct Fallback<S> {
    inner: S,
    local: Memory,
    members: Members,
    known: Known,
    long: Long,
    ledger: Ledger,
    leftover: Leftover,
    untold: Untold,
    counts: Counts,
}

/// What happened so far.
#[derive(Debug, Default)]
struct Counts {
    local: AtomicU64,
    paid_back: AtomicU64,
    answers: Answers,
}

/// How a node does without its store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Plans that were decided here, since the start.
    pub local: u64,
    /// Counters that owe something.
    pub owing: usize,
    /// Debts that found no room in the ledger, since the start.
    pub lost: u64,
    /// Units that were paid back, since the start.
    pub paid_back: u64,
    /// Counters that the store has lost and was not told again yet.
    pub untold: usize,
}

impl<S: Store> Fallback<S> {
    /// Goes on in that memory when the other store cannot answer.
    pub fn new(inner: S, local: Memory, members: Members) -> Self {
        let (known, long, ledger) = (Known::default(), Long::default(), Ledger::default());
        let (leftover, untold, counts) = (Leftover::default(), Untold::default(), Counts::default());
        Self { inner, local, members, known, long, ledger, leftover, untold, counts }
    }

    /// The store that has the one true count.
    pub fn inner(&self) -> &S {
        &self.inner
    }

    /// What counts meanwhile.
    pub fn local(&self) -> &Memory {
        &self.local
    }

    /// How many nodes count together.
    pub fn members(&self) -> &Members {
        &self.members
    }

    /// How it does without its store.
    pub fn standing(&self) -> Standing {
        Standing {
            local: self.counts.local.load(Ordering::Relaxed),
            owing: self.ledger.len(),
            lost: self.ledger.lost(),
            paid_back: self.counts.paid_back.load(Ordering::Relaxed),
            untold: self.untold.len(),
        }
    }

    /// How often its store had an answer.
    pub fn availability(&self) -> Availability {
        self.counts.answers.get()
    }

    /// Forgets what was known of counters and what they owe; how many of both there were.
    pub fn purge(&self) -> usize {
        self.known.purge() + self.long.purge() + self.ledger.purge() + self.untold.purge()
    }

    /// Units that count here and have not drained or left their window.
    fn used_here(&self, key: KeyRef<'_>, part: Limit, now: Timestamp) -> u64 {
        let mut plan = Plan::new();
        if plan.charge(key, part, 0).is_err() {
            return 0;
        }
        let read = self.local.read_now(&plan, now);
        read.ok().and_then(|answer| answer.verdicts.first().copied()).map_or(0, |verdict| verdict.used())
    }

    fn forget_locally(&self, key: KeyRef<'_>, limit: &Limit, now: Timestamp) {
        let mut plan = Plan::new();
        if plan.charge(key, *limit, 0).is_ok() {
            self.local.reset_now(&plan, now);
        }
    }

    /// Whether this node decides without asking: something on the plan's counters is not paid yet.
    fn owes(&self, plan: &Plan) -> bool {
        !plan.class().is_exact()
            && !self.ledger.is_empty()
            && plan.charges().any(|charge| self.ledger.has(charge.key))
    }

    /// The plan with this node's part of each limit.
    fn part_of(&self, plan: &Plan) -> Plan {
        let members = self.members.get();
        let mut part = Plan::new();
        part.set_ticket(plan.ticket());
        if let Some(idempotency) = plan.idempotency() {
            part.set_idempotency(idempotency.clone());
        }
        let mut group = 0;
        for charge in plan.charges() {
            while group < charge.group {
                part.next_group();
                group += 1;
            }
            let costs = plan.charges().filter(|other| other.key == charge.key).map(|other| other.cost);
            let limit = charge.limit.divided(members, costs.fold(0, u64::saturating_add));
            part.charge_when(charge.key, limit, charge.cost, charge.pay)
                .expect("what stood in a plan stands in another");
        }
        part
    }

    /// Brings counters of this node's to where the store had them; what they have counted already is part of that.
    fn seed(&self, part: &Plan, now: Timestamp) {
        for charge in part.charges().filter(|charge| charge.limit.term_us().is_none()) {
            let Some(known) = self.known.take(charge.key) else { continue };
            let share = known.used_at(now).share_of(charge.limit.capacity());
            let units = share.saturating_sub(self.used_here(charge.key, *charge.limit, now));
            let mut seed = Plan::new();
            if units > 0 && seed.charge(charge.key, *charge.limit, units).is_ok() {
                // A counter that has more by itself stays as it is.
                drop(self.local.decide_now(&seed, now));
            }
        }
    }

    /// Decides here, by this node's part of each limit.
    fn here(
        &self,
        (plan, now): (&Plan, Timestamp),
        maybe_charged: bool,
        decide: impl FnOnce(&Plan) -> Result<Answer, StoreError>,
    ) -> Result<Answer, StoreError> {
        let part = self.part_of(plan);
        self.seed(&part, now);
        let answer = decide(&part)?;
        self.owe(plan, &answer, maybe_charged, now);
        Ok(self.told(answer, plan))
    }

    /// An answer of this node's, about the whole limits.
    fn told(&self, mut answer: Answer, plan: &Plan) -> Answer {
        self.counts.local.fetch_add(1, Ordering::Relaxed);
        for (verdict, charge) in answer.verdicts.iter_mut().zip(plan.charges()) {
            verdict.limit = charge.limit.capacity();
        }
        answer.local = true;
        answer
    }

    /// Notes what was admitted here. What the store may have charged before it fell silent counts as spent there.
    fn owe(&self, plan: &Plan, answer: &Answer, maybe_charged: bool, now: Timestamp) {
        if answer.replayed {
            return;
        }
        for (index, charge) in plan.charges().enumerate() {
            if !answer.paid(index) || !owes_units(&charge) {
                continue;
            }
            if maybe_charged {
                self.leftover.add(charge.key);
            } else {
                self.ledger.add(charge.key, charge.limit, charge.cost, now);
            }
        }
    }

    /// Takes the store's word on counters in place of what this node had counted.
    fn heard(&self, plan: &Plan, answer: &Answer, now: Timestamp) {
        self.remember(plan, &answer.verdicts, now);
        if self.leftover.is_empty() {
            return;
        }
        for charge in plan.charges() {
            if self.leftover.take(charge.key) && !self.ledger.has(charge.key) {
                self.forget_locally(charge.key, charge.limit, now);
            }
        }
    }

    /// Remembers what the store said.
    fn remember(&self, plan: &Plan, verdicts: &Verdicts, now: Timestamp) {
        for (charge, verdict) in plan.charges().zip(verdicts) {
            if charge.limit.term_us().is_none() {
                self.known.put(charge.key, charge.limit, verdict, now);
                self.long.put(charge.key, charge.limit, verdict, now);
            }
        }
    }

    /// The store's answer, or this node's if there is none.
    async fn ask(
        &self,
        (plan, now): (&Plan, Timestamp),
        question: impl Future<Output = Result<Answer, StoreError>>,
        decide: impl FnOnce(&Plan) -> Result<Answer, StoreError>,
    ) -> Result<Answer, StoreError> {
        if self.owes(plan) {
            self.counts.answers.owing();
            return self.here((plan, now), false, decide);
        }
        let answer = question.await;
        self.counts.answers.came(answer.as_ref().err());
        match answer {
            Ok(answer) => {
                self.heard(plan, &answer, now);
                Ok(answer)
            }
            Err(StoreError::Unavailable { maybe_charged, .. }) if !plan.class().is_exact() => {
                self.here((plan, now), maybe_charged, decide)
            }
            Err(error) => Err(error),
        }
    }
}

/// Slots end with this node's; what costs nothing owes nothing.
fn owes_units(charge: &Charge<'_>) -> bool {
    charge.cost > 0
        && charge.limit.term_us().is_none()
        && !matches!(charge.pay, Pay::Never | Pay::IfRefused { .. })
}

impl<S: Store> Store for Fallback<S> {
    async fn run(&self, act: Act<'_>, now: Timestamp) -> Result<Done, StoreError> {
        match act {
            Act::Decide(plan) => {
                let local = |part: &Plan| self.local.decide_now(part, now);
                self.ask((plan, now), self.inner.decide(plan, now), local).await.map(Done::from)
            }
            // Only decisions are frequent: their future stays small.
            act => Box::pin(self.run_seldom(act, now)).await,
        }
    }
}

impl<S: Store> Fallback<S> {
    async fn run_seldom(&self, act: Act<'_>, now: Timestamp) -> Result<Done, StoreError> {
        match act {
            Act::Read(plan) => {
                let local = |part: &Plan| self.local.read_now(part, now);
                self.ask((plan, now), self.inner.read(plan, now), local).await.map(Done::from)
            }
            Act::Reserve(plan, hold) => {
                let local = |part: &Plan| self.local.reserve_now(part, hold, now);
                self.ask((plan, now), self.inner.reserve(plan, hold, now), local).await.map(Done::from)
            }
            Act::Refund(plan, charged_at) => self.refund_or_owe_less(plan, charged_at, now).await,
            Act::Raise(plan) => {
                let verdicts = self.inner.raise(plan, now).await?;
                self.remember(plan, &verdicts, now);
                Ok(Done::Raised(verdicts))
            }
            Act::Reset(plan) => {
                self.forget(plan);
                let here = self.local.reset_now(plan, now);
                Ok(Done::Reset(self.inner.reset(plan, now).await?.max(here)))
            }
            // What was reserved or taken here is settled here.
            act => match self.local.run_now(act, now)? {
                Done::Settlement(Settlement::Gone) | Done::Released(0) | Done::Renewed(None) => {
                    self.inner.run(act, now).await
                }
                done => Ok(done),
            },
        }
    }

    async fn refund_or_owe_less(
        &self,
        plan: &Plan,
        charged_at: Timestamp,
        now: Timestamp,
    ) -> Result<Done, StoreError> {
        let here = || {
            for charge in plan.charges().filter(owes_units) {
                self.ledger.subtract(charge.key, charge.cost);
            }
            self.local.run_now(Act::Refund(plan, charged_at), now)
        };
        if self.owes(plan) {
            return here();
        }
        match self.inner.refund(plan, charged_at, now).await {
            Err(StoreError::Unavailable { .. }) => here(),
            refunded => refunded.map(|()| Done::Refunded),
        }
    }

    /// Forgets what is known of the plan's counters and what they owe.
    fn forget(&self, plan: &Plan) {
        for charge in plan.charges() {
            self.known.take(charge.key);
            self.long.forget(charge.key);
            self.untold.take(charge.key);
            self.ledger.forget(charge.key);
            self.leftover.take(charge.key);
        }
    }
}

impl<S: std::fmt::Debug> std::fmt::Debug for Fallback<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fallback")
            .field("inner", &self.inner)
            .field("local", &self.local)
            .finish_non_exhaustive()
    }
}

//! The stations in their order.

use std::future::{Future, poll_fn};
use std::mem;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use arc_swap::ArcSwap;
use tidegate_core::{Charge, Pay, Plan, PlanError, Ticket, Timestamp};
use tidegate_rules::Snapshot;
use tidegate_store::{Answer, Hold, Settlement, Store, StoreError};

use crate::check::{Check, Malformed};
use crate::contain::{Panicked, contain, contained};
use crate::decision::{Decision, Outcome, Trouble};
use crate::held::{Held, HeldPlans, What};
use crate::last_resort::{Asked, LastResort, Question};
use crate::loaded::Loaded;
use crate::matching::Matches;
use crate::meaning::Meaning;
use crate::observe::Observed;
use crate::reserved::{Reserved, Used};
use crate::settle::Silence;
use crate::tickets::Tickets;
use crate::way::Way;
use crate::{matching, refund, resolve, settle};

/// Decides checks by the rules that are installed.
#[derive(Debug)]
pub struct Engine<S> {
    store: S,
    loaded: ArcSwap<Loaded>,
    observed: Observed,
    last_resort: LastResort,
    held: HeldPlans,
    tickets: Tickets,
}

/// What came of giving something back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// It was done.
    Done,
    /// There is nothing under that id: settled before, ended, or never there.
    Gone,
    /// The store could not do it.
    Failed(String),
}

impl<S: Store> Engine<S> {
    /// An engine without rules: everything passes.
    pub fn new(store: S) -> Self {
        Self {
            store,
            loaded: ArcSwap::default(),
            observed: Observed::default(),
            last_resort: LastResort::default(),
            held: HeldPlans::default(),
            tickets: Tickets::default(),
        }
    }

    /// With a filter for what is let pass because nobody could count.
    #[must_use]
    pub fn with_last_resort(self, last_resort: LastResort) -> Self {
        Self { last_resort, ..self }
    }

    /// Puts rules in force. Every check sees the old ones or the new ones, whole.
    pub fn install(&self, snapshot: Snapshot) {
        let loaded = Arc::new(Loaded::new(snapshot, &self.observed));
        self.observed.keep_only(&loaded.snapshot);
        self.loaded.store(loaded);
    }

    /// The rules in force.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.loaded.load().snapshot)
    }

    /// What was counted.
    pub fn observed(&self) -> &Observed {
        &self.observed
    }

    /// The store.
    pub fn store(&self) -> &S {
        &self.store
    }

    pub(crate) fn last_resort(&self) -> &LastResort {
        &self.last_resort
    }

    pub(crate) fn next_ticket(&self) -> Ticket {
        self.tickets.next()
    }

    /// How many decisions hold slots or reservations.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// May this request pass?
    pub async fn check(&self, check: &Check<'_>, now: Timestamp) -> Result<Decision, Malformed> {
        let mut answer = Ok(Decision::free(now));
        if let Ok(decision) = &mut answer
            && let Err(malformed) = self.decide(check, decision).await
        {
            answer = Err(*malformed);
        }
        answer
    }

    /// The way of a check, to a decision that is filled where it stands: it is large. What is malformed is rare, and boxed
    /// so that all others have nothing to carry.
    async fn decide(&self, check: &Check<'_>, decision: &mut Decision) -> Result<(), Box<Malformed>> {
        let mut plan = Plan::new();
        let mut way = Way::new(&mut plan, decision);
        self.enter(&mut way, check)?;
        self.resolve(&mut way, check)?;
        if !self.try_decide(&mut way) {
            ask(&mut way, |plan, now| self.store.decide(plan, now)).await;
        }
        self.settle(&mut way, (check, Asked::ToPass))?;
        if let Some(paid) = self.keep(&way) {
            Box::pin(self.give_back(&paid, way.decision.at)).await;
        }
        self.observe(&way);
        Ok(())
    }

    /// Asks the store if it can answer without waiting; `false` if it has to be waited for.
    fn try_decide(&self, way: &mut Way<'_>) -> bool {
        let Way { plan, silence, decision, .. } = way;
        if plan.is_empty() {
            return true;
        }
        match contain(|| self.store.try_decide(plan, decision.at)) {
            // There was none: to say so saves looking, and a copy.
            Ok(Some(Ok(answer))) => mem::forget(decision.answer.replace(answer)),
            Ok(Some(Err(error))) => *silence = Silence::Failed(error),
            Ok(None) => return false,
            Err(Panicked) => *silence = Silence::Panicked,
        }
        true
    }

    /// Would it pass? Nothing is charged.
    pub async fn peek(&self, check: &Check<'_>, now: Timestamp) -> Result<Decision, Malformed> {
        let mut decision = Decision::free(now);
        let mut plan = Plan::new();
        let mut way = Way::new(&mut plan, &mut decision);
        self.enter(&mut way, check)?;
        self.resolve(&mut way, check)?;
        ask(&mut way, |plan, now| self.store.read(plan, now)).await;
        self.settle(&mut way, (check, Asked::ToSee))?;
        decision.holds = false;
        Ok(decision)
    }

    /// May it pass, at a cost that is settled later under the decision's id?
    pub async fn reserve(
        &self,
        check: &Check<'_>,
        hold: Hold,
        now: Timestamp,
    ) -> Result<Decision, Malformed> {
        let mut decision = Decision::free(now);
        let mut plan = Plan::new();
        let mut way = Way::new(&mut plan, &mut decision);
        self.enter(&mut way, check)?;
        self.resolve(&mut way, check)?;
        ask(&mut way, |plan, now| self.store.reserve(plan, hold, now)).await;
        self.settle(&mut way, (check, Asked::ToPass))?;
        self.keep_reservation(&mut way, check, hold).await;
        self.observe(&way);
        Ok(decision)
    }

    /// Settles a reservation at what was really used.
    pub async fn commit(&self, id: Ticket, used: Used<'_>, now: Timestamp) -> Result<Settled, Malformed> {
        let costs = |held: &Held| Some(held.reserved.as_ref()?.costs(&held.plan, used));
        let costs = match self.held.look(id, What::Reservation, costs).flatten() {
            Some(costs) => costs.inspect_err(|_| self.observed.malformed())?,
            None => return Ok(Settled::Gone),
        };
        let Some(held) = self.held.take(id, What::Reservation) else { return Ok(Settled::Gone) };
        let came = settled(contained(async { self.store.commit(id, &costs, now).await }).await);
        Ok(self.still_held(id, held, came, now))
    }

    /// Settles a reservation at nothing.
    pub async fn cancel(&self, id: Ticket, now: Timestamp) -> Settled {
        let Some(held) = self.held.take(id, What::Reservation) else { return Settled::Gone };
        let came = settled(contained(async { self.store.cancel(id, now).await }).await);
        self.still_held(id, held, came, now)
    }

    /// Gives back the slots that a decision holds.
    pub async fn release(&self, id: Ticket, now: Timestamp) -> Settled {
        let Some(held) = self.held.take(id, What::Slots) else { return Settled::Gone };
        let came = match contained(async { self.store.release(&held.plan, now).await }).await {
            Ok(Ok(0)) => Settled::Gone,
            Ok(Ok(_)) => Settled::Done,
            Ok(Err(error)) => Settled::Failed(error.to_string()),
            Err(Panicked) => Settled::Failed(Panicked.to_string()),
        };
        self.still_held(id, held, came, now)
    }

    /// Lets the slots that a decision holds last another term; when they end now, or `None` if they have ended.
    pub async fn renew(&self, id: Ticket, now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
        let Some(held) = self.held.get(id, What::Slots) else { return Ok(None) };
        let renewed = contained(async { self.store.renew(&held.plan, now).await }).await;
        let until = renewed.unwrap_or_else(|Panicked| {
            self.observed.panicked();
            Err(StoreError::Full)
        })?;
        match until {
            Some(until) => self.held.renew(id, until),
            None => drop(self.held.take(id, What::Slots)),
        }
        Ok(until)
    }

    /// Refunds the charges of a check, as far as they still count; the decision tells what is left. A check that names an
    /// attribute from which rules take their cost refunds units of those rules alone. If the store cannot refund, the decision
    /// is uncounted.
    pub async fn refund(
        &self,
        check: &Check<'_>,
        charged_at: Timestamp,
        now: Timestamp,
    ) -> Result<Decision, Malformed> {
        let mut decision = Decision::free(now);
        let mut plan = Plan::new();
        let mut way = Way::new(&mut plan, &mut decision);
        self.enter(&mut way, check)?;
        self.resolve(&mut way, check)?;
        refund::readable(&way).inspect_err(|_| self.observed.malformed())?;
        refund::keep_what_is_measured(&mut way, check);
        let is_given_back = self.refund_and_read(&mut way, charged_at).await;
        self.settle(&mut way, (check, Asked::ToSee))?;
        // It is given back even if nobody could say what is left.
        if is_given_back && decision.is_uncounted() {
            decision.deciding = None;
        }
        decision.outcome = Outcome::Allow;
        decision.holds = false;
        Ok(decision)
    }

    /// Forgets the counters that such a check is charged to; how many there were.
    pub async fn reset(
        &self,
        check: &Check<'_>,
        now: Timestamp,
    ) -> Result<Result<usize, StoreError>, Malformed> {
        let mut decision = Decision::free(now);
        let mut plan = Plan::new();
        let mut way = Way::new(&mut plan, &mut decision);
        self.enter(&mut way, check)?;
        self.resolve(&mut way, check)?;
        let reset = contained(async { self.store.reset(way.plan, now).await }).await;
        Ok(reset.unwrap_or(Err(StoreError::Full)))
    }

    /// A decision for a check that there is no time for: by the strictest class of its domain.
    pub fn overloaded(&self, check: &Check<'_>, now: Timestamp) -> Result<Decision, Malformed> {
        let mut decision = Decision::free(now);
        let mut plan = Plan::new();
        let mut way = Way::new(&mut plan, &mut decision);
        self.enter(&mut way, check)?;
        way.silence = Silence::Broken(Trouble::Overload);
        self.settle(&mut way, (check, Asked::ToPass))?;
        self.observe(&way);
        Ok(decision)
    }

    fn enter(&self, way: &mut Way<'_>, check: &Check<'_>) -> Result<(), Malformed> {
        check.validate().inspect_err(|_| self.observed.malformed())?;
        way.enter(check.domain, &self.loaded.load(), self.tickets.next());
        if way.decision.domain.is_none() {
            self.observed.unknown_domain(check.domain);
        }
        Ok(())
    }

    /// Match and resolve.
    fn resolve(&self, way: &mut Way<'_>, check: &Check<'_>) -> Result<(), Malformed> {
        let Way { plan, decision, .. } = way;
        let Decision { domain: Some(domain), at, meaning, .. } = &mut **decision else { return Ok(()) };
        let stations = contain(|| {
            let mut matches = Matches::default();
            matching::find_into(check, &domain.domain, &mut matches)?;
            resolve::plan_into(check, &domain.domain, &matches, (*at, plan, meaning))
        });
        match stations {
            Ok(Ok(())) => Ok(()),
            unplanned => self.unplanned(way, unplanned),
        }
    }

    /// A plan that may be half made is asked of nobody.
    #[cold]
    fn unplanned(
        &self,
        way: &mut Way<'_>,
        unplanned: Result<Result<(), Malformed>, Panicked>,
    ) -> Result<(), Malformed> {
        way.silence = Silence::Broken(match unplanned {
            Ok(Err(Malformed::Plan(PlanError::TooManyCharges))) => Trouble::TooManyLimits,
            Ok(other) => {
                self.observed.malformed();
                return other;
            }
            Err(Panicked) => Trouble::Panic,
        });
        way.decision.meaning = Meaning::default();
        way.plan.clear();
        Ok(())
    }

    fn settle(&self, way: &mut Way<'_>, (check, asked): (&Check<'_>, Asked)) -> Result<(), Malformed> {
        if !matches!(way.silence, Silence::NotAsked) {
            return self.settle_silence(way, (check, asked));
        }
        let decision = &mut *way.decision;
        if contain(|| settle::settle(decision)).is_err() {
            self.broke(way, (check, asked));
        }
        Ok(())
    }

    #[cold]
    fn settle_silence(
        &self,
        way: &mut Way<'_>,
        (check, asked): (&Check<'_>, Asked),
    ) -> Result<(), Malformed> {
        let Way { silence, decision, .. } = way;
        self.fell_silent(silence)?;
        let last = Question { resort: &self.last_resort, check, asked };
        if contain(|| settle::settle_silence(decision, silence, &last)).is_err() {
            self.broke(way, (check, asked));
        }
        Ok(())
    }

    #[cold]
    fn broke(&self, way: &mut Way<'_>, (check, asked): (&Check<'_>, Asked)) {
        self.observed.panicked();
        way.begin_again();
        let last = Question { resort: &self.last_resort, check, asked };
        settle::broken(way.decision, Trouble::Panic, &last);
    }

    #[cold]
    fn fell_silent(&self, silence: &Silence) -> Result<(), Malformed> {
        if matches!(silence, Silence::Panicked | Silence::Broken(Trouble::Panic)) {
            self.observed.panicked();
        }
        silence.as_malformed()
    }

    /// Remembers what an admitted check holds, until it is given back or ends; what was paid by one that is refused all the
    /// same, because all of its quotas are over.
    fn keep(&self, way: &Way<'_>) -> Option<Box<Plan>> {
        let Way { plan, decision, .. } = way;
        let Decision { at: now, answer: Some(answer), .. } = &**decision else { return None };
        if decision.holds && !decision.replayed {
            self.keep_slots(paid(plan, answer), decision.id, *now);
            None
        } else if answer.allowed() && !decision.allowed() && !decision.replayed {
            Some(Box::new(paid(plan, answer)))
        } else {
            None
        }
    }

    #[inline(never)]
    fn keep_slots(&self, plan: Plan, id: Ticket, now: Timestamp) {
        let terms = plan.charges().filter_map(|charge| charge.limit.term_us());
        let until = now.plus_us(terms.max().unwrap_or(0));
        self.remember(id, Held { plan, reserved: None, until }, now);
    }

    /// Gives back what the plan says and looks how things stand then; whether it was given back.
    async fn refund_and_read(&self, way: &mut Way<'_>, charged_at: Timestamp) -> bool {
        if way.plan.is_empty() {
            return matches!(way.silence, Silence::NotAsked);
        }
        let now = way.decision.at;
        way.silence = match contained(async { self.store.refund(way.plan, charged_at, now).await }).await {
            Ok(Ok(())) => {
                let free = way.plan.at_no_cost();
                ask(way, |_, now| self.store.read(&free, now)).await;
                return true;
            }
            Ok(Err(error)) => Silence::Failed(error),
            Err(Panicked) => Silence::Panicked,
        };
        false
    }

    /// Gives back what was paid in vain.
    async fn give_back(&self, plan: &Plan, now: Timestamp) {
        let given_back = contained(async { self.store.refund(plan, now, now).await }).await;
        drop((given_back, contained(async { self.store.release(plan, now).await }).await));
    }

    /// The same for a reservation.
    async fn keep_reservation(&self, way: &mut Way<'_>, check: &Check<'_>, hold: Hold) {
        let Way { plan, decision, .. } = way;
        let Decision { at: now, answer: Some(answer), .. } = &**decision else { return };
        if decision.allowed() && !decision.replayed {
            let (plan, until) = (mem::take(&mut **plan), now.plus_us(hold.term_us));
            let reserved = Some(Reserved::new(check, decision.domain(), &decision.meaning.parts));
            self.remember(decision.id, Held { plan, reserved, until }, *now);
        } else if answer.allowed() && !decision.allowed() {
            drop(contained(async { self.store.cancel(decision.id, *now).await }).await);
        }
    }

    /// What could not be given back is still held, so that it can be tried again.
    fn still_held(&self, id: Ticket, held: Held, came: Settled, now: Timestamp) -> Settled {
        if matches!(came, Settled::Failed(_)) {
            self.remember(id, held, now);
        }
        came
    }

    fn remember(&self, id: Ticket, held: Held, now: Timestamp) {
        if !self.held.keep(id, held, now) {
            self.observed.not_kept();
        }
    }

    fn observe(&self, way: &Way<'_>) {
        self.observed.decision(way.decision, way.started.elapsed());
    }
}

/// Asks the store, unless there is nothing to ask.
async fn ask<'w, F>(way: &'w mut Way<'_>, question: impl FnOnce(&'w Plan, Timestamp) -> F)
where
    F: Future<Output = Result<Answer, StoreError>>,
{
    let Way { plan, silence, decision, .. } = way;
    let (plan, decision): (&Plan, &mut Decision) = (plan, decision);
    if plan.is_empty() {
        return;
    }
    let asked = contained(async {
        let mut asked = pin!(question(plan, decision.at));
        poll_fn(|context| {
            match asked.as_mut().poll(context) {
                // There was none: to say so saves looking, and a copy.
                Poll::Ready(Ok(answer)) => mem::forget(decision.answer.replace(answer)),
                Poll::Ready(Err(error)) => *silence = Silence::Failed(error),
                Poll::Pending => return Poll::Pending,
            }
            Poll::Ready(())
        })
        .await;
    });
    if asked.await.is_err() {
        *silence = Silence::Panicked;
    }
}

/// Those charges of a plan that were paid.
fn paid(plan: &Plan, answer: &Answer) -> Plan {
    let mut paid = Plan::new();
    paid.set_ticket(plan.ticket());
    for (_, charge) in
        plan.charges().enumerate().filter(|(index, charge)| answer.paid(*index) && gives_back(charge))
    {
        paid.charge(charge.key, *charge.limit, charge.cost).expect("a part of a plan is a plan");
    }
    paid
}

/// What counts whatever becomes of the check is never given back.
fn gives_back(charge: &Charge<'_>) -> bool {
    charge.cost > 0 && charge.pay == Pay::IfAdmitted
}

fn settled(came: Result<Result<Settlement, StoreError>, Panicked>) -> Settled {
    match came {
        Ok(Ok(Settlement::Settled(_))) => Settled::Done,
        Ok(Ok(Settlement::Gone)) => Settled::Gone,
        Ok(Err(error)) => Settled::Failed(error.to_string()),
        Err(Panicked) => Settled::Failed(Panicked.to_string()),
    }
}

//! The path of a check: [`Engine::begin`] makes its plan, the store answers, [`Engine::finish`] makes the decision.

use std::future::{Future, poll_fn};
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use arc_swap::ArcSwap;
use tidegate_core::{Charge, Pay, Plan, PlanError, Ticket, Timestamp};
use tidegate_rules::Snapshot;
use tidegate_store::{Answer, Done, Store, StoreError};
use tokio::time::timeout;

use crate::check::{Check, Malformed};
use crate::contain::{Panicked, contain, contained};
use crate::decision::{Decision, Trouble};
use crate::flight::FlightLimit;
use crate::held::{Held, HeldPlans};
use crate::last_resort::{Asked, LastResort, Question};
use crate::loaded::Loaded;
use crate::matching::Matches;
use crate::meaning::Meaning;
use crate::observe::Observed;
use crate::pending::{BeginFailure, Pending};
use crate::settle::Silence;
use crate::store_call::{Inquiry, StoreCall, detach};
use crate::tickets::Tickets;
use crate::{matching, resolve, settle};

static UNBOUNDED: FlightLimit = FlightLimit::new(usize::MAX);

/// Decides checks by the rules that are installed.
///
/// ```text
/// begin ─ matching, resolve ─▶ Pending ─ the store ─▶ finish ─ settle, observe ─▶ Decision
/// ```
///
/// Both halves are synchronous; only the store between them may wait. [`check`](Engine::check) goes the whole path.
#[derive(Debug)]
pub struct Engine<S> {
    pub(crate) store: Arc<S>,
    loaded: ArcSwap<Loaded>,
    pub(crate) observed: Observed,
    last_resort: LastResort,
    pub(crate) held: HeldPlans,
    tickets: Tickets,
}

impl<S: Store> Engine<S> {
    /// An engine without rules: everything passes.
    pub fn new(store: S) -> Self {
        Self {
            store: Arc::new(store),
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

    /// How many decisions hold slots or reservations.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// May this request pass? The store is waited for as long as the check's patience lasts.
    pub fn check(
        &self,
        check: &Check<'_>,
        now: Timestamp,
    ) -> impl Future<Output = Result<Decision, Malformed>> + Send {
        self.check_within(check, now, &UNBOUNDED)
    }

    /// The same, unless more checks wait than the limit lets: then the class of the domain decides.
    pub async fn check_within(
        &self,
        check: &Check<'_>,
        now: Timestamp,
        flights: &FlightLimit,
    ) -> Result<Decision, Malformed> {
        match self.try_check(check, now) {
            Ok(decided) => decided,
            Err(pending) => Box::pin(self.wait(pending, check, flights)).await,
        }
    }

    /// The whole path, if the store need not be waited for; otherwise what to [wait](Engine::wait) for.
    ///
    /// Not inlined, so that the pending check is made where it stays: inlined, a check of two rules took 4 622 instructions
    /// and not 4 299 (callgrind, a loop over `Engine::check`).
    #[inline(never)]
    pub fn try_check(
        &self,
        check: &Check<'_>,
        now: Timestamp,
    ) -> Result<Result<Decision, Malformed>, Box<Pending<'_>>> {
        let mut pending = Pending::new(&self.observed, now);
        self.fill(&mut pending, check);
        if !self.try_decide(&mut pending) {
            return Err(Box::new(pending));
        }
        Ok(match self.conclude(&mut pending, check) {
            Ok(()) => Ok(pending.decision),
            Err(malformed) => Err(malformed),
        })
    }

    /// Goes on with a check for which the store has to be called.
    pub async fn wait(
        &self,
        mut pending: Box<Pending<'_>>,
        check: &Check<'_>,
        flights: &FlightLimit,
    ) -> Result<Decision, Malformed> {
        let Some(_permit) = flights.acquire() else {
            return self.finish_overloaded(*pending, check);
        };
        self.ask(&mut pending, check, Inquiry::Decide).await;
        self.finish(*pending, check)
    }

    /// The first half: match and resolve. What is wrong with the check is said by [`finish`](Engine::finish).
    ///
    /// A pending check is large. It stays where `begin` made it, and what fills it takes it by reference.
    #[inline]
    pub fn begin(&self, check: &Check<'_>, now: Timestamp) -> Pending<'_> {
        let mut pending = Pending::new(&self.observed, now);
        self.fill(&mut pending, check);
        pending
    }

    fn fill(&self, pending: &mut Pending<'_>, check: &Check<'_>) {
        match check.validate() {
            Ok(()) => {
                self.enter(pending, check);
                self.resolve(pending, check);
            }
            Err(malformed) => self.malformed(pending, malformed),
        }
    }

    /// Has the store answer, if it need not be waited for. `false` if it must be called, and then nothing was charged.
    #[inline]
    pub fn try_decide(&self, pending: &mut Pending<'_>) -> bool {
        let Pending { plan, decision, error, .. } = pending;
        if plan.is_empty() {
            return true;
        }
        // Put in place inside of the closure: an answer is large, and its way out would be a copy.
        let answered = contain(|| match self.store.try_decide(plan, decision.at) {
            Some(Ok(answer)) => {
                decision.put_answer(answer);
                true
            }
            Some(Err(failed)) => {
                *error = Some(failed);
                true
            }
            None => false,
        });
        answered.unwrap_or_else(|Panicked| {
            *error = Some(StoreError::Panicked);
            true
        })
    }

    /// The second half: settles what the store answered to the plan of `begin`, and counts the decision. Without an answer
    /// the class decides.
    #[inline]
    pub fn finish(&self, mut pending: Pending<'_>, check: &Check<'_>) -> Result<Decision, Malformed> {
        self.conclude(&mut pending, check)?;
        Ok(pending.decision)
    }

    fn conclude(&self, pending: &mut Pending<'_>, check: &Check<'_>) -> Result<(), Malformed> {
        self.settle(pending, (check, Asked::ToPass))?;
        self.keep(pending);
        self.observe(pending);
        Ok(())
    }

    /// The second half of a check that there is no time for: the strictest class of its domain decides.
    pub(crate) fn finish_overloaded(
        &self,
        mut pending: Pending<'_>,
        check: &Check<'_>,
    ) -> Result<Decision, Malformed> {
        if pending.failure.is_none() {
            pending.failure = Some(BeginFailure::Trouble(Trouble::Overload));
        }
        pending.plan.clear();
        self.finish(pending, check)
    }

    /// Calls the store about the plan, and puts its answer in place.
    pub(crate) async fn ask(&self, pending: &mut Pending<'_>, check: &Check<'_>, inquiry: Inquiry) {
        if pending.plan.is_empty() {
            return;
        }
        match self.call(pending, check, inquiry).await {
            Ok(Done::Answer(answer)) => pending.decision.put_answer(answer),
            Ok(_) => pending.error = Some(StoreError::OtherAct),
            Err(error) => pending.error = Some(error),
        }
    }

    /// Calls the store as long as the caller waits. A call that takes longer runs to its end by itself. With no time left
    /// the store is not called.
    pub(crate) async fn call(
        &self,
        pending: &mut Pending<'_>,
        check: &Check<'_>,
        inquiry: Inquiry,
    ) -> Result<Done, StoreError> {
        let left = check.patience.map(|patience| patience.saturating_sub(pending.started.elapsed()));
        if left == Some(Duration::ZERO) {
            return Err(StoreError::Late);
        }
        let plan = mem::take(&mut pending.plan);
        let mut call = StoreCall::new(&self.store, inquiry, plan, pending.now());
        // A store in memory is done at the first poll: it needs no timer, and no runtime that has one.
        let polled = poll_fn(|context| Poll::Ready(Pin::new(&mut call).poll(context))).await;
        let called = match (polled, left) {
            (Poll::Ready(called), _) => Ok(called),
            (Poll::Pending, None) => Ok(call.await),
            (Poll::Pending, Some(left)) => timeout(resolve::decide_within(left), call).await,
        };
        let (plan, done) = called.map_err(|_| StoreError::Late)?;
        pending.plan = plan;
        done
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "every check comes here once")]
    fn enter(&self, pending: &mut Pending<'_>, check: &Check<'_>) {
        pending.enter(check.domain, &self.loaded.load(), self.tickets.next());
        if pending.decision.domain.is_none() {
            self.observed.unknown_domain(check.domain);
        }
    }

    /// Begins without a plan: what is asked next needs the domain alone.
    pub(crate) fn begin_in_domain(&self, check: &Check<'_>, now: Timestamp) -> Pending<'_> {
        let mut pending = Pending::new(&self.observed, now);
        match check.validate() {
            Ok(()) => self.enter(&mut pending, check),
            Err(malformed) => self.malformed(&mut pending, malformed),
        }
        pending
    }

    #[cold]
    fn malformed(&self, pending: &mut Pending<'_>, malformed: Malformed) {
        self.observed.malformed();
        pending.failure = Some(BeginFailure::Malformed(Box::new(malformed)));
    }

    /// Match and resolve.
    fn resolve(&self, pending: &mut Pending<'_>, check: &Check<'_>) {
        let Pending { plan, decision, .. } = pending;
        let Decision { domain: Some(domain), at, meaning, .. } = decision else { return };
        let stations = contain(|| {
            let mut matches = Matches::default();
            matching::find_into(check, &domain.domain, &mut matches)?;
            resolve::plan_into(check, &domain.domain, &matches, (*at, plan, meaning))
        });
        if !matches!(stations, Ok(Ok(()))) {
            self.unresolved(pending, stations);
        }
    }

    /// A plan that may be half made is asked of nobody.
    #[cold]
    fn unresolved(&self, pending: &mut Pending<'_>, stations: Result<Result<(), Malformed>, Panicked>) {
        match stations {
            Ok(Ok(())) => {}
            Ok(Err(Malformed::Plan(PlanError::TooManyCharges))) => {
                pending.failure = Some(BeginFailure::Trouble(Trouble::TooManyLimits));
            }
            Ok(Err(malformed)) => self.malformed(pending, malformed),
            Err(Panicked) => pending.failure = Some(BeginFailure::Trouble(Trouble::Panic)),
        }
        pending.decision.meaning = Meaning::default();
        pending.plan.clear();
    }

    /// Makes the decision, for all acts that ask about a check.
    #[inline]
    pub(crate) fn settle(
        &self,
        pending: &mut Pending<'_>,
        (check, asked): (&Check<'_>, Asked),
    ) -> Result<(), Malformed> {
        pending.disarm();
        let is_unanswered = pending.decision.answer.is_none() && !pending.plan.is_empty();
        if is_unanswered || pending.failure.is_some() || pending.error.is_some() {
            return self.settle_silence(pending, (check, asked));
        }
        let decision = &mut pending.decision;
        if contain(|| settle::settle(decision)).is_err() {
            self.panicked(pending, (check, asked));
        }
        Ok(())
    }

    #[cold]
    fn settle_silence(
        &self,
        pending: &mut Pending<'_>,
        (check, asked): (&Check<'_>, Asked),
    ) -> Result<(), Malformed> {
        let silence = match (pending.failure.take(), &pending.error) {
            (Some(BeginFailure::Malformed(malformed)), _) => return Err(*malformed),
            (Some(BeginFailure::Trouble(trouble)), _) => Silence::NoPlan(trouble),
            (None, Some(StoreError::IdempotencyConflict)) => return Err(Malformed::IdempotencyConflict),
            (None, Some(StoreError::Panicked)) => Silence::Store(Trouble::Panic),
            (None, _) => Silence::Store(Trouble::Store),
        };
        if silence.is_panic() {
            self.observed.panicked();
        }
        let (decision, last) = (&mut pending.decision, Question { resort: &self.last_resort, check, asked });
        if contain(|| settle::settle_silence(decision, silence, &last)).is_err() {
            self.panicked(pending, (check, asked));
        }
        Ok(())
    }

    #[cold]
    fn panicked(&self, pending: &mut Pending<'_>, (check, asked): (&Check<'_>, Asked)) {
        self.observed.panicked();
        pending.clear_decision();
        let last = Question { resort: &self.last_resort, check, asked };
        settle::without_plan(&mut pending.decision, Trouble::Panic, &last);
    }

    /// Remembers what an admitted check holds, until it is given back or ends. What was paid by a check that is refused
    /// all the same, because all of its quotas are over, is given back.
    #[inline]
    fn keep(&self, pending: &Pending<'_>) {
        let Pending { plan, decision, .. } = pending;
        let Decision { at: now, answer: Some(answer), .. } = decision else { return };
        if decision.replayed {
            return;
        }
        if decision.holds {
            self.keep_slots(paid(plan, answer), decision.id, *now);
        } else if answer.allowed() && !decision.allowed() {
            self.give_back(paid(plan, answer), *now);
        }
    }

    #[inline(never)]
    fn keep_slots(&self, plan: Plan, id: Ticket, now: Timestamp) {
        let terms = plan.charges().filter_map(|charge| charge.limit.term_us());
        let until = now.plus_us(terms.max().unwrap_or(0));
        self.remember(id, Held { plan, reserved: None, until }, now);
    }

    /// Gives back what was paid in vain; the caller does not wait for it.
    #[cold]
    fn give_back(&self, plan: Plan, now: Timestamp) {
        let store = Arc::clone(&self.store);
        detach(async move {
            // A refund of slots would end those that end first, whoever holds them.
            let units = part(&plan, |charge| charge.limit.term_us().is_none());
            drop(contained(async { store.refund(&units, now, now).await }).await);
            drop(contained(async { store.release(&plan, now).await }).await);
        });
    }

    pub(crate) fn remember(&self, id: Ticket, held: Held, now: Timestamp) {
        if !self.held.keep(id, held, now) {
            self.observed.not_kept();
        }
    }

    #[inline]
    pub(crate) fn observe(&self, pending: &Pending<'_>) {
        self.observed.decision(&pending.decision, pending.started.elapsed());
    }
}

/// Those charges of a plan that were paid and can be given back.
fn paid(plan: &Plan, answer: &Answer) -> Plan {
    let mut index = 0..;
    part(plan, |charge| index.next().is_some_and(|index| answer.paid(index)) && gives_back(charge))
}

/// Those charges of a plan, under its ticket.
fn part(plan: &Plan, mut takes: impl FnMut(&Charge<'_>) -> bool) -> Plan {
    let mut part = Plan::new();
    part.set_ticket(plan.ticket());
    for charge in plan.charges().filter(|charge| takes(charge)) {
        part.charge(charge.key, *charge.limit, charge.cost).expect("a part of a plan is a plan");
    }
    part
}

/// What counts whatever becomes of the check is never given back.
fn gives_back(charge: &Charge<'_>) -> bool {
    charge.cost > 0 && charge.pay == Pay::IfAdmitted
}

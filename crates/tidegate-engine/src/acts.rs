//! The acts beside the check: each carries the charges of a check, or of an earlier decision, to the store.

use std::mem;
use std::sync::Arc;

use tidegate_core::{Ticket, Timestamp};
use tidegate_store::{Hold, Settlement, Store, StoreError};

use crate::check::{Check, Malformed};
use crate::contain::{Panicked, contained};
use crate::decision::{Decision, Outcome};
use crate::engine::Engine;
use crate::held::{Held, What};
use crate::last_resort::Asked;
use crate::pending::{BeginFailure, Pending};
use crate::refund;
use crate::reserved::{Reserved, Used};
use crate::store_call::{Inquiry, detach};

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
    /// Would it pass? Nothing is charged.
    pub async fn peek(&self, check: &Check<'_>, now: Timestamp) -> Result<Decision, Malformed> {
        let mut pending = self.begin(check, now);
        self.ask(&mut pending, check, Inquiry::Read).await;
        self.settle(&mut pending, (check, Asked::ToSee))?;
        Ok(Decision { holds: false, ..pending.decision })
    }

    /// May it pass, at a cost that is settled later under the decision's id?
    pub async fn reserve(
        &self,
        check: &Check<'_>,
        hold: Hold,
        now: Timestamp,
    ) -> Result<Decision, Malformed> {
        let mut pending = self.begin(check, now);
        self.ask(&mut pending, check, Inquiry::Reserve(hold)).await;
        self.settle(&mut pending, (check, Asked::ToPass))?;
        self.keep_reservation(&mut pending, check, hold);
        self.observe(&pending);
        Ok(pending.decision)
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
            Err(StoreError::Panicked)
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
        let mut pending = self.begin(check, now);
        refund::readable(&pending).inspect_err(|_| {
            self.observed.malformed();
            pending.disarm();
        })?;
        refund::keep_what_is_measured(&mut pending, check);
        let refunded = self.call_refund(&mut pending, check, charged_at).await;
        let is_given_back = refunded.is_ok() && pending.failure.is_none();
        match refunded {
            Ok(()) => {
                pending.plan = pending.plan.at_no_cost();
                self.ask(&mut pending, check, Inquiry::Read).await;
            }
            Err(error) => pending.error = Some(error),
        }
        self.settle(&mut pending, (check, Asked::ToSee))?;
        let mut decision = pending.decision;
        // It is given back even if the store could not say what is left.
        if is_given_back && decision.is_uncounted() {
            decision.deciding = None;
        }
        Ok(Decision { outcome: Outcome::Allow, holds: false, ..decision })
    }

    /// Forgets the counters that such a check is charged to; how many there were.
    pub async fn reset(
        &self,
        check: &Check<'_>,
        now: Timestamp,
    ) -> Result<Result<usize, StoreError>, Malformed> {
        let mut pending = self.begin(check, now);
        pending.disarm();
        if let Some(BeginFailure::Malformed(malformed)) = pending.failure.take() {
            return Err(*malformed);
        }
        let reset = contained(async { self.store.reset(&pending.plan, now).await }).await;
        Ok(reset.unwrap_or(Err(StoreError::Panicked)))
    }

    /// A decision for a check that there is no time for: by the strictest class of its domain.
    pub fn overloaded(&self, check: &Check<'_>, now: Timestamp) -> Result<Decision, Malformed> {
        self.finish_overloaded(self.begin_in_domain(check, now), check)
    }

    async fn call_refund(
        &self,
        pending: &mut Pending<'_>,
        check: &Check<'_>,
        charged_at: Timestamp,
    ) -> Result<(), StoreError> {
        if pending.plan.is_empty() {
            return Ok(());
        }
        self.call(pending, check, Inquiry::Refund(charged_at)).await.map(drop)
    }

    /// Remembers an admitted reservation under its id. One that is refused all the same is cancelled.
    fn keep_reservation(&self, pending: &mut Pending<'_>, check: &Check<'_>, hold: Hold) {
        let Pending { plan, decision, .. } = pending;
        let Decision { at: now, answer: Some(answer), .. } = &*decision else { return };
        if decision.allowed() && !decision.replayed {
            let (plan, until) = (mem::take(plan), now.plus_us(hold.term_us));
            let reserved = Some(Reserved::new(check, decision.domain(), &decision.meaning.parts));
            self.remember(decision.id, Held { plan, reserved, until }, *now);
        } else if answer.allowed() && !decision.allowed() {
            let (store, id, now) = (Arc::clone(&self.store), decision.id, *now);
            detach(async move { drop(store.cancel(id, now).await) });
        }
    }

    /// What could not be given back is still held, so that it can be tried again.
    fn still_held(&self, id: Ticket, held: Held, came: Settled, now: Timestamp) -> Settled {
        if matches!(came, Settled::Failed(_)) {
            self.remember(id, held, now);
        }
        came
    }
}

fn settled(came: Result<Result<Settlement, StoreError>, Panicked>) -> Settled {
    match came {
        Ok(Ok(Settlement::Settled(_))) => Settled::Done,
        Ok(Ok(Settlement::Gone)) => Settled::Gone,
        Ok(Err(error)) => Settled::Failed(error.to_string()),
        Err(Panicked) => Settled::Failed(Panicked.to_string()),
    }
}

//! A slot that is held: giving it back is `Drop` and cannot be forgotten.

use tidegate_core::Plan;

use crate::clock::{Clock, SystemClock};
use crate::limiter::Limiter;

/// Holds the slots that [`Limiter::enter`] took, until it is dropped.
#[derive(Debug)]
#[must_use = "the slot is given back as soon as this is dropped"]
pub struct Guard<C: Clock = SystemClock> {
    limiter: Limiter<C>,
    /// `None` if no limit of the plan holds anything.
    held: Option<Box<Plan>>,
}

impl<C: Clock> Guard<C> {
    pub(crate) fn new(limiter: Limiter<C>, plan: Plan) -> Self {
        let holds = plan.charges().any(|charge| charge.limit.term_us().is_some());
        Self { limiter, held: holds.then(|| Box::new(plan)) }
    }

    /// Lets the slots last another term from now. False if one of them had ended, so that others may be inside in its
    /// place: the limit's term is too short for the work, or renewal came too late.
    pub fn renew(&self) -> bool {
        let inner = &self.limiter.inner;
        self.held.as_ref().is_none_or(|plan| inner.store.renew_now(plan, inner.clock.now()).is_some())
    }
}

impl<C: Clock> Drop for Guard<C> {
    fn drop(&mut self) {
        if let Some(plan) = &self.held {
            let inner = &self.limiter.inner;
            inner.store.release_now(plan, inner.clock.now());
        }
    }
}

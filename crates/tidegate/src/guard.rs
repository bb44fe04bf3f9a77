//! A slot that is held: giving it back is `Drop` and cannot be forgotten.

use tidegate_core::{Plan, Timestamp};

use crate::clock::{Clock, SystemClock};
use crate::limiter::Limiter;

/// Holds the slots that [`Limiter::enter`] took, until it is dropped.
#[derive(Debug)]
#[must_use = "the slot is given back as soon as this is dropped"]
pub struct Guard<C: Clock = SystemClock> {
    limiter: Limiter<C>,
    /// `None` if no limit of the plan holds anything.
    held: Option<Box<Plan>>,
    /// When half of the shortest term will have gone by.
    renew_at: Timestamp,
}

impl<C: Clock> Guard<C> {
    pub(crate) fn new(limiter: Limiter<C>, plan: Plan, now: Timestamp) -> Self {
        let renew_at = half_term_us(&plan).map(|half_us| now.plus_us(half_us));
        Self { limiter, held: renew_at.map(|_| Box::new(plan)), renew_at: renew_at.unwrap_or_default() }
    }

    /// [Renews](Guard::renew) the slots if half of their term has gone by: cheap enough to call at every sign of life.
    /// False if one of them had ended.
    pub fn renew_if_due(&mut self) -> bool {
        let now = self.limiter.inner.clock.now();
        match self.held.as_deref().and_then(half_term_us) {
            Some(half_us) if now >= self.renew_at => {
                self.renew_at = now.plus_us(half_us);
                self.renew()
            }
            _ => true,
        }
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

/// Half of the shortest term among the plan's slots; `None` if it holds none.
fn half_term_us(plan: &Plan) -> Option<u64> {
    plan.charges().filter_map(|charge| charge.limit.term_us()).min().map(|term_us| term_us / 2)
}

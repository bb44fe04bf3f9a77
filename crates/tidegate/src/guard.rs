//! A slot that is held: giving it back is `Drop` and cannot be forgotten.

use std::time::Duration;

use tidegate_core::Plan;

use crate::clock::{Clock, SystemClock};
use crate::limiter::Limiter;

/// Holds the slots that [`Limiter::enter`] took, until it is dropped.
#[derive(Debug)]
#[must_use = "the slot is given back as soon as this is dropped"]
pub struct Guard<C: Clock = SystemClock> {
    limiter: Limiter<C>,
    plan: Plan,
    delay_us: u64,
}

impl<C: Clock> Guard<C> {
    pub(crate) fn new(limiter: Limiter<C>, plan: Plan, delay_us: u64) -> Self {
        Self { limiter, plan, delay_us }
    }

    /// Lets the slots last another term from now. False if one of them had ended, so that others may be inside in its
    /// place: the limit's term is too short for the work, or renewal came too late.
    pub fn renew(&self) -> bool {
        let now = self.limiter.inner.clock.now();
        self.limiter.inner.store.renew_now(&self.plan, now).is_some()
    }

    /// How long to wait before going in, if one of the rules shapes; zero otherwise.
    pub fn delay(&self) -> Duration {
        Duration::from_micros(self.delay_us)
    }
}

impl<C: Clock> Drop for Guard<C> {
    fn drop(&mut self) {
        let now = self.limiter.inner.clock.now();
        self.limiter.inner.store.release_now(&self.plan, now);
    }
}

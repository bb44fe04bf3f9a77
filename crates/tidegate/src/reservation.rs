//! An estimate that was charged and waits for the truth.

use tidegate_core::{Ticket, Verdict};
use tidegate_store::Settlement;

use crate::Error;
use crate::clock::{Clock, SystemClock};
use crate::limiter::Limiter;

/// What [`Limiter::reserve`] charged. Settle it with [`commit`](Reservation::commit) or
/// [`cancel`](Reservation::cancel); if it is dropped instead, it ends as its [`Hold`](crate::Hold) says.
#[derive(Debug)]
#[must_use = "an unsettled reservation stays spent"]
pub struct Reservation<C: Clock = SystemClock> {
    limiter: Limiter<C>,
    ticket: Ticket,
    charges: usize,
}

/// How a settlement left the counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// Done. The debt is by how much the largest of the limits is now exceeded, because more was used than reserved.
    Done {
        /// Units past the limit.
        debt: u64,
    },
    /// The reservation had ended before; nothing was changed.
    Ended,
}

impl<C: Clock> Reservation<C> {
    pub(crate) fn new(limiter: Limiter<C>, ticket: Ticket, charges: usize) -> Self {
        Self { limiter, ticket, charges }
    }

    /// Settles at what it really cost, the same for each ask.
    pub fn commit(self, cost: u64) -> Result<Settled, Error> {
        let costs = vec![cost; self.charges];
        self.commit_each(&costs)
    }

    /// Settles at what it really cost, one number for each ask.
    pub fn commit_each(self, costs: &[u64]) -> Result<Settled, Error> {
        let inner = &self.limiter.inner;
        Ok(settled(&inner.store.commit_now(self.ticket, costs, inner.clock.now())?))
    }

    /// Gives everything back.
    pub fn cancel(self) -> Settled {
        let inner = &self.limiter.inner;
        settled(&inner.store.cancel_now(self.ticket, inner.clock.now()))
    }
}

fn settled(settlement: &Settlement) -> Settled {
    match settlement {
        Settlement::Settled(verdicts) => {
            Settled::Done { debt: verdicts.iter().map(|Verdict { debt, .. }| *debt).max().unwrap_or(0) }
        }
        Settlement::Gone => Settled::Ended,
    }
}

//! The store's word on one charge.

/// What became of one charge: may it pass, and what is left of its limit.
///
/// `remaining`, `debt` and `reset_after_us` describe the counter as the answer leaves it: after the charge if it
/// was made, untouched if it was not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Allowed, delayed or refused.
    pub outcome: Outcome,
    /// The most units that can ever be available at once: the burst, the window's amount, the number of slots.
    pub limit: u64,
    /// Units that the next charge may take at this instant.
    pub remaining: u64,
    /// Units charged past the limit: by a commit of more than was reserved, or because the limit was lowered.
    pub debt: u64,
    /// Time until the whole limit is available again if nothing else is charged.
    pub reset_after_us: u64,
    /// Of an allowed charge, the time until more units than `remaining` are available if nothing else is charged; 0 if
    /// nothing is used. 0 of all others: see [`Limit::more_after_us`](crate::Limit::more_after_us).
    pub next_after_us: u64,
}

/// May the charge pass?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It may pass now.
    Allowed,
    /// It may pass, but not before this time has gone by (a leaky bucket that shapes).
    Delayed {
        /// How long to hold the request back.
        by_us: u64,
    },
    /// It may not pass.
    Refused(Retry),
}

/// When a refused charge is worth repeating.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// The earliest instant at which the same charge passes if nothing else happens, as microseconds from now.
    After(u64),
    /// No later than that many microseconds from now, and usually sooner: slots are mostly given back before they end.
    Within(u64),
    /// Never: the cost is more than the whole limit.
    Never,
}

impl Verdict {
    /// Whether the charge may pass, now or after a delay.
    pub const fn allowed(&self) -> bool {
        self.outcome.allowed()
    }

    /// Units that count against the limit at this instant, past it included.
    pub const fn used(&self) -> u64 {
        self.limit.saturating_sub(self.remaining).saturating_add(self.debt)
    }

    /// How long the caller of a refused charge should wait; `None` if it was allowed or can never pass.
    pub const fn retry_after_us(&self) -> Option<u64> {
        match self.outcome {
            Outcome::Refused(Retry::After(us) | Retry::Within(us)) => Some(us),
            _ => None,
        }
    }

    /// How long an allowed request should be held back; 0 for most.
    pub const fn delay_us(&self) -> u64 {
        match self.outcome {
            Outcome::Delayed { by_us } => by_us,
            _ => 0,
        }
    }
}

impl crate::Limit {
    /// The time until a charge finds more of this limit than the one of that verdict: enough for the same charge if it was
    /// refused, one unit more than `remaining` otherwise. `None` if it can never pass.
    pub fn more_after_us(&self, verdict: &Verdict) -> Option<u64> {
        match verdict.outcome {
            Outcome::Refused(Retry::After(us) | Retry::Within(us)) => Some(us),
            Outcome::Refused(Retry::Never) => None,
            // Another version of a store's scripts does not tell it.
            Outcome::Allowed if verdict.next_after_us == 0 => Some(verdict.reset_after_us),
            Outcome::Allowed => Some(verdict.next_after_us),
            Outcome::Delayed { .. } => Some(self.drained_after_us(verdict)),
        }
    }
}

impl Outcome {
    /// Whether the charge may pass, now or after a delay.
    pub const fn allowed(&self) -> bool {
        !matches!(self, Self::Refused(_))
    }
}

/// What a counter holds at an instant, without asking anything of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    /// Units that count against the limit.
    pub(crate) used: u64,
    /// When nothing counts any more, in microseconds since the epoch.
    pub(crate) reset_at_us: u64,
}

impl Standing {
    pub(crate) const UNUSED: Self = Self { used: 0, reset_at_us: 0 };
}

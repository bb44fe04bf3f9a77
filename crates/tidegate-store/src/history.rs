//! Judges recorded decisions after the fact: replays them through core and reports the first that breaks a bound.

mod replay;
mod group;

use tidegate_core::{Plan, Timestamp};

use crate::contract::Answer;
use replay::Replay;

/// How far a store may stray from core: nothing for an exact one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// Units that may be admitted past a limit, all charges together.
    pub over: u64,
    /// Units that may still be left of a limit when it refuses.
    pub early: u64,
}

/// Something that a store did.
#[derive(Clone, Debug)]
pub struct Event {
    /// The instant that the store was given.
    pub now: Timestamp,
    /// The charges that it was given.
    pub plan: Plan,
    /// What it was asked, and its answer.
    pub what: What,
}

/// What a store was asked, and its answer.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[expect(clippy::large_enum_variant, reason = "nearly every event of a history is a decision")]
pub enum What {
    /// [`crate::Store::decide`]
    Decided(Answer),
    /// [`crate::Store::refund`]
    Refunded {
        /// When the units were charged.
        charged_at: Timestamp,
    },
    /// [`crate::Store::release`]
    Released,
    /// [`crate::Store::renew`]
    Renewed,
    /// [`crate::Store::reset`]
    Reset,
}

/// What is known of the order of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// They are listed as they happened. An exact store's verdicts must be core's to the digit.
    Sequence,
    /// Those of one instant may have happened in any order, as under threads. Whatever the order was, decisions only
    /// fill counters: each charge that had room had it before that instant, each refusal must be one after all that was
    /// paid in it, and what refusals paid comes to the same total, because admissions end at the limit, and refusals at
    /// twice the limit. Events other than decisions, and changes of a limit's numbers, need instants of their own.
    Instants,
}

/// What a history held, if no bound was broken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Decisions, replays left out.
    pub decisions: usize,
    /// Those whose first group passed.
    pub admitted: usize,
}

/// The first event that breaks a bound.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("event {event} at {} us, charge {charge}: {breach}", now.as_micros())]
pub struct Violation {
    /// Its place in the history.
    pub event: usize,
    /// The charge in its plan.
    pub charge: usize,
    /// Its instant.
    pub now: Timestamp,
    /// What is wrong.
    pub breach: Breach,
}

/// How a decision breaks a bound.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Breach {
    /// Admitted past the limit by more than claimed.
    #[error("admitted {by} units past a limit of {limit}")]
    Over {
        /// Units past the limit.
        by: u64,
        /// The limit.
        limit: u64,
    },
    /// Refused while every limit of the group had room.
    #[error("refused although {left} units would have been left of a limit of {limit}")]
    Early {
        /// Units that would have been left of the tightest limit.
        left: u64,
        /// The limit.
        limit: u64,
    },
    /// An exact store gave another verdict than core.
    #[error("the verdict is {got:?} and should be {expected:?}")]
    Different {
        /// What core says.
        expected: Box<tidegate_core::Verdict>,
        /// What the store said.
        got: Box<tidegate_core::Verdict>,
    },
    /// Paid although it was not due, or not paid although it was: see [`Pay`](tidegate_core::Pay).
    #[error("a charge was not paid as its group and its way of paying say")]
    NotWhole,
    /// A charge that is always paid was not, although its debt was not at its bound.
    #[error("a refusal was not paid although {left} units were left of twice a limit of {limit}")]
    Unpaid {
        /// Units that refusals could still charge.
        left: u64,
        /// The limit.
        limit: u64,
    },
}

/// Follows a store while it works, event by event as they happen, without keeping them.
#[derive(Debug)]
pub struct Follower {
    replay: Replay,
    events: usize,
}

impl Follower {
    /// Knows of nothing yet.
    pub fn new(claims: Claims) -> Self {
        Self { replay: Replay::new(claims), events: 0 }
    }

    /// Takes the next event; an error if it breaks a bound.
    pub fn event(&mut self, event: &Event) -> Result<(), Violation> {
        let place = self.events;
        self.events += 1;
        let judged = self.replay.sequence(std::slice::from_ref(event));
        judged.map_err(|violation| Violation { event: place, ..violation })
    }

    /// What it has seen so far.
    pub fn checked(&self) -> Checked {
        self.replay.checked()
    }
}

/// Replays the events and reports the first that breaks a bound.
pub fn check(events: &[Event], order: Order, claims: Claims) -> Result<Checked, Violation> {
    let mut replay = Replay::new(claims);
    match order {
        Order::Sequence => replay.sequence(events)?,
        Order::Instants => replay.instants(events)?,
    }
    Ok(replay.checked())
}

#[cfg(test)]
mod tests;

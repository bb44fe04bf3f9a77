//! Our word to the caller.

use std::time::Duration;

use tidegate_core::{Timestamp, Verdict};
use tidegate_store::Answer;

use crate::rule::{Rule, Rules};

/// May the request pass, and what is left of the limits that it met?
#[derive(Clone, Debug)]
#[must_use = "a decision that nobody reads limits nothing"]
pub struct Decision<'a> {
    rules: Rules<'a>,
    answer: Answer,
    at: Timestamp,
}

/// What came of asking for something that has to be held: a slot, a reservation.
#[derive(Debug)]
#[must_use = "what was admitted is held only as long as this lives"]
pub struct Admission<'a, T> {
    decision: Decision<'a>,
    held: Option<T>,
}

impl<'a> Decision<'a> {
    pub(crate) fn new(rules: Rules<'a>, answer: Answer, at: Timestamp) -> Self {
        Self { rules, answer, at }
    }

    /// The verdict of a decision on one rule.
    pub(crate) fn only_verdict(&self) -> Verdict {
        self.answer.verdicts[0]
    }

    /// When it was decided: a [refund](crate::Limiter::refund) wants to know.
    pub fn at(&self) -> Timestamp {
        self.at
    }

    /// Whether the request may pass (after [`delay`](Decision::delay), if there is one).
    pub fn allowed(&self) -> bool {
        self.answer.allowed()
    }

    /// Each rule with the verdict on it, in the order in which they were asked.
    pub fn verdicts(&self) -> impl ExactSizeIterator<Item = (&'a Rule, &Verdict)> {
        self.rules.iter().copied().zip(&self.answer.verdicts)
    }

    /// The names of the rules that refused.
    pub fn denied_by(&self) -> impl Iterator<Item = &'a str> {
        self.verdicts().filter(|(_, verdict)| !verdict.allowed()).map(|(rule, _)| rule.name())
    }

    /// How many units the next request may take: the least that any of the limits has left.
    pub fn remaining(&self) -> u64 {
        self.answer.verdicts.iter().map(|verdict| verdict.remaining).min().unwrap_or(u64::MAX)
    }

    /// When the same request is worth repeating: as soon as every limit that refused it may admit it. `None` if it was
    /// allowed, or if it can never pass because it costs more than a whole limit.
    pub fn retry_after(&self) -> Option<Duration> {
        let refused = || self.answer.verdicts.iter().filter(|verdict| !verdict.allowed());
        if refused().any(|verdict| verdict.retry_after_us().is_none()) {
            return None;
        }
        refused().filter_map(Verdict::retry_after_us).max().map(Duration::from_micros)
    }

    /// Whether the request costs more than a whole limit, so that no waiting helps.
    pub fn can_never_pass(&self) -> bool {
        self.answer.verdicts.iter().any(|verdict| !verdict.allowed() && verdict.retry_after_us().is_none())
    }

    /// When every limit is whole again if nothing else is charged.
    pub fn reset_after(&self) -> Duration {
        let longest_us = self.answer.verdicts.iter().map(|verdict| verdict.reset_after_us).max();
        Duration::from_micros(longest_us.unwrap_or(0))
    }

    /// How long to hold the request back before it passes, if a rule shapes; zero otherwise.
    pub fn delay(&self) -> Duration {
        Duration::from_micros(self.answer.delay_us())
    }
}

impl<'a, T> Admission<'a, T> {
    pub(crate) fn new(decision: Decision<'a>, held: Option<T>) -> Self {
        Self { decision, held }
    }

    /// The decision, whether it was a yes or a no.
    pub fn decision(&self) -> &Decision<'a> {
        &self.decision
    }

    /// What was asked for, or `None` if it was refused.
    pub fn admitted(self) -> Option<T> {
        self.held
    }

    /// What was asked for, or the decision that refused it.
    #[expect(
        clippy::result_large_err,
        reason = "a refusal is the hot path of an attack and should not allocate"
    )]
    pub fn into_result(self) -> Result<T, Decision<'a>> {
        self.held.ok_or(self.decision)
    }

    /// The decision, and what was asked for unless it was refused.
    pub fn into_parts(self) -> (Decision<'a>, Option<T>) {
        (self.decision, self.held)
    }
}

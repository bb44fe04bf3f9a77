//! Limits of descriptor trees as envoyproxy/ratelimit reports them, where the store was asked about another limit.

use tidegate_core::{Outcome, Retry, Verdict};

use crate::decision::Decision;
use crate::meaning::{Kind, Part};

/// Brings the verdicts on limits of descriptor trees to what their descriptors ask.
#[inline(never)]
pub(super) fn settle(decision: &mut Decision) {
    let Some(mut answer) = decision.answer.take() else { return };
    for (place, part) in decision.meaning.parts.iter().enumerate() {
        let paid = answer.paid(place);
        let Some(verdict) = answer.verdicts.get_mut(place).filter(|_| part.is_of_tree()) else { continue };
        let own = decision.amount_of(part);
        if own != verdict.limit {
            *verdict = under(own, verdict, if paid { 0 } else { part.cost });
        }
        if part.kind == Kind::Peek && verdict.debt > 0 {
            verdict.outcome = Outcome::Refused(Retry::After(verdict.reset_after_us));
        }
    }
    decision.answer = Some(answer);
}

/// How a counter stands under a limit of `own` units, told by its verdict under another limit. A cost that was not charged
/// yet has to fit.
fn under(own: u64, verdict: &Verdict, cost: u64) -> Verdict {
    let used = if own == 0 { 0 } else { verdict.used() };
    let fits = used.saturating_add(cost) <= own;
    let outcome = match verdict.outcome {
        Outcome::Refused(_) if fits => Outcome::Allowed,
        Outcome::Allowed if !fits => Outcome::Refused(Retry::After(verdict.reset_after_us)),
        outcome => outcome,
    };
    let (remaining, debt) = (own.saturating_sub(used), used.saturating_sub(own));
    Verdict { outcome, limit: own, remaining, debt, ..*verdict }
}

impl Decision {
    /// The amount of a part's own limit, whatever the plan held it to.
    fn amount_of(&self, part: &Part) -> u64 {
        let made = part.made.and_then(|place| self.meaning.made.get(usize::from(place)));
        match (part.kind, made) {
            (Kind::ZeroLimit, _) => 0,
            (_, Some(limit)) => limit.capacity(),
            _ => self.rule_limit_of(part).map_or(0, tidegate_rules::rule::RuleLimit::capacity),
        }
    }
}

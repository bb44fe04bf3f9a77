//! Limits that have no effect.

use tidegate_core::Algorithm;

use super::warning;
use crate::diagnostic::Diagnostic;
use crate::rule::{Cost, Rule, RuleLimit};

/// A limit that another one of the same rule always reaches first, and a limit that nothing can pass.
pub(super) fn never_bind(rule: &Rule, said: &mut Vec<Diagnostic>) {
    let tiers = rule.limits.tiers.iter().map(|(tier, limits)| (Some(&**tier), limits));
    for (tier, limits) in std::iter::once((None, &rule.limits.own)).chain(tiers) {
        let of = tier.map(|tier| format!(" of tier `{tier}`")).unwrap_or_default();
        for limit in limits {
            if let Some(other) =
                limits.iter().find(|other| other.identity != limit.identity && reached_first(other, limit))
            {
                let message = format!(
                    "the limit {}{of} can never bind: {} is always reached first",
                    limit.written, other.written
                );
                said.push(warning(rule, "never-binds", message).help("remove it, or lower its amount"));
            }
            if let Cost::Fixed(cost) = rule.cost
                && cost > limit.capacity()
            {
                let message = format!(
                    "no request ever passes: each costs {cost} and {}{of} holds {}",
                    limit.written,
                    limit.capacity()
                );
                said.push(
                    warning(rule, "never-passes", message)
                        .help("raise the limit or its burst, or lower the cost"),
                );
            }
        }
    }
}

/// Whether what `one` admits at most in any window of `other` is within its amount.
fn reached_first(one: &RuleLimit, other: &RuleLimit) -> bool {
    let concurrency = |limit: &RuleLimit| limit.algorithm() == Algorithm::Concurrency;
    let (Some(one_us), Some(other_us)) = (one.per_us, other.per_us) else {
        return concurrency(one)
            && concurrency(other)
            && one.amount <= other.amount
            && one.identity < other.identity;
    };
    if one.counted != other.counted {
        return false;
    }
    let (amount, burst) = (u128::from(one.amount), u128::from(one.capacity()));
    let most = if burst == amount {
        // Windows: as many as fit, and one more that lies across an edge; within one length the amount itself.
        if other_us <= one_us && one.algorithm() == other.algorithm() {
            amount
        } else {
            amount * (u128::from(other_us.div_ceil(one_us)) + 1)
        }
    } else {
        burst + (amount * u128::from(other_us)).div_ceil(u128::from(one_us))
    };
    most <= u128::from(other.capacity())
        && (one.capacity() == one.amount || other.capacity() >= one.capacity())
}

//! Where each descriptor stands.

use std::borrow::Cow;
use std::cmp::Ordering;

use smallvec::SmallVec;
use tidegate_engine::{Decision, LimitView};
use tidegate_rules::rule::{Action, Rule};

use super::Unit;
use super::request::{Asked, Request, Turn};
use crate::door::Viewed;

/// Where a descriptor stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Status<'d> {
    /// Whether it is over its limit. One in the shadow never is.
    pub(crate) over: bool,
    /// Of its limits the one that binds most; nothing if it has none.
    pub(crate) current: Option<Current<'d>>,
    /// What is left of that limit; all there is for what is unlimited.
    pub(crate) remaining: u32,
    /// When it is whole again, or worth another try, in seconds, rounded up.
    pub(crate) reset_s: Option<u64>,
}

/// A limit as Envoy shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Current<'d> {
    pub(crate) name: Cow<'d, str>,
    pub(crate) amount: u32,
    pub(crate) unit: Unit,
}

/// One for each descriptor, in order. If the request is refused for none of them in particular, all of them are over.
pub(super) fn statuses<'d>(
    request: &Request<'_>,
    viewed: &Viewed<'d>,
    refunded: Option<&'d Decision>,
) -> SmallVec<[Status<'d>; 4]> {
    let refunded = refunded.map(Viewed::of);
    let one = |(place, asked): (usize, &Asked<'_>)| match (asked.turn(), &refunded) {
        (Turn::Refund, Some(refunded)) => Status { over: false, ..status(place, asked, refunded) },
        _ => status(place, asked, viewed),
    };
    let mut statuses: SmallVec<[Status<'d>; 4]> = request.descriptors.iter().enumerate().map(one).collect();
    if !viewed.decision.allowed() && !statuses.iter().any(|status| status.over) {
        for status in &mut statuses {
            status.over = true;
        }
    }
    statuses
}

/// The rule of the tree for a descriptor.
pub(super) fn tree_rule<'d>(asked: &Asked<'_>, decision: &'d Decision) -> Option<&'d Rule> {
    let domain = decision.domain().filter(|_| asked.limit.is_none())?;
    let rule = domain.tree.find(asked.entries.iter().copied())?;
    domain.rules.get(rule as usize)
}

fn status<'d>(place: usize, asked: &Asked<'_>, viewed: &Viewed<'d>) -> Status<'d> {
    let own = || viewed.limits.iter().filter(|view| view.descriptor == Some(place));
    match own().min_by(|one, other| binds_more(one, other)) {
        Some(view) => with_limit(view, asked, own().any(over)),
        None => without_limit(asked, viewed.decision),
    }
}

fn over(view: &LimitView<'_>) -> bool {
    has_a_say(view) && !view.allows()
}

fn has_a_say(view: &LimitView<'_>) -> bool {
    view.enforced || view.is_quota()
}

/// Those that have a say go first, then the longest wait, then the least share that is left.
fn binds_more(one: &LimitView<'_>, other: &LimitView<'_>) -> Ordering {
    let wait = |view: &LimitView<'_>| {
        if view.allows() { 0 } else { view.retry_after_us().unwrap_or(u64::MAX).max(1) }
    };
    let share =
        |a: &LimitView<'_>, b: &LimitView<'_>| u128::from(a.verdict.remaining) * u128::from(b.verdict.limit);
    let say = has_a_say(other).cmp(&has_a_say(one));
    say.then_with(|| wait(other).cmp(&wait(one))).then_with(|| share(one, other).cmp(&share(other, one)))
}

fn with_limit<'d>(view: &LimitView<'d>, asked: &Asked<'_>, over: bool) -> Status<'d> {
    let retry_us = if view.allows() { None } else { view.retry_after_us() };
    let reset_us = retry_us.unwrap_or(view.verdict.reset_after_us);
    let nothing_left = view.blocked_us > 0 || (!view.allows() && !over);
    Status {
        over,
        current: current(view, asked),
        remaining: if nothing_left { 0 } else { narrow(view.verdict.remaining) },
        reset_s: Some(reset_us.div_ceil(1_000_000)).filter(|seconds| *seconds > 0),
    }
}

/// What the rule says, or the descriptor itself. Slots are not per any time.
fn current<'d>(view: &LimitView<'d>, asked: &Asked<'_>) -> Option<Current<'d>> {
    let Some(limit) = view.rule_limit else {
        let limit = asked.limit?;
        return Some(Current { name: Cow::Borrowed(""), amount: limit.amount, unit: limit.unit });
    };
    let unit = limit.per_us.map_or(Unit::Unknown, Unit::nearest);
    Some(Current { name: plain(&limit.policy), amount: narrow(limit.amount), unit })
}

/// A rule of the tree may let all pass.
fn without_limit<'d>(asked: &Asked<'_>, decision: &'d Decision) -> Status<'d> {
    let rule = tree_rule(asked, decision);
    let is_unlimited = rule.is_some_and(|rule| rule.action == Action::Unlimited);
    Status { remaining: if is_unlimited { u32::MAX } else { 0 }, ..Status::default() }
}

/// A name as Envoy can repeat it: it puts it between quotes as it is.
fn plain(name: &str) -> Cow<'_, str> {
    let is_plain = |one: u8| matches!(one, b' '..=b'~') && !matches!(one, b'"' | b'\\');
    if name.bytes().all(is_plain) {
        return Cow::Borrowed(name);
    }
    let or_line = |one: char| if u8::try_from(one).is_ok_and(is_plain) { one } else { '_' };
    Cow::Owned(name.chars().map(or_line).collect())
}

fn narrow(amount: u64) -> u32 {
    u32::try_from(amount).unwrap_or(u32::MAX)
}

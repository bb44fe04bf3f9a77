//! Where each descriptor stands.

use std::borrow::Cow;
use std::cmp::Ordering;

use smallvec::SmallVec;
use tidegate_core::Timestamp;
use tidegate_engine::{Decision, LimitView};
use tidegate_rules::rule::{Action, Mode, Rule};

use tidegate_wire::envoy::{
    CurrentLimit, DescriptorStatus, HitsMode, RateLimitRequest, RequestDescriptor, TimeUnit,
};

use crate::door::Viewed;

/// What statuses are made from.
pub(super) struct Standing<'s, 'r, 'd> {
    pub(super) request: &'s RateLimitRequest<'r>,
    pub(super) decided: &'s Viewed<'d>,
    /// What was given back, if the request has negative hits.
    pub(super) refunded: Option<&'d Decision>,
    /// Whether limits in shadow mode are named.
    pub(super) tell_shadow: bool,
}

/// One for each descriptor, in order. If the request is refused for none of them in particular, all of them are over.
pub(super) fn statuses<'d>(standing: &Standing<'_, '_, 'd>) -> SmallVec<[DescriptorStatus<'d>; 4]> {
    let refunded = standing.refunded.map(Viewed::of);
    let one = |(place, asked): (usize, &RequestDescriptor<'_>)| match (asked.hits_mode(), &refunded) {
        (HitsMode::Refund, Some(refunded)) => {
            DescriptorStatus { over: false, ..standing.status(place, asked, refunded) }
        }
        _ => standing.status(place, asked, standing.decided),
    };
    let descriptors = standing.request.descriptors.iter().enumerate();
    let mut statuses: SmallVec<[DescriptorStatus<'d>; 4]> = descriptors.map(one).collect();
    if !standing.decided.decision.allowed() && !statuses.iter().any(|status| status.over) {
        for status in &mut statuses {
            status.over = true;
        }
    }
    statuses
}

/// The names of limits that other limits of this request replace.
pub(super) fn replaced<'d>(request: &RateLimitRequest<'_>, decision: &'d Decision) -> SmallVec<[&'d str; 4]> {
    let asked = request.descriptors.iter().filter(|asked| asked.hits_mode() != HitsMode::Refund);
    let rules = asked.filter_map(|asked| tree_rule(asked, decision)?.tree.as_deref());
    rules.flat_map(|tree| tree.replaces.iter().map(|name| &**name)).collect()
}

/// The rule of the tree for a descriptor.
pub(super) fn tree_rule<'d>(asked: &RequestDescriptor<'_>, decision: &'d Decision) -> Option<&'d Rule> {
    let domain = decision.domain().filter(|_| asked.limit.is_none())?;
    let rule = domain.tree.find(asked.entries.iter().copied())?;
    domain.rules.get(rule as usize)
}

impl<'d> Standing<'_, '_, 'd> {
    fn status(
        &self,
        place: usize,
        asked: &RequestDescriptor<'_>,
        viewed: &Viewed<'d>,
    ) -> DescriptorStatus<'d> {
        let is_told =
            |view: &LimitView<'_>| self.tell_shadow || view.mode() != Mode::Shadow || is_of_tree(view);
        let own = || viewed.limits.iter().filter(|view| view.descriptor == Some(place) && is_told(view));
        match own().min_by(|one, other| binds_more(one, other)) {
            Some(view) => self.with_limit(view, asked, (own().any(over), viewed.decision.at)),
            None => Self::without_limit(asked, viewed.decision),
        }
    }

    fn with_limit(
        &self,
        view: &LimitView<'d>,
        asked: &RequestDescriptor<'_>,
        (over, now): (bool, Timestamp),
    ) -> DescriptorStatus<'d> {
        let retry_us = if view.allows() { None } else { view.retry_after_us() };
        let reset_us = match aligned_window_us(view, asked) {
            Some(per_us) => until_next_us(per_us, now),
            None => retry_us.or_else(|| view.limit.more_after_us(view.verdict)).unwrap_or_default(),
        };
        let nothing_left = over || view.blocked_us > 0 || !view.allows();
        DescriptorStatus {
            over,
            current: self.current(view, asked),
            remaining: if nothing_left { 0 } else { narrow(view.verdict.remaining) },
            reset_s: Some(reset_us.div_ceil(1_000_000)).filter(|seconds| *seconds > 0),
        }
    }

    /// What the rule says, or the descriptor itself. Slots are not per any time.
    fn current(&self, view: &LimitView<'d>, asked: &RequestDescriptor<'_>) -> Option<CurrentLimit<'d>> {
        let (Some(rule), Some(limit)) = (view.rule, view.rule_limit) else {
            let limit = asked.limit?;
            return Some(CurrentLimit { name: Cow::Borrowed(""), amount: limit.amount, unit: limit.unit });
        };
        let unit = limit.per_us.map_or(TimeUnit::Unknown, TimeUnit::nearest);
        let name = if rule.tree.is_some() { self.tree_name(rule) } else { &limit.policy };
        Some(CurrentLimit { name: plain(name), amount: narrow(limit.amount), unit })
    }

    /// The name that the file gives a limit of the tree. Envoy can write it into headers for clients, so that of a limit in
    /// shadow mode is left out.
    fn tree_name(&self, rule: &'d Rule) -> &'d str {
        let name = rule.tree.as_ref().and_then(|tree| tree.limit_name.as_deref());
        name.filter(|_| self.tell_shadow || rule.mode != Mode::Shadow).unwrap_or_default()
    }

    /// A rule of the tree may let all pass.
    fn without_limit(asked: &RequestDescriptor<'_>, decision: &Decision) -> DescriptorStatus<'d> {
        let rule = tree_rule(asked, decision).filter(|rule| rule.mode != Mode::Off);
        let is_unlimited = rule.is_some_and(|rule| rule.action == Action::Unlimited);
        DescriptorStatus { remaining: if is_unlimited { u32::MAX } else { 0 }, ..DescriptorStatus::default() }
    }
}

fn is_of_tree(view: &LimitView<'_>) -> bool {
    view.rule.is_none_or(|rule| rule.tree.is_some())
}

/// The window of a limit of the tree, or of one that its descriptor brought. They begin at whole multiples of their length.
fn aligned_window_us(view: &LimitView<'_>, asked: &RequestDescriptor<'_>) -> Option<u64> {
    match view.rule {
        Some(rule) => rule.tree.as_ref().and(view.rule_limit)?.per_us,
        None => Some(asked.limit?.unit.seconds()?.saturating_mul(1_000_000)),
    }
}

/// The time until the next window begins: never 0.
fn until_next_us(per_us: u64, now: Timestamp) -> u64 {
    per_us.saturating_sub(now.as_micros().checked_rem(per_us).unwrap_or(0))
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

//! What the charges of a plan stand for: written beside the plan, and kept with the decision.

use smallvec::SmallVec;
use tidegate_core::{Class, Limit};

/// What a check is charged for. It is large, and filled where it stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meaning {
    /// What each charge of the plan stands for, in its order.
    pub(crate) parts: SmallVec<[Part; 4]>,
    /// Limits that were made for this check: with the bounds of their calendars, or brought along.
    pub(crate) made: SmallVec<[Limit; 1]>,
    /// A rule that decides by itself, so that nothing is asked.
    pub(crate) alone: Option<u32>,
    /// Rules that would have decided by themselves, were they not in the shadow.
    pub(crate) shadow_alone: SmallVec<[u32; 2]>,
    /// Counts of rules beside the outcome of the check.
    pub(crate) notes: SmallVec<[(u32, Note); 2]>,
    /// Whether there are gates among the parts.
    pub(crate) has_gates: bool,
    /// Whether there are parts that are held against a descriptor alone.
    pub(crate) has_tree: bool,
}

/// What a charge stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) at: LimitAt,
    /// The place of its limit among those that were made, if it was.
    pub(crate) made: Option<u16>,
    pub(crate) descriptor: Option<u16>,
    /// Units asked for.
    pub(crate) cost: u64,
    pub(crate) kind: Kind,
    /// What hangs on the limit, for the tier of the request.
    pub(crate) class: Class,
    /// Whether its word counts.
    pub(crate) enforced: bool,
    /// Whether it comes from what is known of the request, of which there may be several views.
    pub(crate) of_view: bool,
}

/// What is charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A limit.
    Limit,
    /// A limit on slots, which are held if they are paid.
    Slots,
    /// The gate of the limits before it.
    Gate,
    /// A limit of a descriptor tree that is only looked at: it refuses while it is exceeded.
    Peek,
    /// A limit of 0 units.
    ZeroLimit,
}

/// Something about a rule that operators should know, beside its outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Note {
    /// The request matches the rule and lacks what it counts by.
    KeyAbsent,
    /// The attribute that holds the cost of the request is no whole number.
    UnreadableCost,
}

impl Meaning {
    /// Notes something about a rule, once for each view of the request.
    #[inline]
    pub(crate) fn note(&mut self, rule: Option<u32>, note: Note) {
        if let Some(rule) = rule {
            self.notes.push((rule, note));
        }
    }
}

/// Where a limit stands in its domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LimitAt {
    pub(crate) rule: u32,
    pub(crate) tier: Tier,
    pub(crate) limit: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tier {
    Own,
    Named(u16),
    /// The limit came with the descriptor; there is no rule.
    Override,
}

impl Part {
    /// Whether it is the gate of the limits before it.
    pub(crate) fn is_gate(&self) -> bool {
        self.kind == Kind::Gate
    }

    /// The rule of the limit; `None` if the limit came with the descriptor.
    #[inline]
    pub(crate) fn rule(&self) -> Option<u32> {
        if self.at.tier == Tier::Override { None } else { Some(self.at.rule) }
    }

    /// Whether it is held against a descriptor alone.
    pub(crate) fn is_of_tree(&self) -> bool {
        !self.of_view
    }

    /// Whether two stand for the same rule, asked about the same.
    pub(crate) fn is_beside(&self, other: &Self) -> bool {
        self.at.rule == other.at.rule && self.at.tier == other.at.tier && self.descriptor == other.descriptor
    }
}

impl Kind {
    /// What a charge of that limit is.
    #[inline]
    pub(crate) fn of(limit: &Limit, cost: u64) -> Self {
        if limit.term_us().is_some() && cost > 0 { Self::Slots } else { Self::Limit }
    }
}

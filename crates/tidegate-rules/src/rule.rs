//! Rules as meant: what the compiler makes of what was written, and what a check reads.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tidegate_core::{Algorithm, EncodedParts, Limit, PreparedCharge, Timestamp};

pub use crate::capture::CaptureSource;
pub use tidegate_core::Class;

use crate::calendar::Calendar;
use crate::capture::captured;
use crate::condition::{Condition, Facts};
use crate::home::{Home, Owner};
use crate::name::AttributeId;
use crate::notation;
use crate::schedule::Schedule;
use crate::source::Span;
use crate::yaml::Value;

/// When it matches, what it counts by, and its limits.
#[derive(Debug)]
pub struct Rule {
    /// Its name, unique in its domain.
    pub name: Box<str>,
    /// The name that its counters have: what it was called before, or its name.
    pub identity: Box<str>,
    /// What it is for, in the operator's words.
    pub description: Option<Box<str>>,
    /// Where it was written.
    pub origin: Origin,
    /// What is held to it.
    pub applies: Condition,
    /// What is counted, if that is not what is held to it.
    pub counts: Option<Condition>,
    /// What it counts by.
    pub by: Vec<By>,
    /// Whose counters they are.
    pub scope: Scope,
    /// Its limits.
    pub limits: Limits,
    /// Units that a request takes.
    pub cost: Cost,
    /// What matters when the store cannot answer.
    pub class: Class,
    /// Classes in place of that for requests of some tiers.
    pub tier_classes: Option<TierClasses>,
    /// Enforced, in the shadow, or off.
    pub mode: Mode,
    /// The mode that was written, if a [switch](crate::switch) has set it.
    pub switched_from: Option<Mode>,
    /// What happens past the limit, or on a match.
    pub action: Action,
    /// What a refusal says.
    pub refusal: Refusal,
    /// The group of which only one rule applies, and the rule's rank in it: the lowest goes first.
    pub group: Option<Rank>,
    /// Its rank among all rules of the domain: by priority, then by how specific it is, then in order.
    pub rank: u32,
    /// What goes first among rules that exclude each other: the highest.
    pub priority: i32,
    /// When it applies.
    pub schedule: Option<Schedule>,
    /// The instant from which on it no longer applies.
    pub expires_at: Option<Timestamp>,
    /// Whether refused requests count as well.
    pub count_refused: bool,
    /// Closed for so long once a limit was exceeded.
    pub block_for: Option<Limit>,
    /// Whether all rules that can match with it must live in one place.
    pub atomic: bool,
    /// What it counts by first: `user`, `ip`, `tenant`, `endpoint`, `global`.
    pub dimension: Box<str>,
    /// What the code of a refusal begins with: `endpoint` if it is about one, otherwise the dimension.
    pub subject: Box<str>,
    /// What only descriptor trees have.
    pub tree: Option<Box<TreeRule>>,
    /// Where its counters live.
    pub home: Home,
    /// What it charges, if that is as simple as it is for most rules.
    pub plain: Option<Plain>,
}

/// A rule that applies at all times to whatever it matches, for itself, at a fixed cost, by the value of one attribute at
/// most, and whose limits are the same at all times and for all.
#[derive(Debug)]
pub struct Plain {
    /// The attribute that it counts by, if there is one.
    pub by: Option<AttributeId>,
    /// The attribute that names the tenant, if its counters live with one.
    pub tenant: Option<AttributeId>,
    /// Units that a request takes.
    pub cost: u64,
    /// What is charged for each of its limits.
    pub charges: Box<[PreparedCharge]>,
}

/// Where a rule was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The file.
    pub file: Arc<str>,
    /// The line, from 1.
    pub line: usize,
    /// The place of its name.
    pub span: Span,
    /// The place of all of it.
    pub whole: Span,
}

/// One of the things that a rule counts by.
pub enum By {
    /// The value of an attribute.
    Attribute(AttributeId),
    /// The network of an address.
    Address(AttributeId),
    /// What a glob or a regular expression captures of an attribute.
    Capture {
        /// The name of the capture.
        name: Box<str>,
        /// The patterns that capture it: at least one.
        sources: Arc<[CaptureSource]>,
    },
}

/// Without patterns: what they compare with may be a secret.
impl fmt::Debug for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Attribute(attribute) => write!(f, "Attribute({attribute:?})"),
            Self::Address(attribute) => write!(f, "Address({attribute:?})"),
            Self::Capture { name, sources } => write!(f, "Capture({name}, {sources:?})"),
        }
    }
}

impl By {
    /// The attributes that the value can come from.
    pub fn attributes(&self) -> impl Iterator<Item = AttributeId> {
        let (one, sources) = match self {
            Self::Attribute(attribute) | Self::Address(attribute) => (Some(*attribute), &[][..]),
            Self::Capture { sources, .. } => (None, &**sources),
        };
        one.into_iter().chain(sources.iter().map(|source| source.attribute))
    }

    /// The value of a request, if it has one; an address as the request spells it.
    #[inline]
    pub fn value<'v>(&self, facts: &Facts<'v>) -> Option<&'v str> {
        match self {
            Self::Attribute(attribute) | Self::Address(attribute) => facts.get(*attribute),
            Self::Capture { sources, .. } => captured(sources, facts),
        }
    }
}

/// Whose counters a rule's are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// They live with the tenant of the request.
    Tenant,
    /// They live by themselves.
    Global,
}

/// The limits of a rule: its own, or those of the request's tier.
#[derive(Debug, Default)]
pub struct Limits {
    /// Those of requests without a tier of their own.
    pub own: Vec<RuleLimit>,
    /// Those of tiers.
    pub tiers: Vec<(Box<str>, Vec<RuleLimit>)>,
    /// The attribute that names the tier.
    pub tier_by: Option<AttributeId>,
}

impl Limits {
    /// The limits of a tier, or the rule's own.
    pub fn of(&self, tier: Option<&str>) -> &[RuleLimit] {
        let named = tier.and_then(|tier| self.tiers.iter().find(|(name, _)| **name == *tier));
        named.map_or(&self.own, |(_, limits)| limits)
    }

    /// All limits with the tier they belong to.
    pub fn all(&self) -> impl Iterator<Item = (Option<&str>, &RuleLimit)> {
        let own = self.own.iter().map(|limit| (None, limit));
        own.chain(
            self.tiers
                .iter()
                .flat_map(|(tier, limits)| limits.iter().map(move |limit| (Some(&**tier), limit))),
        )
    }
}

/// Classes by tier.
#[derive(Debug)]
pub struct TierClasses {
    /// The attribute that names the tier.
    pub tier_by: AttributeId,
    /// The class of each tier.
    pub classes: Vec<(Box<str>, Class)>,
}

impl TierClasses {
    fn of(&self, tier: &str) -> Option<Class> {
        self.classes.iter().find(|(name, _)| **name == *tier).map(|(_, class)| *class)
    }
}

/// A limit of a rule.
#[derive(Debug)]
pub struct RuleLimit {
    /// What makes it the same limit after its numbers have changed: its own name, or its algorithm and window.
    pub identity: Box<str>,
    /// What comes behind the home in the keys of its counters.
    pub back: EncodedParts,
    /// Its own name, if the file gives it one.
    pub name: Option<Box<str>>,
    /// Its name in headers and answers: of a rule's only limit its own name or the rule's, of several the rule's with the
    /// limit's name or window behind it.
    pub policy: Box<str>,
    /// The numbers.
    pub numbers: Numbers,
    /// The window as written, if it has one: not the time that a full bucket takes to drain.
    pub per_us: Option<u64>,
    /// The amount per that window; for concurrency the slots.
    pub amount: u64,
    /// What is counted.
    pub counted: Counted,
    /// As an operator would write it in short.
    pub written: Box<str>,
}

/// The numbers of a limit.
#[derive(Debug)]
pub enum Numbers {
    /// The same at all times.
    Plain(Limit),
    /// Bounds that move with the calendar.
    Calendar(Calendar),
}

impl Numbers {
    /// Lets counters take their memory from that share.
    pub(crate) fn put_in_share(&mut self, share: u32) {
        match self {
            Self::Plain(limit) => *limit = limit.in_share(share),
            Self::Calendar(calendar) => calendar.put_in_share(share),
        }
    }
}

impl RuleLimit {
    /// Whether it is a limit of 0 units, as descriptor trees have them. Its numbers are those of a window of 1 unit.
    pub const fn admits_nothing(&self) -> bool {
        self.amount == 0
    }

    /// The limit as it is at an instant.
    pub fn at(&self, now: Timestamp) -> Limit {
        match &self.numbers {
            Numbers::Plain(limit) => *limit,
            Numbers::Calendar(calendar) => calendar.at(now),
        }
    }

    /// The window as an operator writes it, such as `min`, `10s` or `month`; a limit of concurrency has none.
    pub fn window(&self) -> Option<String> {
        match &self.numbers {
            Numbers::Calendar(calendar) => Some(calendar.period().unit.word().to_owned()),
            Numbers::Plain(_) => self.per_us.map(|us| notation::show(Duration::from_micros(us))),
        }
    }

    /// The limit, if it is the same at all times.
    pub fn plain(&self) -> Option<&Limit> {
        match &self.numbers {
            Numbers::Plain(limit) => Some(limit),
            Numbers::Calendar(_) => None,
        }
    }

    /// How it counts.
    pub fn algorithm(&self) -> Algorithm {
        match &self.numbers {
            Numbers::Plain(limit) => limit.algorithm(),
            Numbers::Calendar(_) => Algorithm::FixedWindow,
        }
    }

    /// The most that it ever lets through at once.
    pub fn capacity(&self) -> u64 {
        match &self.numbers {
            _ if self.admits_nothing() => 0,
            Numbers::Plain(limit) => limit.capacity(),
            Numbers::Calendar(calendar) => calendar.amount(),
        }
    }
}

/// What a limit counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counted {
    /// Requests.
    #[default]
    Requests,
    /// Bytes of content.
    Bytes,
    /// Tokens of a model.
    Tokens,
}

/// Units that a request takes.
#[derive(Debug)]
pub enum Cost {
    /// Always so many.
    Fixed(u64),
    /// What an attribute says.
    Attribute {
        /// The attribute.
        attribute: AttributeId,
        /// If it is absent or no number.
        default: u64,
        /// Its number is held to this.
        most: u64,
    },
    /// By method.
    Methods {
        /// The attribute that holds the method.
        attribute: AttributeId,
        /// Points for each.
        points: Vec<(Box<str>, u64)>,
        /// For all others.
        default: u64,
    },
}

/// Enforced, in the shadow, or off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// It refuses.
    #[default]
    Enforce,
    /// It is judged, counted and reported, and never refuses.
    Shadow,
    /// As if it were not there.
    Off,
}

/// What happens past the limit, or on a match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Action {
    /// Past the limit: refused.
    #[default]
    Reject,
    /// Past the rate: held back, up to the queue's size.
    Delay,
    /// Past the limit: passes, and whoever serves it is told to do less.
    Degrade,
    /// Past the limit: passes and is reported.
    Log,
    /// On a match: refused.
    Block,
    /// On a match: passes, whatever other rules say.
    Bypass,
    /// On a match: this rule lets it pass. In a group, it is the one that applies.
    Unlimited,
}

/// What a refusal says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal {
    /// Its status, if the rule names one.
    pub status: Option<u16>,
    /// Its title.
    pub title: Option<Box<str>>,
    /// Its words.
    pub message: Option<Box<str>>,
}

/// A place in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rank {
    /// Which group of the domain.
    pub group: u16,
    /// The lowest goes first.
    pub rank: u32,
}

/// What only descriptor trees have.
#[derive(Default)]
pub struct TreeRule {
    /// The name of the limit in answers, if it has one.
    pub limit_name: Option<Box<str>>,
    /// Names of limits that this one stands in for.
    pub replaces: Vec<Box<str>>,
    /// Refuses only if every quota of the request is over.
    pub quota: bool,
    /// The keys of the path.
    pub keys: Vec<Box<str>>,
    /// The places of the path at which the pattern stands in the key in place of the value.
    pub shared: Vec<Option<Box<str>>>,
    /// Given back with what passes.
    pub metadata: Option<Arc<Value>>,
}

/// Without values of descriptors and metadata, which may be secret.
impl fmt::Debug for TreeRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { limit_name, replaces, quota, .. } = self;
        f.debug_struct("TreeRule")
            .field("limit_name", limit_name)
            .field("replaces", replaces)
            .field("quota", quota)
            .finish_non_exhaustive()
    }
}

macro_rules! words {
    ($type:ty { $($variant:ident => $word:literal),+ $(,)? }) => {
        impl $type {
            /// The word in rules, metrics and answers.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// The one that a word stands for.
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

words!(Mode { Enforce => "enforce", Shadow => "shadow", Off => "off" });
words!(Action {
    Reject => "reject", Delay => "delay", Degrade => "degrade", Log => "log",
    Block => "block", Bypass => "bypass", Unlimited => "unlimited",
});
words!(Scope { Tenant => "tenant", Global => "global" });
words!(Counted { Requests => "requests", Bytes => "bytes", Tokens => "tokens" });

impl Rule {
    /// Why it refuses, as a code: `endpoint-rate`, `tenant-quota`, `user-concurrency`, `blocked`.
    pub fn reason(&self, limit: Option<&RuleLimit>) -> String {
        match limit {
            Some(limit) => {
                let kind = match (&limit.numbers, limit.algorithm()) {
                    (_, Algorithm::Concurrency) => "concurrency",
                    (Numbers::Calendar(_), _) => "quota",
                    _ => "rate",
                };
                format!("{}-{kind}", self.subject)
            }
            None => "blocked".to_owned(),
        }
    }

    /// Once its keys are prepared.
    pub(crate) fn plain(&self) -> Option<Plain> {
        let acts = self.mode == Mode::Enforce && matches!(self.action, Action::Reject | Action::Delay);
        let always = self.schedule.is_none() && self.expires_at.is_none();
        let for_itself = self.group.is_none() && self.tree.is_none() && self.block_for.is_none();
        let for_all = self.counts.is_none() && self.limits.tier_by.is_none() && !self.count_refused;
        let for_all = for_all && self.tier_classes.is_none();
        let by = match *self.by {
            [] => None,
            [By::Attribute(attribute)] => Some(attribute),
            _ => return None,
        };
        let tenant = if let Owner::Tenant(tenant) = self.home.owner { Some(tenant) } else { None };
        let Cost::Fixed(cost) = self.cost else { return None };
        let charges = self.limits.own.iter().map(|limit| self.prepared(limit)).collect::<Option<_>>()?;
        let is_plain = acts && always && for_itself && for_all;
        is_plain.then_some(Plain { by, tenant, cost, charges })
    }

    fn prepared(&self, limit: &RuleLimit) -> Option<PreparedCharge> {
        let (front, back) = (self.home.front.clone(), limit.back.clone());
        Some(PreparedCharge::new(front, back, *limit.plain()?))
    }

    /// What hangs on the rule for a request: the class of its tier, or the rule's own.
    pub fn class_of(&self, facts: &Facts<'_>) -> Class {
        let tiers = self.tier_classes.as_ref();
        let of_tier = tiers.and_then(|tiers| tiers.of(facts.get(tiers.tier_by)?));
        of_tier.unwrap_or(self.class)
    }

    /// The strictest class that a request can have.
    pub fn strictest_class(&self) -> Class {
        let tiers = self.tier_classes.iter().flat_map(|tiers| tiers.classes.iter().map(|(_, class)| *class));
        tiers.fold(self.class, Class::max)
    }

    /// Whether it decides by itself, without a counter.
    pub fn decides_alone(&self) -> bool {
        matches!(self.action, Action::Block | Action::Bypass)
    }
}

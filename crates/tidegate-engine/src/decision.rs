//! Our word to the caller, and how it came about.

mod judged;

use std::borrow::Cow;
use std::mem;
use std::sync::Arc;

use smallvec::SmallVec;
use tidegate_core::{Class, Limit, Retry, Ticket, Timestamp, Verdict};
use tidegate_rules::Domain;
use tidegate_rules::rule::{Action, Counted, Mode, Rule, RuleLimit};
use tidegate_store::Answer;

use crate::loaded::LoadedDomain;
use crate::meaning::{Meaning, Part, Tier};
use crate::settle::UNDECIDED_RETRY_US;

pub(crate) use judged::Judged;
use judged::Limits;

/// What the caller may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Go on.
    Allow,
    /// Not now, or not at all.
    Deny,
    /// Go on after a while.
    Delay,
    /// Go on, but do less.
    Degrade,
    /// Prove first that you are worth it.
    Challenge,
    /// Not now: there is too much to do.
    Shed,
}

/// How exact a decision is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Consistency {
    /// By the one true count.
    Exact,
    /// By this region's.
    Regional,
    /// By this node's.
    Local,
    /// By no count at all.
    Open,
}

/// What was decided, with every limit that had a word in it.
#[derive(Clone)]
pub struct Decision {
    /// What the caller may do.
    pub outcome: Outcome,
    /// Its name: for logs, and to give back what it holds.
    pub id: Ticket,
    /// When it was made.
    pub at: Timestamp,
    /// How exact it is.
    pub state: Consistency,
    /// The version of the rules.
    pub version: u64,
    /// How long to wait before going on, if the outcome is to delay.
    pub delay_us: u64,
    /// Whether it is the answer to an earlier delivery of the same check.
    pub replayed: bool,
    /// Whether it holds slots that should be given back.
    pub holds: bool,
    pub(crate) domain: Option<Arc<LoadedDomain>>,
    /// What the request was charged for.
    pub(crate) meaning: Meaning,
    /// What the store said about that.
    pub(crate) answer: Option<Answer>,
    /// Whether every limit let the request pass at once.
    pub(crate) is_clear: bool,
    pub(crate) deciding: Option<Deciding>,
}

/// What decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deciding {
    /// One of the limits.
    Limit(u16),
    /// A rule by itself: it blocks, or it lets everything pass.
    Rule(u32),
    /// Nobody could: the store gave no answer, or something broke. The class had the say.
    Nobody(Trouble, Class),
}

/// Why nobody could decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The store did not answer.
    Store,
    /// A station panicked.
    Panic,
    /// Too many checks at once.
    Overload,
    /// More limits than a plan can hold.
    TooManyLimits,
    /// One of these, and more of them than the last resort lets pass.
    LastResort,
}

impl Trouble {
    /// Those that come by themselves.
    pub(crate) const ALL: [Self; 4] = [Self::Store, Self::Panic, Self::Overload, Self::TooManyLimits];

    /// The word for it in metrics.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Store => "store",
            Self::Panic => "panic",
            Self::Overload => "overload",
            Self::TooManyLimits => "too_many_limits",
            Self::LastResort => "last_resort",
        }
    }
}

/// A limit and what it said.
#[derive(Clone, Copy, Debug)]
pub struct LimitView<'d> {
    /// The rule; `None` for a limit that came with a descriptor.
    pub rule: Option<&'d Rule>,
    /// The limit in its rule; `None` for a limit that came with a descriptor.
    pub rule_limit: Option<&'d RuleLimit>,
    /// The numbers as they were applied.
    pub limit: &'d Limit,
    /// What the store said.
    pub verdict: &'d Verdict,
    /// The descriptor of the check that it belongs to, if that has any.
    pub descriptor: Option<usize>,
    /// Units asked for.
    pub cost: u64,
    /// How long the rule refuses everything because it was exceeded; 0 if it does not.
    pub blocked_us: u64,
    /// Whether its word counts, or it is only reported.
    pub enforced: bool,
    /// Whether it was charged.
    pub paid: bool,
}

/// A rule's name and what is said about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleRef<'d> {
    /// Its name.
    pub name: &'d str,
    /// What it counts by first.
    pub dimension: &'d str,
}

impl Decision {
    /// Lets everything pass: the beginning of every decision.
    #[inline]
    pub(crate) fn free(at: Timestamp) -> Self {
        Self {
            outcome: Outcome::Allow,
            id: Ticket::default(),
            at,
            state: Consistency::Exact,
            version: 0,
            delay_us: 0,
            replayed: false,
            holds: false,
            domain: None,
            meaning: Meaning::default(),
            answer: None,
            is_clear: false,
            deciding: None,
        }
    }

    /// Takes the store's answer, of which there is one at most.
    #[inline]
    pub(crate) fn put_answer(&mut self, answer: Answer) {
        // To say that there was none saves looking, and a copy.
        mem::forget(self.answer.replace(answer));
    }

    /// Whether the request may go on, now or after a while.
    pub fn allowed(&self) -> bool {
        !matches!(self.outcome, Outcome::Deny | Outcome::Challenge | Outcome::Shed)
    }

    /// The domain, if the rules have it.
    pub fn domain(&self) -> Option<&Domain> {
        self.domain.as_deref().map(|loaded| &*loaded.domain)
    }

    /// Whether it was made by the class of the rules alone, because nobody could count.
    pub fn is_undecided(&self) -> bool {
        matches!(self.deciding, Some(Deciding::Nobody(trouble, _)) if trouble != Trouble::LastResort)
    }

    /// Whether nobody counted anything for it, for whatever reason.
    pub fn is_uncounted(&self) -> bool {
        matches!(self.deciding, Some(Deciding::Nobody(..)))
    }

    /// Every limit that had a word in it, in the order of the rules, enforcing ones first.
    pub fn limits(&self) -> impl ExactSizeIterator<Item = LimitView<'_>> {
        Limits::new(self)
    }

    /// The limit that decided: of several refusals the one with the longest wait, of several admissions the one with the
    /// least left.
    pub fn deciding_limit(&self) -> Option<LimitView<'_>> {
        match self.deciding? {
            Deciding::Limit(index) => {
                self.judged_from(usize::from(index)).next().map(|judged| self.view(judged))
            }
            _ => None,
        }
    }

    /// The rule that decided, by one of its limits or by itself.
    pub fn deciding_rule(&self) -> Option<&Rule> {
        match self.deciding? {
            Deciding::Limit(place) => self.rule_of(self.meaning.parts.get(usize::from(place))?),
            Deciding::Rule(rule) => self.rule(rule),
            Deciding::Nobody(..) => None,
        }
    }

    /// The rules that refuse, each once.
    pub fn denied_by(&self) -> impl Iterator<Item = RuleRef<'_>> {
        let alone = match self.deciding {
            Some(Deciding::Rule(rule)) if self.outcome == Outcome::Deny => self.rule(rule),
            _ => None,
        };
        let mut seen: SmallVec<[RuleRef<'_>; 4]> = SmallVec::new();
        let limits = self.limits().filter(|view| self.refused_by(view));
        let limits = limits
            .map(|view| view.rule.map_or(RuleRef { name: "override", dimension: "descriptor" }, rule_ref));
        alone.map(rule_ref).into_iter().chain(limits).filter(move |rule| {
            let is_new = !seen.contains(rule);
            seen.push(*rule);
            is_new
        })
    }

    /// Whether the request was refused and that limit is one of those that did: its word counts, or it is a quota and
    /// every quota is over.
    pub fn refused_by(&self, view: &LimitView<'_>) -> bool {
        let quotas_over = || {
            self.limits().filter(LimitView::is_tree_quota).all(|quota| quota.is_quota() && !quota.allows())
        };
        !self.allowed() && (view.refuses() || (view.is_quota() && !view.allows() && quotas_over()))
    }

    /// Why, as a code: `ok`, `endpoint-rate`, `tenant-quota`, `user-concurrency`, `blocked`, `bypassed`, `undecided`, `last-resort`, …
    pub fn reason(&self) -> Cow<'static, str> {
        // Nearly always, and without a look at the limit.
        if self.outcome == Outcome::Allow && matches!(self.deciding, Some(Deciding::Limit(_))) {
            return "ok".into();
        }
        match (self.deciding, self.deciding_limit()) {
            (_, Some(view)) if view.blocked_us > 0 && !self.allowed() => "blocked".into(),
            (_, Some(view)) => match view.rule {
                Some(rule) => rule.reason(view.rule_limit).into(),
                None => "descriptor-rate".into(),
            },
            (Some(Deciding::Rule(_)), _) if self.outcome == Outcome::Deny => "blocked".into(),
            (Some(Deciding::Rule(_)), _) => "bypassed".into(),
            (Some(Deciding::Nobody(Trouble::Overload, _)), _) => "overload".into(),
            (Some(Deciding::Nobody(Trouble::LastResort, _)), _) => "last-resort".into(),
            (Some(Deciding::Nobody(..)), _) => "undecided".into(),
            _ if self.domain.is_none() => "no-such-domain".into(),
            _ => "ok".into(),
        }
    }

    /// The status of a refusal: what the rule says, 429 for a limit, 403 for what is blocked, 503 if nobody could decide.
    pub fn status(&self) -> u16 {
        match (self.outcome, self.deciding) {
            (Outcome::Shed, _) | (Outcome::Deny, Some(Deciding::Nobody(..))) => 503,
            (Outcome::Deny | Outcome::Challenge, deciding) => {
                let default = if matches!(deciding, Some(Deciding::Rule(_))) { 403 } else { 429 };
                self.deciding_rule().and_then(|rule| rule.refusal.status).unwrap_or(default)
            }
            _ => 200,
        }
    }

    /// How long a refused caller should wait; `None` if it was not refused or waiting does not help.
    pub fn retry_after_us(&self) -> Option<u64> {
        if self.allowed() {
            return None;
        }
        match self.deciding? {
            Deciding::Limit(_) => self.deciding_limit()?.retry_after_us(),
            Deciding::Rule(rule) => Some(self.rule(rule)?.expires_at?.since(self.at)),
            Deciding::Nobody(..) => Some(UNDECIDED_RETRY_US),
        }
    }

    pub(crate) fn rule_of(&self, part: &Part) -> Option<&Rule> {
        self.rule(part.rule()?)
    }

    fn rule(&self, rule: u32) -> Option<&Rule> {
        self.domain()?.rules.get(rule as usize)
    }

    pub(crate) fn rule_limit_of(&self, part: &Part) -> Option<&RuleLimit> {
        let limits = &self.rule_of(part)?.limits;
        let limits = match part.at.tier {
            Tier::Named(tier) => {
                limits.tiers.get(usize::from(tier)).map_or(&limits.own, |(_, limits)| limits)
            }
            _ => &limits.own,
        };
        limits.get(usize::from(part.at.limit))
    }

    fn view<'d>(&'d self, judged: Judged<'d>) -> LimitView<'d> {
        let Judged { part, verdict, paid, blocked_us, .. } = judged;
        let (rule, rule_limit) = (self.rule_of(part), self.rule_limit_of(part));
        let made = part.made.and_then(|place| self.meaning.made.get(usize::from(place)));
        let plain = rule_limit.and_then(RuleLimit::plain);
        LimitView {
            rule,
            rule_limit,
            limit: made.or(plain).expect("a limit that is not as its rule has it is kept with the decision"),
            verdict,
            descriptor: part.descriptor.map(usize::from),
            cost: part.cost,
            blocked_us,
            enforced: part.enforced,
            paid,
        }
    }
}

fn rule_ref(rule: &Rule) -> RuleRef<'_> {
    RuleRef { name: &rule.name, dimension: &rule.dimension }
}

impl<'d> LimitView<'d> {
    /// The rule's name.
    pub fn rule_name(&self) -> &'d str {
        self.rule.map_or("override", |rule| &rule.name)
    }

    /// The limit's name in headers and answers.
    pub fn policy(&self) -> &'d str {
        self.rule_limit.map_or("override", |limit| &limit.policy)
    }

    /// What it counts.
    pub fn counted(&self) -> Counted {
        self.rule_limit.map(|limit| limit.counted).unwrap_or_default()
    }

    /// Enforced or in the shadow.
    pub fn mode(&self) -> Mode {
        let brought = if self.enforced { Mode::Enforce } else { Mode::Shadow };
        self.rule.map_or(brought, |rule| rule.mode)
    }

    /// What happens past it.
    pub fn action(&self) -> Action {
        self.rule.map(|rule| rule.action).unwrap_or_default()
    }

    /// Whether it refuses only together with all other quotas of the request.
    pub fn is_quota(&self) -> bool {
        self.mode() == Mode::Enforce && self.is_tree_quota()
    }

    fn is_tree_quota(&self) -> bool {
        self.rule.and_then(|rule| rule.tree.as_ref()).is_some_and(|tree| tree.quota)
    }

    /// Whether it lets the request pass: its verdict, and that its rule is not closed.
    pub fn allows(&self) -> bool {
        self.verdict.allowed() && self.blocked_us == 0
    }

    /// Whether it refuses the request.
    pub fn refuses(&self) -> bool {
        self.enforced && !self.allows()
    }

    /// How long a refused caller should wait.
    pub fn retry_after_us(&self) -> Option<u64> {
        let waits = self.verdict.retry_after_us();
        match self.verdict.outcome {
            tidegate_core::Outcome::Refused(Retry::Never) => None,
            _ if self.blocked_us > 0 => Some(self.blocked_us.max(waits.unwrap_or(0))),
            _ => waits,
        }
    }
}

impl Outcome {
    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
            Self::Delay => "delay",
            Self::Degrade => "degrade",
            Self::Challenge => "challenge",
            Self::Shed => "shed",
        }
    }
}

impl Consistency {
    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Regional => "regional",
            Self::Local => "local",
            Self::Open => "open",
        }
    }
}

/// Names and outcomes; of keys it knows nothing.
impl std::fmt::Debug for Decision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decision")
            .field("outcome", &self.outcome)
            .field("reason", &self.reason())
            .field("limits", &self.limits().map(|view| (view.policy(), view.verdict)).collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

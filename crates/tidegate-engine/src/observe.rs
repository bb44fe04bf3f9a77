//! What is counted of decisions: it takes them, gives nothing, never waits and never fails.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tidegate_rules::Domain;
use tidegate_rules::rule::{Action, Rule};

use crate::decision::{Deciding, Decision, Judged, Outcome, Tier};

/// The upper ends of the buckets of durations, in nanoseconds.
pub const DURATION_BUCKETS_NS: [u64; 16] = [
    1_000,
    2_000,
    5_000,
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    50_000_000,
    200_000_000,
    1_000_000_000,
];

/// Counts of one rule's decisions, by what came of them.
#[derive(Debug, Default)]
pub struct RuleCounts {
    counts: [AtomicU64; 6],
}

/// What came of a rule in a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Came {
    /// It let the request pass.
    Allowed,
    /// It refused it.
    Denied,
    /// It held it back.
    Delayed,
    /// It let it pass with less.
    Degraded,
    /// It would have refused it, were it not in the shadow or only logging.
    ShadowDenied,
    /// It was skipped by a rule that lets everything pass, or lets pass without a limit.
    Bypassed,
}

impl Came {
    /// All, in order.
    pub const ALL: [Self; 6] =
        [Self::Allowed, Self::Denied, Self::Delayed, Self::Degraded, Self::ShadowDenied, Self::Bypassed];

    /// The word for it in metrics.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Denied => "denied",
            Self::Delayed => "delayed",
            Self::Degraded => "degraded",
            Self::ShadowDenied => "shadow_denied",
            Self::Bypassed => "bypassed",
        }
    }
}

impl RuleCounts {
    fn add(&self, came: Came) {
        self.counts[came as usize].fetch_add(1, Relaxed);
    }

    /// How often that came of it.
    pub fn get(&self, came: Came) -> u64 {
        self.counts[came as usize].load(Relaxed)
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        Came::ALL.iter().map(|came| self.get(*came)).sum()
    }
}

/// Everything that is counted.
#[derive(Debug, Default)]
pub struct Observed {
    /// By domain and rule; kept when rules are reloaded, so that no count steps back.
    rules: Mutex<CountsByName>,
    durations: [AtomicU64; DURATION_BUCKETS_NS.len() + 1],
    duration_sum_ns: AtomicU64,
    outcomes: [AtomicU64; 6],
    malformed: AtomicU64,
    undecided: AtomicU64,
    panics: AtomicU64,
    unknown_domains: AtomicU64,
    not_kept: AtomicU64,
}

type CountsByName = HashMap<(Box<str>, Box<str>), Arc<RuleCounts>>;

impl Observed {
    /// The counts of a domain's rules by their numbers, new or from before.
    pub(crate) fn counts_of(&self, domain: &Domain) -> Vec<Arc<RuleCounts>> {
        let mut rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        let mut counts =
            |rule: &Rule| Arc::clone(rules.entry((domain.name.clone(), rule.name.clone())).or_default());
        domain.rules.iter().map(&mut counts).collect()
    }

    /// Takes note of a decision.
    pub(crate) fn decision(&self, decision: &Decision, rules: &[Arc<RuleCounts>], took: Duration) {
        self.took(took);
        self.outcomes[decision.outcome as usize].fetch_add(1, Relaxed);
        if matches!(decision.deciding, Some(Deciding::Nobody(_))) {
            self.undecided.fetch_add(1, Relaxed);
        }
        let Some(domain) = decision.domain() else {
            self.unknown_domains.fetch_add(1, Relaxed);
            return;
        };
        if let Some(Deciding::Rule(rule)) = decision.deciding
            && let Some(counts) = rules.get(rule as usize)
        {
            counts.add(if decision.outcome == Outcome::Deny { Came::Denied } else { Came::Bypassed });
        }
        for rule in &decision.shadow_alone {
            if let Some(counts) = rules.get(*rule as usize) {
                counts.add(Came::ShadowDenied);
            }
        }
        let mut index = 0;
        while let Some(first) = decision.judged.get(index) {
            // Several limits of one rule stand together: the rule counts once.
            let same = |one: &Judged| {
                one.at.rule == first.at.rule
                    && one.descriptor == first.descriptor
                    && one.at.tier == first.at.tier
            };
            let end = index + decision.judged[index..].iter().take_while(|one| same(one)).count();
            if first.at.tier != Tier::Override
                && let Some(counts) = rules.get(first.at.rule as usize)
            {
                counts.add(came(
                    decision,
                    &decision.judged[index..end],
                    domain.rules.get(first.at.rule as usize),
                ));
            }
            index = end;
        }
    }

    fn took(&self, took: Duration) {
        let ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let bucket = DURATION_BUCKETS_NS.partition_point(|end| *end < ns);
        self.durations[bucket].fetch_add(1, Relaxed);
        self.duration_sum_ns.fetch_add(ns, Relaxed);
    }

    pub(crate) fn malformed(&self) {
        self.malformed.fetch_add(1, Relaxed);
    }

    pub(crate) fn panicked(&self) {
        self.panics.fetch_add(1, Relaxed);
    }

    pub(crate) fn not_kept(&self) {
        self.not_kept.fetch_add(1, Relaxed);
    }

    /// The counts of all rules that ever were, by domain and rule.
    pub fn rules(&self) -> Vec<(Box<str>, Box<str>, Arc<RuleCounts>)> {
        let rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        rules
            .iter()
            .map(|((domain, rule), counts)| (domain.clone(), rule.clone(), Arc::clone(counts)))
            .collect()
    }

    /// How many decisions took no longer than each bucket's end, not added up; the last is for all others.
    pub fn durations(&self) -> [u64; DURATION_BUCKETS_NS.len() + 1] {
        std::array::from_fn(|bucket| self.durations[bucket].load(Relaxed))
    }

    /// How long all decisions took together.
    pub fn duration_sum(&self) -> Duration {
        Duration::from_nanos(self.duration_sum_ns.load(Relaxed))
    }

    /// How many decisions had that outcome.
    pub fn outcome(&self, outcome: Outcome) -> u64 {
        self.outcomes[outcome as usize].load(Relaxed)
    }

    /// Checks that could not be asked.
    pub fn malformed_checks(&self) -> u64 {
        self.malformed.load(Relaxed)
    }

    /// Checks that nobody could decide.
    pub fn undecided_checks(&self) -> u64 {
        self.undecided.load(Relaxed)
    }

    /// Panics that were contained.
    pub fn panics(&self) -> u64 {
        self.panics.load(Relaxed)
    }

    /// Checks of domains that the rules do not have.
    pub fn unknown_domain_checks(&self) -> u64 {
        self.unknown_domains.load(Relaxed)
    }

    /// Decisions that hold something and could not be remembered.
    pub fn not_kept_holds(&self) -> u64 {
        self.not_kept.load(Relaxed)
    }
}

fn came(decision: &Decision, limits: &[Judged], rule: Option<&Rule>) -> Came {
    let refuses = limits.iter().any(|one| !one.verdict.allowed() || one.blocked_us > 0);
    let enforced = limits.iter().any(|one| one.enforced);
    match (refuses, enforced) {
        (true, true) => Came::Denied,
        (true, false)
            if rule.is_some_and(|rule| rule.action == Action::Degrade)
                && decision.outcome == Outcome::Degrade =>
        {
            Came::Degraded
        }
        (true, false) => Came::ShadowDenied,
        _ if limits.iter().any(|one| one.verdict.delay_us() > 0) => Came::Delayed,
        _ => Came::Allowed,
    }
}

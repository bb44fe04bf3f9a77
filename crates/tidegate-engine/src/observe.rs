//! What is counted of decisions: it takes them, gives nothing, never waits and never fails.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tidegate_rules::rule::{Action, Class, Rule};
use tidegate_rules::{Domain, Snapshot};

use crate::decision::{Deciding, Decision, Outcome, Trouble};
use crate::meaning::{Note, Part};
use crate::unknown::UnknownDomains;

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

/// All classes, in order.
const CLASSES: [Class; 4] = [Class::Comfort, Class::Cost, Class::Security, Class::Strict];

/// Counts of one rule's decisions, by what came of them.
#[derive(Debug, Default)]
pub struct RuleCounts {
    counts: [AtomicU64; 6],
    notes: [AtomicU64; 2],
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

    fn add_all(&self, other: &Self) {
        let (own, others) = (self.counts.iter().chain(&self.notes), other.counts.iter().chain(&other.notes));
        for (own, other) in own.zip(others) {
            own.fetch_add(other.load(Relaxed), Relaxed);
        }
    }

    /// Requests that matched the rule and lacked what it counts by, so that it did not limit them.
    pub fn key_absent(&self) -> u64 {
        self.notes[Note::KeyAbsent as usize].load(Relaxed)
    }

    /// Requests whose cost could not be read, so that they were charged the rule's default.
    pub fn unreadable_cost(&self) -> u64 {
        self.notes[Note::UnreadableCost as usize].load(Relaxed)
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
    /// By domain and rule, of the rules in force.
    rules: Mutex<CountsByName>,
    /// What was counted of rules that are gone, together.
    gone: RuleCounts,
    durations: [AtomicU64; DURATION_BUCKETS_NS.len() + 1],
    duration_sum_ns: AtomicU64,
    outcomes: [AtomicU64; 6],
    /// Of limits that callers brought: those that passed, and those that did not.
    throttles: [AtomicU64; 2],
    malformed: AtomicU64,
    undecided: AtomicU64,
    /// What nobody could count and was let pass, by class and trouble.
    failed_open: [[AtomicU64; Trouble::ALL.len()]; CLASSES.len()],
    last_resort_sheds: AtomicU64,
    panics: AtomicU64,
    unknown_domains: AtomicU64,
    unknown_names: UnknownDomains,
    not_kept: AtomicU64,
    abandoned: AtomicU64,
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

    /// Lets go of the counts of rules that are gone, and keeps their sum.
    pub(crate) fn keep_only(&self, snapshot: &Snapshot) {
        let mut rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        let names: HashSet<(&str, &str)> = snapshot
            .domains()
            .flat_map(|domain| domain.rules.iter().map(|rule| (&*domain.name, &*rule.name)))
            .collect();
        rules.retain(|(domain, rule), counts| {
            let stays = names.contains(&(&**domain, &**rule));
            if !stays {
                self.gone.add_all(counts);
            }
            stays
        });
    }

    /// Takes note of a decision.
    pub(crate) fn decision(&self, decision: &Decision, took: Duration) {
        let rules = decision.domain.as_deref().map_or(&[][..], |loaded| &loaded.counts);
        self.took(took);
        self.outcomes[decision.outcome as usize].fetch_add(1, Relaxed);
        for (rule, note) in &decision.meaning.notes {
            if let Some(counts) = rules.get(*rule as usize) {
                counts.notes[*note as usize].fetch_add(1, Relaxed);
            }
        }
        if decision.is_clear && decision.meaning.shadow_alone.is_empty() {
            count_clear(&decision.meaning.parts, rules);
        } else {
            self.count_apart(decision, rules);
            count_limits(decision, rules);
        }
    }

    /// What is decided without limits.
    #[inline(never)]
    fn count_apart(&self, decision: &Decision, rules: &[Arc<RuleCounts>]) {
        if let Some(Deciding::Nobody(trouble, class)) = decision.deciding {
            self.count_undecided((trouble, class), decision.outcome);
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
        for rule in &decision.meaning.shadow_alone {
            let blocks = domain.rules.get(*rule as usize).is_some_and(|rule| rule.action == Action::Block);
            if let Some(counts) = rules.get(*rule as usize) {
                counts.add(if blocks { Came::ShadowDenied } else { Came::Bypassed });
            }
        }
    }

    fn count_undecided(&self, (trouble, class): (Trouble, Class), outcome: Outcome) {
        self.undecided.fetch_add(1, Relaxed);
        if trouble == Trouble::LastResort {
            self.last_resort_sheds.fetch_add(1, Relaxed);
        } else if outcome == Outcome::Allow {
            self.failed_open[class as usize][trouble as usize].fetch_add(1, Relaxed);
        }
    }

    /// Takes note of what came of a limit that its caller brought.
    pub(crate) fn throttle(&self, allowed: bool, took: Duration) {
        self.took(took);
        self.throttles[usize::from(!allowed)].fetch_add(1, Relaxed);
    }

    /// Takes note that nobody could count for such a limit.
    pub(crate) fn undecided_throttle(&self, trouble: Trouble, allowed: bool) {
        let outcome = if allowed { Outcome::Allow } else { Outcome::Shed };
        self.count_undecided((trouble, Class::Comfort), outcome);
    }

    fn took(&self, took: Duration) {
        let ns = took.as_secs().saturating_mul(1_000_000_000).saturating_add(took.subsec_nanos().into());
        let bucket = DURATION_BUCKETS_NS.partition_point(|end| *end < ns);
        self.durations[bucket].fetch_add(1, Relaxed);
        self.duration_sum_ns.fetch_add(ns, Relaxed);
    }

    /// Takes note of a domain that was asked for and that the rules do not have.
    pub(crate) fn unknown_domain(&self, name: &str) {
        self.unknown_names.note(name);
    }

    pub(crate) fn malformed(&self) {
        self.malformed.fetch_add(1, Relaxed);
    }

    pub(crate) fn panicked(&self) {
        self.panics.fetch_add(1, Relaxed);
    }

    pub(crate) fn abandoned(&self) {
        self.abandoned.fetch_add(1, Relaxed);
    }

    pub(crate) fn not_kept(&self) {
        self.not_kept.fetch_add(1, Relaxed);
    }

    /// What was counted of rules that are gone, together.
    pub fn gone(&self) -> &RuleCounts {
        &self.gone
    }

    /// The counts of the rules in force, by domain and rule.
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

    /// Of limits that callers brought, how many let pass and how many refused.
    pub fn throttles(&self) -> (u64, u64) {
        let [allowed, denied] = &self.throttles;
        (allowed.load(Relaxed), denied.load(Relaxed))
    }

    /// Checks that could not be asked.
    pub fn malformed_checks(&self) -> u64 {
        self.malformed.load(Relaxed)
    }

    /// Checks that nobody could decide.
    pub fn undecided_checks(&self) -> u64 {
        self.undecided.load(Relaxed)
    }

    /// Checks that nobody could decide and that were let pass, by class and by the word for what went wrong. Those that
    /// never happen are left out.
    pub fn failed_open(&self) -> impl Iterator<Item = (Class, &'static str, u64)> {
        CLASSES.into_iter().filter(|class| !class.is_exact()).flat_map(move |class| {
            let counts = &self.failed_open[class as usize];
            Trouble::ALL.map(|trouble| (class, trouble.word(), counts[trouble as usize].load(Relaxed)))
        })
    }

    /// Checks that nobody could decide and that were one too many for the last resort.
    pub fn last_resort_sheds(&self) -> u64 {
        self.last_resort_sheds.load(Relaxed)
    }

    /// Panics that were contained.
    pub fn panics(&self) -> u64 {
        self.panics.load(Relaxed)
    }

    /// Checks of domains that the rules do not have.
    pub fn unknown_domain_checks(&self) -> u64 {
        self.unknown_domains.load(Relaxed)
    }

    /// The names of domains that were asked for and that the rules do not have.
    pub fn unknown_names(&self) -> &UnknownDomains {
        &self.unknown_names
    }

    /// Checks whose caller was gone before the store answered.
    pub fn abandoned_checks(&self) -> u64 {
        self.abandoned.load(Relaxed)
    }

    /// Decisions that hold something and could not be remembered.
    pub fn not_kept_holds(&self) -> u64 {
        self.not_kept.load(Relaxed)
    }
}

/// What [`count_limits`] does if every limit let the request pass at once.
fn count_clear(parts: &[Part], rules: &[Arc<RuleCounts>]) {
    let mut last: Option<&Part> = None;
    for part in parts {
        if !last.is_some_and(|last| last.is_beside(part))
            && let Some(counts) = part.rule().and_then(|rule| rules.get(rule as usize))
        {
            counts.add(Came::Allowed);
        }
        last = Some(part);
    }
}

/// What came of the limits of a rule, which stand together.
#[derive(Clone, Copy, Default)]
struct Together {
    refuses: bool,
    enforced: bool,
    delays: bool,
}

/// Several limits of one rule stand together: the rule counts once.
#[inline(never)]
fn count_limits(decision: &Decision, rules: &[Arc<RuleCounts>]) {
    let mut last: Option<(&Part, Together)> = None;
    for one in decision.judged() {
        if let Some((part, together)) = last.take_if(|(part, _)| !part.is_beside(one.part)) {
            count(decision, rules, part, together);
        }
        let (_, together) = last.get_or_insert((one.part, Together::default()));
        together.refuses |= !one.allows();
        together.enforced |= one.part.enforced;
        together.delays |= one.verdict.delay_us() > 0;
    }
    if let Some((part, together)) = last {
        count(decision, rules, part, together);
    }
}

fn count(decision: &Decision, rules: &[Arc<RuleCounts>], part: &Part, together: Together) {
    if let Some(counts) = part.rule().and_then(|rule| rules.get(rule as usize)) {
        counts.add(came(decision, part, together));
    }
}

#[inline]
fn came(decision: &Decision, part: &Part, Together { refuses, enforced, delays }: Together) -> Came {
    match (refuses, enforced) {
        (true, true) => Came::Denied,
        (true, false) if degrades(decision, part) => Came::Degraded,
        (true, false) => Came::ShadowDenied,
        _ if delays => Came::Delayed,
        _ => Came::Allowed,
    }
}

#[cold]
fn degrades(decision: &Decision, part: &Part) -> bool {
    let rule = decision.rule_of(part);
    decision.outcome == Outcome::Degrade && rule.is_some_and(|rule| rule.action == Action::Degrade)
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use tidegate_core::Timestamp;
    use tidegate_rules::{Source, compile};
    use tidegate_store::Reference;

    use super::*;
    use crate::{Check, Descriptor, Engine};

    const RULES: &str = "domain: api
rules:
  - { name: a, limits: [99/s, 99/h] }
  - { name: b, by: [user], limit: 99/s }
  - { name: c, limits: [98/s, 98/h], mode: shadow }
  - { name: d, by: [user, plan], limits: [97/s, 97/h] }
";

    fn decide(engine: &Engine<Reference>, check: &Check<'_>) -> Decision {
        let asked = pin!(engine.check(check, Timestamp::from_micros(1_790_596_800_000_000)));
        match asked.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(decision) => decision.unwrap(),
            Poll::Pending => panic!("an embedded store answers at once"),
        }
    }

    #[test]
    fn what_is_clear_is_counted_as_all_is() {
        let engine = Engine::new(Reference::new());
        engine.install(compile(vec![Source::new("api.yaml", RULES)]).snapshot.unwrap());
        let (one, other) = ([("user", "alice"), ("plan", "free")], [("user", "bob")]);
        let both = [&one[..], &other].map(Descriptor::new);
        let asked: [(&[_], &[_]); 5] =
            [(&one, &[]), (&other, &[]), (&[], &[]), (&[], &both[..1]), (&[], &both)];
        for (attributes, descriptors) in asked {
            let decision = decide(&engine, &Check { attributes, descriptors, ..Check::new("api") });
            assert!(decision.is_clear);
            let counts = || (0..4).map(|_| Arc::default()).collect::<Vec<Arc<RuleCounts>>>();
            let (quickly, at_length) = (counts(), counts());
            count_clear(&decision.meaning.parts, &quickly);
            count_limits(&decision, &at_length);
            let seen = |counts: &[Arc<RuleCounts>]| -> Vec<(u64, u64)> {
                counts.iter().map(|one| (one.get(Came::Allowed), one.total())).collect()
            };
            assert_eq!(seen(&quickly), seen(&at_length));
        }
    }
}

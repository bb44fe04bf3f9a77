//! What a caller is told of a decision: headers on every answer, and a problem on a refusal.

use std::borrow::Cow;

use http::StatusCode;
use smallvec::SmallVec;
use tidegate_core::{Outcome as Fate, Retry, Verdict};
use tidegate_engine::{Check, Decision, LimitView, Outcome};
use tidegate_rules::Domain;
use tidegate_rules::rule::{Action, Mode};
use tidegate_rules::rule::{Counted, Rule};

use super::DoorSettings;
use super::partition::{Partition, Partitions};
use tidegate_wire::decision_id::DecisionId;
use tidegate_wire::headers::{self, HeaderLines, PartitionKey, Report, Summary, Unit};
use tidegate_wire::problem::{Kind, Problem};

/// What a caller is told of a decision.
#[derive(Clone, Debug)]
pub struct Told {
    /// Where it stands with its limits. The type of a body is not among them.
    pub headers: HeaderLines,
    /// Why it was refused, if it was.
    pub problem: Option<Problem>,
}

/// A decision, and the limits that had a word in it, which are gone through more than once.
pub(crate) struct Viewed<'d> {
    pub(crate) decision: &'d Decision,
    pub(crate) limits: SmallVec<[LimitView<'d>; 4]>,
}

impl<'d> Viewed<'d> {
    pub(crate) fn of(decision: &'d Decision) -> Self {
        Self { decision, limits: decision.limits().collect() }
    }
}

/// The limits that answers list: all of them, without those in shadow mode unless the setting tells them.
pub(crate) fn limits<'d>(
    settings: &DoorSettings,
    decision: &'d Decision,
) -> impl Iterator<Item = LimitView<'d>> {
    let tell_shadow = settings.tell_shadow;
    decision.limits().filter(move |view| tell_shadow || view.mode() != Mode::Shadow)
}

/// The rules over their limit that let the request pass all the same, each once.
pub(crate) fn exceeded(settings: &DoorSettings, decision: &Decision) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for view in limits(settings, decision).filter(|view| !view.allows()) {
        let lets_pass = matches!(view.action(), Action::Degrade | Action::Log);
        if lets_pass && !names.iter().any(|name| *name == view.rule_name()) {
            names.push(view.rule_name().to_owned());
        }
    }
    names
}

/// Why an answer may not be what the caller wanted.
pub(crate) fn warnings(check: &Check<'_>, decision: &Decision) -> Vec<Cow<'static, str>> {
    let warning = match decision.domain() {
        _ if decision.is_uncounted() => None,
        None => Some(NO_DOMAIN),
        Some(domain) if decision.limits().len() == 0 && leads_nowhere(check, domain) => {
            Some(if check.descriptors.is_empty() { NO_LEAF } else { NO_DESCRIPTOR })
        }
        Some(_) => None,
    };
    warning.into_iter().map(Cow::Borrowed).collect()
}

const NO_DOMAIN: &str = "no limit applies: the rules have no such domain";
const NO_LEAF: &str = "no limit applies: the rules of this domain are `descriptors:`, and no attribute of the check \
                       is a limit at the top of them; send `descriptors`";
const NO_DESCRIPTOR: &str = "no limit applies: the rules of this domain are `descriptors:`, and no descriptor of the check \
                             leads to a limit of them";

/// Whether a domain has nothing but a tree of descriptors, and the check meets none of its limits.
fn leads_nowhere(check: &Check<'_>, domain: &Domain) -> bool {
    let by_descriptor = |entries: &[(&str, &str)]| domain.tree.find(entries.iter().copied()).is_some();
    let by_attribute = |(name, value): &(&str, &str)| domain.tree.find_leaf(name, value).is_some();
    domain.is_tree_only()
        && !if check.descriptors.is_empty() {
            check.attributes.iter().any(by_attribute)
        } else {
            check.descriptors.iter().any(|descriptor| by_descriptor(descriptor.entries))
        }
}

/// The window of a limit in seconds, rounded up; nothing for concurrency.
pub(crate) fn window_s(view: &LimitView<'_>) -> Option<u64> {
    view.limit.window_us().map(|us| us.div_ceil(1_000_000))
}

/// A limit that is told, with its verdict as the caller should take it.
struct Line<'d> {
    view: &'d LimitView<'d>,
    verdict: Verdict,
    partition: Option<Partition>,
}

pub(super) fn tell(settings: &DoorSettings, check: &Check<'_>, viewed: &Viewed<'_>, random: u64) -> Told {
    let decision = viewed.decision;
    let lines = lines(settings, check, viewed);
    let reports: SmallVec<[Report<'_>; 4]> = lines.iter().map(Line::report).collect();
    let mut summary = Summary::new(&reports, decision.at);
    if let Some(us) = decision.retry_after_us() {
        summary = summary.retrying_after_s(us.div_ceil(1_000_000));
    }
    let summary = summary.jittered(&settings.headers, random);
    let mut headers = headers::of(&summary, &settings.headers);
    if decision.allowed() {
        return Told { headers, problem: None };
    }
    // A rule that refuses by itself has no limit to report.
    if let Some(rule) = blocking(decision).filter(|_| settings.headers.denied_by) {
        headers.denied_by(&rule.dimension, &rule.name);
    }
    Told { headers, problem: Some(problem(decision, &summary)) }
}

/// The limits that have a say. Those in the shadow have none: a caller that is told of them would heed them.
fn lines<'v>(
    settings: &DoorSettings,
    check: &Check<'_>,
    Viewed { decision, limits }: &'v Viewed<'_>,
) -> SmallVec<[Line<'v>; 4]> {
    let partitions = Partitions::of(settings, check, decision);
    let told = limits.iter().filter(|view| view.enforced || decision.refused_by(view));
    let line = |view: &'v LimitView<'v>| Line {
        verdict: verdict(decision, view),
        partition: partitions.as_ref().and_then(|partitions| partitions.partition(view)),
        view,
    };
    told.map(line).collect()
}

/// A rule that is closed refuses whatever its limits have left; what passed was refused by nobody.
fn verdict(decision: &Decision, view: &LimitView<'_>) -> Verdict {
    let next_after_us = view.verdict.retry_after_us().unwrap_or(view.verdict.next_after_us);
    let outcome = match view.verdict.outcome {
        Fate::Refused(_) if decision.allowed() => Fate::Allowed,
        Fate::Refused(Retry::Never) => Fate::Refused(Retry::Never),
        _ if decision.allowed() || view.blocked_us == 0 => return *view.verdict,
        _ => Fate::Refused(Retry::After(view.retry_after_us().unwrap_or(view.blocked_us))),
    };
    let remaining = if view.blocked_us > 0 { 0 } else { view.verdict.remaining };
    Verdict { outcome, remaining, next_after_us, ..*view.verdict }
}

impl Line<'_> {
    fn report(&self) -> Report<'_> {
        let view = self.view;
        Report {
            rule: view.rule_name(),
            unit: if view.counted() == Counted::Bytes { Unit::ContentBytes } else { Unit::of(view.limit) },
            dimension: Some(view.rule.map_or("descriptor", |rule| &rule.dimension)),
            resource: Some(view.rule_name()),
            partition_key: self.partition.as_ref().map(|key| PartitionKey::from_keyed_hash(key)),
            ..Report::new(view.policy(), view.limit, &self.verdict)
        }
    }
}

/// The rule that refuses by itself.
fn blocking(decision: &Decision) -> Option<&Rule> {
    decision.deciding_rule().filter(|_| !decision.allowed() && decision.deciding_limit().is_none())
}

fn problem(decision: &Decision, summary: &Summary<'_>) -> Problem {
    let status = StatusCode::from_u16(decision.status()).unwrap_or(StatusCode::TOO_MANY_REQUESTS);
    let mut problem = Problem::from_summary(kind(decision, status), summary).with_status(status);
    if let Some(rule) = blocking(decision) {
        problem = problem.violating(&*rule.name).with_detail(format!("rule {} lets nothing pass", rule.name));
    }
    if decision.is_uncounted() {
        problem = problem.with_detail(busy(decision, summary));
    }
    if let Some(rule) = decision.deciding_rule() {
        problem = in_the_rules_words(problem, rule);
    }
    let id = decision_id(decision);
    problem.with_instance(instance(&id)).with_id(id).with_code(decision.reason())
}

fn kind(decision: &Decision, status: StatusCode) -> Kind {
    match decision.outcome {
        Outcome::Challenge => Kind::AbnormalUsage,
        // A limit of 0 of a tree is a limit all the same.
        _ if blocking(decision).is_some() && status != StatusCode::TOO_MANY_REQUESTS => Kind::Blocked,
        _ if status == StatusCode::SERVICE_UNAVAILABLE => Kind::ReducedCapacity,
        // 401 speaks of who asks, and no problem type of limits does.
        _ if status == StatusCode::UNAUTHORIZED => Kind::Blocked,
        _ => Kind::QuotaExceeded,
    }
}

fn busy(decision: &Decision, summary: &Summary<'_>) -> String {
    let why = match decision.outcome {
        Outcome::Shed => "there are too many requests at once",
        _ => "it could not be decided whether the request may pass",
    };
    match summary.retry_after_s() {
        Some(seconds) => format!("{why}; retry in {seconds} s"),
        None => why.to_owned(),
    }
}

fn in_the_rules_words(mut problem: Problem, rule: &Rule) -> Problem {
    if let Some(title) = rule.refusal.title.as_deref() {
        problem = problem.with_title(title);
    }
    if let Some(message) = rule.refusal.message.as_deref() {
        problem = problem.with_detail(message);
    }
    problem
}

/// A decision's id as callers know it.
pub fn decision_id(decision: &Decision) -> String {
    DecisionId::new(decision.id.0).as_str().to_owned()
}

/// The same as a URI: the digits in the groups of a UUID.
fn instance(id: &str) -> String {
    format!("urn:uuid:{}-{}-{}-{}-{}", &id[..8], &id[8..12], &id[12..16], &id[16..20], &id[20..])
}

//! Which of the matching rules apply: those that are on, in time, first of their group and not replaced.

use smallvec::SmallVec;
use tidegate_core::Timestamp;
use tidegate_rules::Domain;
use tidegate_rules::condition::Facts;
use tidegate_rules::rule::{Mode, Rank, Rule};

use crate::check::{Check, Descriptor};
use crate::matching::{self, Matches, View};

/// A rule that applies.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "five questions that have nothing to do with each other")]
pub(super) struct Chosen {
    /// Which; `None` for a limit that came with a descriptor.
    pub(super) rule: Option<u32>,
    pub(super) source: Source,
    pub(super) descriptor: Option<u16>,
    /// The request is held to it.
    pub(super) enforced: bool,
    /// The request counts.
    pub(super) counted: bool,
    /// Its word decides, and is not only reported.
    pub(super) decides: bool,
    /// It takes its group: it is enforced, and has what it counts by.
    pub(super) takes: bool,
    /// It is [plain](Rule::plain), and nothing is said about descriptors or other views.
    pub(super) plain: bool,
}

impl Chosen {
    /// A rule that has nothing to ask: see [`Rule::plain`].
    #[inline]
    const fn plain(rule: u32, view: u16) -> Self {
        Self {
            rule: Some(rule),
            source: Source::View { view },
            descriptor: None,
            enforced: true,
            counted: true,
            decides: true,
            takes: false,
            plain: true,
        }
    }
}

/// Where a match comes from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    View { view: u16 },
    Tree { descriptor: u16 },
}

/// The rules that apply, in order, into a list that is empty yet.
pub(super) fn choose(
    check: &Check<'_>,
    domain: &Domain,
    matches: &Matches<'_>,
    now: Timestamp,
    chosen: &mut SmallVec<[Chosen; 8]>,
) {
    for (place, view) in (0_u16..).zip(matches.views.iter()) {
        choose_in_view(check, domain, (place, view, now), chosen);
    }
    for one in &matches.tree {
        let rule = one.rule.map(|rule| &domain.rules[rule as usize]);
        let mode = rule.map_or(domain.brought, |rule| rule.mode);
        if mode == Mode::Off {
            continue;
        }
        let decides = mode == Mode::Enforce && rule.is_none_or(super::decides);
        let source = Source::Tree { descriptor: one.descriptor };
        let (rule, descriptor) = (one.rule, Some(one.descriptor));
        let (enforced, counted, takes) = (true, true, false);
        chosen.push(Chosen { rule, source, descriptor, enforced, counted, decides, takes, plain: false });
    }
    if domain.groups > 0 {
        first_of_groups(domain, chosen);
    }
    if !matches.tree.is_empty() {
        drop_replaced(domain, chosen);
    }
}

fn choose_in_view(
    check: &Check<'_>,
    domain: &Domain,
    (place, view, now): (u16, &View<'_>, Timestamp),
    chosen: &mut SmallVec<[Chosen; 8]>,
) {
    let is_plain = check.descriptors.is_empty();
    for number in view.rules.as_slice() {
        let rule = &domain.rules[*number as usize];
        if rule.plain.is_some() && is_plain {
            chosen.push(Chosen::plain(*number, place));
            continue;
        }
        if !in_force(rule, now) {
            continue;
        }
        let (enforced, counted) = match &rule.counts {
            Some(counts) => (rule.applies.holds(&view.facts), counts.holds(&view.facts)),
            None => (true, true),
        };
        let descriptor = descriptor_of(check, domain, rule, view);
        let decides = enforced && super::decides(rule);
        let takes = enforced && takes_its_group(rule, &view.facts);
        let (source, rule) = (Source::View { view: place }, Some(*number));
        chosen.push(Chosen { rule, source, descriptor, enforced, counted, decides, takes, plain: false });
    }
}

/// The rules that decide by themselves, in whatever mode; the first in rank goes first. Most checks meet none.
pub(super) fn alone(domain: &Domain, chosen: &[Chosen]) -> SmallVec<[u32; 2]> {
    let mut found: SmallVec<[u32; 2]> = SmallVec::new();
    for rule in chosen.iter().filter(|one| one.enforced).filter_map(|one| one.rule) {
        if domain.rules[rule as usize].decides_alone() {
            found.push(rule);
        }
    }
    if found.len() > 1 {
        found.sort_by_key(|rule| domain.rules[*rule as usize].rank);
    }
    found
}

fn in_force(rule: &Rule, now: Timestamp) -> bool {
    rule.mode != Mode::Off
        && rule.expires_at.is_none_or(|end| now < end)
        && rule.schedule.as_ref().is_none_or(|schedule| schedule.holds(now))
}

/// The descriptor that a rule's verdict is reported with: the first that names what it counts by.
fn descriptor_of(check: &Check<'_>, domain: &Domain, rule: &Rule, view: &View<'_>) -> Option<u16> {
    if check.descriptors.is_empty() {
        return None;
    }
    if view.descriptor.is_some() {
        return view.descriptor;
    }
    let counted_by = |name: &str| {
        let attribute = matching::attribute(domain, name);
        attribute
            .is_some_and(|attribute| rule.by.iter().any(|by| by.attributes().any(|own| own == attribute)))
    };
    let names_it = |descriptor: &Descriptor<'_>| descriptor.entries.iter().any(|(name, _)| counted_by(name));
    check.descriptors.iter().position(names_it).map_or(Some(0), |place| u16::try_from(place).ok())
}

/// Whether a rule takes the place of others of its group, if the request is held to it: one in the shadow is judged beside
/// them, and one that lacks what it counts by leaves the place to the next.
pub(crate) fn takes_its_group(rule: &Rule, facts: &Facts<'_>) -> bool {
    rule.mode == Mode::Enforce && rule.by.iter().all(|by| by.value(facts).is_some())
}

/// Of those that take their group only the one of the lowest rank stays.
fn first_of_groups(domain: &Domain, chosen: &mut SmallVec<[Chosen; 8]>) {
    let group = |one: &Chosen| one.rule.and_then(|rule| domain.rules[rule as usize].group);
    let ranks: SmallVec<[_; 8]> = chosen.iter().filter(|one| one.takes).filter_map(group).collect();
    let is_first = |own: Rank| !ranks.iter().any(|other| other.group == own.group && other.rank < own.rank);
    chosen.retain(|one| !one.takes || group(one).is_none_or(is_first));
}

/// Limits of a tree whose names another one of this check replaces are as if they were not there.
fn drop_replaced(domain: &Domain, chosen: &mut SmallVec<[Chosen; 8]>) {
    let tree = |one: &Chosen| one.rule.and_then(|rule| domain.rules[rule as usize].tree.as_deref());
    let replaced: SmallVec<[&Box<str>; 4]> =
        chosen.iter().filter_map(tree).flat_map(|tree| &tree.replaces).collect();
    if replaced.is_empty() {
        return;
    }
    chosen.retain(|one| {
        let name = tree(one).and_then(|tree| tree.limit_name.as_ref());
        name.is_none_or(|name| !replaced.contains(&name))
    });
}

//! Rules that are never reached, because another one goes first and takes all that they match.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt::Write as _;

use super::implies::implies;
use super::{always, warning};
use crate::condition::{Condition, Test};
use crate::diagnostic::Diagnostic;
use crate::rule::{Action, Mode, Rule};
use crate::snapshot::Domain;

/// The rules that go before others, found once for all rules of a domain.
pub(super) struct Firsts<'d> {
    /// Of each group the first that takes everything.
    everything: HashMap<u16, &'d Rule>,
    /// Of each group and condition the first that takes what it matches.
    same: HashMap<(u16, String), &'d Rule>,
    /// The first two that let everything pass: one goes before the other.
    bypasses: Vec<&'d Rule>,
    /// Those that decide by themselves, the first ones first.
    alone: Vec<&'d Rule>,
}

/// The most rules that decide by themselves to which all others are held.
const MOST_ALONE: usize = 64;

impl<'d> Firsts<'d> {
    pub(super) fn of(domain: &'d Domain) -> Self {
        let mut firsts = Self {
            everything: HashMap::new(),
            same: HashMap::new(),
            bypasses: Vec::new(),
            alone: Vec::new(),
        };
        for rule in domain.rules.iter().filter(|rule| is_always_in_force(rule)) {
            if let Some(group) = rule.group.filter(|_| rule.by.is_empty()) {
                if always(&rule.applies) {
                    keep_first(firsts.everything.entry(group.group), rule);
                }
                keep_first(firsts.same.entry((group.group, exactly(&rule.applies))), rule);
            }
            if rule.action == Action::Bypass && always(&rule.applies) {
                firsts.bypasses.push(rule);
            }
            if surely_decides(rule) {
                firsts.alone.push(rule);
            }
        }
        firsts.alone.sort_by_key(|rule| rule.rank);
        firsts.alone.truncate(MOST_ALONE);
        firsts.bypasses.sort_by_key(|rule| rule.rank);
        firsts.bypasses.truncate(2);
        firsts
    }

    pub(super) fn warn(&self, rule: &Rule, said: &mut Vec<Diagnostic>) {
        if matches!(&rule.applies, Condition::Any(branches) if branches.is_empty()) {
            let never = warning(rule, "unreachable", "the rule can never match");
            said.push(never.help("its `any` has no branches"));
        }
        if let Some(first) = self.takes_everything(rule) {
            let message = format!("the rule is never reached: `{first}` matches everything and goes first");
            let help = format!("give `{first}` a `match`, or this one a higher priority");
            said.push(warning(rule, "unreachable", message).help(help));
        } else if let Some(first) = self.takes_the_same(rule) {
            let message = format!("the rule is never reached: `{first}` matches the same and goes first");
            said.push(
                warning(rule, "unreachable", message).help("give one of them another `match`, or remove one"),
            );
        } else if let Some(first) = self.decides_before(rule) {
            let what = if first.action == Action::Block { "blocks" } else { "lets pass" };
            let message = format!("the rule is never reached: `{}` {what} all that it matches", first.name);
            let help = format!("narrow the `match` of `{}`, or remove this rule", first.name);
            said.push(warning(rule, "unreachable", message).help(help));
        }
    }

    fn takes_everything(&self, rule: &Rule) -> Option<&'d str> {
        let grouped = rule.group.and_then(|group| self.everything.get(&group.group));
        let grouped = grouped.filter(|first| first.rank < rule.rank);
        let bypass = self
            .bypasses
            .iter()
            .find(|other| other.name != rule.name && !(rule.decides_alone() && rule.rank < other.rank));
        grouped.or(bypass).map(|first| &*first.name)
    }

    /// A rule that decides by itself whatever this one matches. One that counts what it does not match is not asked about,
    /// nor is one that decides by itself in the shadow: that is reported all the same.
    fn decides_before(&self, rule: &Rule) -> Option<&'d Rule> {
        let is_seen = rule.decides_alone() && rule.mode == Mode::Shadow;
        if rule.mode == Mode::Off || rule.counts.is_some() || is_seen {
            return None;
        }
        let goes_first = |first: &&Rule| {
            first.name != rule.name
                && !(rule.decides_alone() && rule.rank < first.rank)
                && implies(&rule.applies, &first.applies)
        };
        self.alone.iter().copied().find(goes_first)
    }

    fn takes_the_same(&self, rule: &Rule) -> Option<&'d str> {
        let first = self.same.get(&(rule.group?.group, exactly(&rule.applies)))?;
        (first.rank < rule.rank).then_some(&*first.name)
    }
}

fn is_always_in_force(rule: &Rule) -> bool {
    rule.mode == Mode::Enforce && rule.schedule.is_none() && rule.expires_at.is_none()
}

/// Outside of groups nothing comes before it.
fn surely_decides(rule: &Rule) -> bool {
    rule.decides_alone() && rule.group.is_none() && rule.tree.is_none() && rule.by.is_empty()
}

fn keep_first<'d, K>(place: Entry<'_, K, &'d Rule>, rule: &'d Rule) {
    let first = place.or_insert(rule);
    if rule.rank < first.rank {
        *first = rule;
    }
}

/// A text that two conditions share only if they ask for the same. It holds values in clear and is never shown.
fn exactly(condition: &Condition) -> String {
    let parts = |sign: &str, parts: &[Condition]| {
        let mut parts: Vec<String> = parts.iter().map(exactly).collect();
        parts.sort();
        format!("{sign}({})", parts.join(" "))
    };
    match condition {
        Condition::All(all) => parts("all", all),
        Condition::Any(any) => parts("any", any),
        Condition::Not(part) => format!("not({})", exactly(part)),
        Condition::Is(attribute, test) => format!("{}:{}", attribute.index(), asked(test)),
    }
}

pub(super) fn asked(test: &Test) -> String {
    let mut text = format!("{test:?}");
    let mut add = |part: &str| write!(text, " {part:?}").expect("a string can always grow");
    match test {
        Test::OneOf(values) => {
            let mut values: Vec<&str> = values.iter().map(|value| &**value).collect();
            values.sort_unstable();
            for value in values {
                add(value);
            }
        }
        Test::Prefix(prefix) => add(prefix),
        Test::Glob(glob) => add(&glob.to_string()),
        Test::Regex(regex) => add(regex.as_str()),
        Test::Cidr(networks) => networks.iter().for_each(|network| add(&network.to_string())),
        Test::Number(numbers) => add(&numbers.to_string()),
        Test::Present | Test::Absent => {}
    }
    text
}

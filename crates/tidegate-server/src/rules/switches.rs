//! Switches: modes that an operator sets for a rule, for all of a domain or for everything, over what the files say, until
//! they are taken back or end by themselves. They outlive readings of the files, but not the process.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use tidegate_core::Timestamp;
use tidegate_rules::diagnostic::nearest;
use tidegate_rules::rule::Mode;
use tidegate_rules::{Snapshot, switch};

/// The most switches at once.
pub(crate) const MOST_SWITCHES: usize = 1_000;

/// What a switch is on. The narrowest has the say.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Target {
    /// All rules.
    Everything,
    /// All rules of a domain.
    Domain(Box<str>),
    /// One rule of a domain.
    Rule(Box<str>, Box<str>),
}

/// A mode that is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Switch {
    pub(crate) mode: Mode,
    /// When it was set.
    pub(crate) since: Timestamp,
    /// When it ends by itself, if it does.
    pub(crate) until: Option<Timestamp>,
    /// Why it was set, in the operator's words.
    pub(crate) reason: Option<Box<str>>,
    /// From where it was set.
    pub(crate) by: Box<str>,
}

/// What somebody wants to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Sets a mode, in place of what was set there before.
    Set { target: Target, mode: Mode, lasts: Option<Duration>, reason: Option<Box<str>> },
    /// Takes back what is set there, and what is set for parts of it.
    TakeBack(Target),
}

/// Why nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refused {
    /// There is no such domain, or no such rule.
    #[error("the rules in force have no {what}{}", meant(.nearest.as_deref()))]
    NotThere { what: String, nearest: Option<String> },
    /// There is nothing to take back.
    #[error("there is no switch on {0}; nothing was changed")]
    NoSwitch(Target),
    /// There are too many.
    #[error(
        "there are {MOST_SWITCHES} switches, and that is the most; take one back, or switch a whole domain"
    )]
    Full,
    /// The rules could not be put in force again.
    #[error(
        "the rules in force could not be compiled again, which is a fault of Tidegate; nothing was changed"
    )]
    Broke,
}

fn meant(nearest: Option<&str>) -> String {
    nearest.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}

/// All that are set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Switches(BTreeMap<Target, Switch>);

impl Switches {
    /// Whether none is set.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many are set.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// All of them, the widest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Target, &Switch)> {
        self.0.iter()
    }

    /// With one more, or another in its place.
    pub(crate) fn with(mut self, target: Target, switch: Switch) -> Result<Self, Refused> {
        if self.len() >= MOST_SWITCHES && !self.0.contains_key(&target) {
            return Err(Refused::Full);
        }
        self.0.insert(target, switch);
        Ok(self)
    }

    /// Without those on a target and on parts of it.
    pub(crate) fn without(mut self, target: &Target) -> Result<Self, Refused> {
        let before = self.len();
        self.0.retain(|own, _| !target.has(own));
        if self.len() == before { Err(Refused::NoSwitch(target.clone())) } else { Ok(self) }
    }

    /// Those that have ended.
    pub(crate) fn ended(&self, now: Timestamp) -> Vec<Target> {
        let has_ended = |switch: &Switch| switch.until.is_some_and(|until| now >= until);
        self.iter().filter(|(_, switch)| has_ended(switch)).map(|(target, _)| target.clone()).collect()
    }

    /// Without these, each by itself.
    pub(crate) fn without_each(mut self, targets: &[Target]) -> Self {
        self.0.retain(|target, _| !targets.contains(target));
        self
    }
}

impl switch::Switches for Switches {
    fn mode(&self, domain: &str, rule: Option<&str>) -> Option<Mode> {
        if self.is_empty() {
            return None;
        }
        let of_rule = rule.and_then(|rule| self.0.get(&Target::Rule(domain.into(), rule.into())));
        let of_domain = || self.0.get(&Target::Domain(domain.into()));
        let of_all = || self.0.get(&Target::Everything);
        of_rule.or_else(of_domain).or_else(of_all).map(|switch| switch.mode)
    }
}

impl Target {
    /// Whether another is the same or a part of it.
    fn has(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Everything, _) => true,
            (Self::Domain(own), Self::Domain(domain) | Self::Rule(domain, _)) => own == domain,
            _ => self == other,
        }
    }

    /// The domain, if it is on one or a part of one.
    pub(crate) fn domain(&self) -> Option<&str> {
        match self {
            Self::Everything => None,
            Self::Domain(domain) | Self::Rule(domain, _) => Some(domain),
        }
    }

    /// The rule, if it is on one.
    pub(crate) fn rule(&self) -> Option<&str> {
        if let Self::Rule(_, rule) = self { Some(rule) } else { None }
    }

    /// How many rules it is about.
    pub(crate) fn rules(&self, snapshot: &Snapshot) -> usize {
        match self {
            Self::Everything => snapshot.rules(),
            Self::Domain(domain) => snapshot.domain(domain).map_or(0, |domain| domain.rules.len()),
            Self::Rule(domain, rule) => {
                usize::from(snapshot.domain(domain).is_some_and(|domain| domain.rule(rule).is_some()))
            }
        }
    }

    /// Whether there is such a thing; the nearest if there is not.
    pub(crate) fn find(&self, snapshot: &Snapshot) -> Result<(), Refused> {
        let Some(name) = self.domain() else { return Ok(()) };
        let Some(domain) = snapshot.domain(name) else {
            let nearest = nearest(name, snapshot.domains().map(|domain| &*domain.name));
            return Err(Refused::not_there(format!("domain `{}`", name.escape_debug()), nearest));
        };
        match self.rule() {
            Some(rule) if domain.rule(rule).is_none() => {
                let nearest = nearest(rule, domain.rules.iter().map(|rule| &*rule.name));
                Err(Refused::not_there(
                    format!("rule `{}` in the domain `{name}`", rule.escape_debug()),
                    nearest,
                ))
            }
            _ => Ok(()),
        }
    }
}

impl Refused {
    fn not_there(what: String, nearest: Option<&str>) -> Self {
        Self::NotThere { what, nearest: nearest.map(str::to_owned) }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Everything => f.write_str("everything"),
            Self::Domain(domain) => write!(f, "the domain `{}`", domain.escape_debug()),
            Self::Rule(domain, rule) => {
                write!(f, "the rule `{}` of `{}`", rule.escape_debug(), domain.escape_debug())
            }
        }
    }
}

#[cfg(test)]
mod tests;

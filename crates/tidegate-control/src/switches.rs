//! Switches: modes that an operator sets for a rule, a domain or everything, over the rule files.
//!
//! In: requests of operators. Out: the mode of each rule when a snapshot is installed. A switch
//! lasts until it is cleared or ends by itself; it survives reloads, but not a restart.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use tidegate_core::Timestamp;
use tidegate_rules::diagnostic::nearest;
use tidegate_rules::rule::Mode;
use tidegate_rules::{Snapshot, switch};

/// The most switches at once.
pub const MAX_SWITCHES: usize = 1_000;

/// What a switch applies to. The narrowest target wins.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SwitchTarget {
    /// All rules.
    Everything,
    /// All rules of a domain.
    Domain(Box<str>),
    /// One rule of a domain: the domain, the rule.
    Rule(Box<str>, Box<str>),
}

/// A mode that is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    /// The mode.
    pub mode: Mode,
    /// When it was set.
    pub since: Timestamp,
    /// When it ends by itself, if it does.
    pub until: Option<Timestamp>,
    /// Why it was set, in the operator's words.
    pub reason: Option<Box<str>>,
    /// The caller that set it, such as the address of a client.
    pub by: Box<str>,
}

/// A change to the switches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SwitchChange {
    /// Sets a mode, in place of the one set for the same target before.
    Set {
        /// What it applies to.
        target: SwitchTarget,
        /// The mode.
        mode: Mode,
        /// How long it lasts; `None` until it is cleared.
        duration: Option<Duration>,
        /// Why, in the operator's words.
        reason: Option<Box<str>>,
    },
    /// Clears the switches on a target and on its parts.
    Clear(SwitchTarget),
}

/// Why switches were not changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SwitchError {
    /// The rules in force have no such domain or rule.
    #[error("the rules in force have no {what}{}", hint(.nearest.as_deref()))]
    UnknownTarget {
        /// What was asked for.
        what: String,
        /// The nearest name that exists.
        nearest: Option<String>,
    },
    /// There is no switch to clear.
    #[error("there is no switch on {0}; nothing was changed")]
    NoSwitch(SwitchTarget),
    /// There are [`MAX_SWITCHES`] switches already.
    #[error(
        "there are {MAX_SWITCHES} switches, and that is the most; take one back, or switch a whole domain"
    )]
    TooMany,
    /// The texts in force could not be compiled again.
    #[error(
        "the rules in force could not be compiled again, which is a fault of Tidegate; nothing was changed"
    )]
    CompileFailed,
    /// Too many requests wait, or the watcher is gone.
    #[error("the rules are being read just now; try again")]
    Busy,
}

fn hint(nearest: Option<&str>) -> String {
    nearest.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}

/// All switches that are set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Switches(BTreeMap<SwitchTarget, Switch>);

impl Switches {
    /// Whether none is set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many are set.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// All of them, the widest target first.
    pub fn iter(&self) -> impl Iterator<Item = (&SwitchTarget, &Switch)> {
        self.0.iter()
    }

    /// Adds a switch, or replaces the one on the same target.
    pub(crate) fn with(mut self, target: SwitchTarget, switch: Switch) -> Result<Self, SwitchError> {
        if self.len() >= MAX_SWITCHES && !self.0.contains_key(&target) {
            return Err(SwitchError::TooMany);
        }
        self.0.insert(target, switch);
        Ok(self)
    }

    /// Removes the switches on a target and on its parts.
    pub(crate) fn without(mut self, target: &SwitchTarget) -> Result<Self, SwitchError> {
        let before = self.len();
        self.0.retain(|own, _| !target.includes(own));
        if self.len() == before { Err(SwitchError::NoSwitch(target.clone())) } else { Ok(self) }
    }

    /// The targets of switches that have ended.
    pub(crate) fn ended(&self, now: Timestamp) -> Vec<SwitchTarget> {
        let has_ended = |switch: &Switch| switch.until.is_some_and(|until| now >= until);
        self.iter().filter(|(_, switch)| has_ended(switch)).map(|(target, _)| target.clone()).collect()
    }

    /// Removes the switches on exactly these targets.
    pub(crate) fn without_each(mut self, targets: &[SwitchTarget]) -> Self {
        self.0.retain(|target, _| !targets.contains(target));
        self
    }
}

impl switch::Switches for Switches {
    fn mode(&self, domain: &str, rule: Option<&str>) -> Option<Mode> {
        if self.is_empty() {
            return None;
        }
        let of_rule = rule.and_then(|rule| self.0.get(&SwitchTarget::Rule(domain.into(), rule.into())));
        let of_domain = || self.0.get(&SwitchTarget::Domain(domain.into()));
        let of_all = || self.0.get(&SwitchTarget::Everything);
        of_rule.or_else(of_domain).or_else(of_all).map(|switch| switch.mode)
    }
}

impl SwitchTarget {
    /// Whether another target is the same or a part of this one.
    fn includes(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Everything, _) => true,
            (Self::Domain(own), Self::Domain(domain) | Self::Rule(domain, _)) => own == domain,
            _ => self == other,
        }
    }

    /// The domain; `None` for everything.
    pub fn domain(&self) -> Option<&str> {
        match self {
            Self::Everything => None,
            Self::Domain(domain) | Self::Rule(domain, _) => Some(domain),
        }
    }

    /// The rule, if the target is one.
    pub fn rule(&self) -> Option<&str> {
        if let Self::Rule(_, rule) = self { Some(rule) } else { None }
    }

    /// How many rules of a snapshot it applies to.
    pub fn rules(&self, snapshot: &Snapshot) -> usize {
        match self {
            Self::Everything => snapshot.rules(),
            Self::Domain(domain) => snapshot.domain(domain).map_or(0, |domain| domain.rules.len()),
            Self::Rule(domain, rule) => {
                usize::from(snapshot.domain(domain).is_some_and(|domain| domain.rule(rule).is_some()))
            }
        }
    }

    /// Checks that a snapshot has the target; the error names the nearest one.
    pub(crate) fn find(&self, snapshot: &Snapshot) -> Result<(), SwitchError> {
        let Some(name) = self.domain() else { return Ok(()) };
        let Some(domain) = snapshot.domain(name) else {
            let nearest = nearest(name, snapshot.domains().map(|domain| &*domain.name));
            return Err(SwitchError::unknown(format!("domain `{}`", name.escape_debug()), nearest));
        };
        match self.rule() {
            Some(rule) if domain.rule(rule).is_none() => {
                let nearest = nearest(rule, domain.rules.iter().map(|rule| &*rule.name));
                Err(SwitchError::unknown(
                    format!("rule `{}` in the domain `{name}`", rule.escape_debug()),
                    nearest,
                ))
            }
            _ => Ok(()),
        }
    }
}

impl SwitchError {
    fn unknown(what: String, nearest: Option<&str>) -> Self {
        Self::UnknownTarget { what, nearest: nearest.map(str::to_owned) }
    }
}

impl fmt::Display for SwitchTarget {
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

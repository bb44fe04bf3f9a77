//! Why: which rules a check matches, in which order, what it would be charged where, and why not the others.

use tidegate_core::Timestamp;
use tidegate_rules::condition::Facts;
use tidegate_rules::name::AttributeId;
use tidegate_rules::rule::{By, Mode, Rule, Scope};
use tidegate_rules::words::{is_secret, shown, why_not};
use tidegate_rules::{Domain, Snapshot};

use crate::check::{Check, Malformed};
use crate::matching::{self, Matches};
use crate::meaning::Tier;
use crate::resolve::{self, Resolved};

/// What a check meets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// Whether the rules have the domain.
    pub known_domain: bool,
    /// The tenant that counters live with, if the domain has one and the request names it.
    pub tenant: Option<String>,
    /// What followed from what the request said.
    pub derived: Vec<(String, String)>,
    /// The rule that decides by itself, if there is one.
    pub alone: Option<String>,
    /// Every rule of the domain, in order.
    pub rules: Vec<Explained>,
}

/// A rule's part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// Its name.
    pub rule: String,
    /// Where it was written.
    pub origin: String,
    /// Its mode in force.
    pub mode: Mode,
    /// The mode that a switch has set for it, if one has.
    pub switched_to: Option<Mode>,
    /// Its part.
    pub part: Part,
}

/// What a rule has to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// It applies.
    Applies {
        /// Whether its word decides, or is only reported.
        decides: bool,
        /// What is charged.
        charges: Vec<Charged>,
    },
    /// It decides by itself.
    Alone,
    /// It does not apply, and why.
    Not(String),
}

/// What is charged to one limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Charged {
    /// The limit's name.
    pub policy: String,
    /// The limit.
    pub limit: String,
    /// The tier that it is of, if it is of one.
    pub tier: Option<String>,
    /// Units.
    pub cost: u64,
    /// The counter: whose, and by which values.
    pub counter: String,
}

/// Explains a check under some rules. Nothing is asked of a store.
pub fn explain(check: &Check<'_>, snapshot: &Snapshot, now: Timestamp) -> Result<Explanation, Malformed> {
    check.validate()?;
    let Some(domain) = snapshot.domain(check.domain) else {
        let rules = Vec::new();
        return Ok(Explanation {
            known_domain: false,
            tenant: None,
            derived: Vec::new(),
            alone: None,
            rules,
        });
    };
    let matches = matching::find(check, domain)?;
    let resolved = resolve::plan(check, domain, &matches, (now, tidegate_core::Ticket::default()))?;
    let way = Way { check, domain, matches: &matches, resolved: &resolved, now };
    let facts = &matches.views.first.facts;
    Ok(Explanation {
        known_domain: true,
        tenant: domain.tenant.and_then(|tenant| way.shown(tenant, facts)).map(str::to_owned),
        derived: way.derived(facts),
        alone: resolved.meaning.alone.map(|rule| domain.rules[rule as usize].name.to_string()),
        rules: (0_u32..).zip(&domain.rules).map(|(number, rule)| way.rule(number, rule)).collect(),
    })
}

struct Way<'a, 'v> {
    check: &'a Check<'v>,
    domain: &'a Domain,
    matches: &'a Matches<'v>,
    resolved: &'a Resolved,
    now: Timestamp,
}

impl Way<'_, '_> {
    fn derived(&self, facts: &Facts<'_>) -> Vec<(String, String)> {
        let said = |name: &str| {
            let entries = self.check.descriptors.iter().flat_map(|descriptor| descriptor.entries);
            self.check.attributes.iter().chain(entries).any(|(said, _)| *said == name)
        };
        let names = facts.iter().map(|(attribute, value)| (self.domain.names.name(attribute), value));
        names
            .filter(|(name, _)| !said(name) && *name != "ip")
            .map(|(name, value)| (name.to_owned(), shown(name, value).to_owned()))
            .collect()
    }

    fn rule(&self, number: u32, rule: &Rule) -> Explained {
        let origin = format!("{}:{}", rule.origin.file, rule.origin.line);
        let switched_to = rule.switched_from.map(|_| rule.mode);
        let (name, mode) = (rule.name.to_string(), rule.mode);
        Explained { rule: name, origin, mode, switched_to, part: self.part(number, rule) }
    }

    fn part(&self, number: u32, rule: &Rule) -> Part {
        if self.resolved.meaning.alone == Some(number) {
            return Part::Alone;
        }
        let parts = self.resolved.meaning.parts.iter().enumerate();
        let own = parts.filter(|(_, part)| part.rule() == Some(number) && !part.is_gate());
        let charges: Vec<Charged> = own.clone().map(|(index, _)| self.charged(index, rule)).collect();
        if !charges.is_empty() {
            let decides = own.clone().any(|(_, part)| part.enforced);
            return Part::Applies { decides, charges };
        }
        match self.why(number, rule) {
            Some(why) => Part::Not(why),
            None => Part::Applies { decides: resolve::decides(rule), charges },
        }
    }

    fn charged(&self, index: usize, rule: &Rule) -> Charged {
        let (part, charge) = (&self.resolved.meaning.parts[index], self.resolved.plan.get(index));
        let (tier, limits) = match part.at.tier {
            Tier::Named(tier) => {
                let (name, limits) = &rule.limits.tiers[usize::from(tier)];
                (Some(name.to_string()), limits)
            }
            _ => (None, &rule.limits.own),
        };
        let limit = &limits[usize::from(part.at.limit)];
        Charged {
            policy: limit.policy.to_string(),
            limit: limit.written.to_string(),
            tier,
            cost: charge.cost,
            counter: self.counter(rule, part.descriptor),
        }
    }

    fn counter(&self, rule: &Rule, descriptor: Option<u16>) -> String {
        let facts = &self.matches.views.first.facts;
        if rule.tree.is_some() {
            let entries = descriptor.and_then(|place| self.check.descriptor(place));
            let entries = entries.map(|descriptor| descriptor.entries).unwrap_or_default();
            return entries
                .iter()
                .map(|(key, value)| format!("{key}={}", shown(key, value)))
                .collect::<Vec<_>>()
                .join(", ");
        }
        let tenant = self.domain.tenant.filter(|_| rule.scope == Scope::Tenant);
        let tenant = tenant.map(|tenant| match self.shown(tenant, facts) {
            Some(value) => format!("{}={value}", self.domain.names.name(tenant)),
            None => format!("no {}", self.domain.names.name(tenant)),
        });
        let by = rule.by.iter().map(|by| self.value(by, facts));
        let all: Vec<String> = tenant.into_iter().chain(by).collect();
        if all.is_empty() { "one for all".to_owned() } else { all.join(", ") }
    }

    /// What the request says of an attribute, if that is no secret.
    fn shown<'f>(&self, attribute: AttributeId, facts: &Facts<'f>) -> Option<&'f str> {
        facts.get(attribute).map(|value| shown(self.domain.names.name(attribute), value))
    }

    fn value(&self, by: &By, facts: &Facts<'_>) -> String {
        match by {
            By::Attribute(attribute) | By::Address(attribute) => {
                let name = self.domain.names.name(*attribute);
                format!("{name}={}", self.shown(*attribute, facts).unwrap_or_default())
            }
            By::Capture { name, .. } => {
                let secret = by.attributes().map(|of| self.domain.names.name(of)).find(|of| is_secret(of));
                let value = by.value(facts).unwrap_or_default();
                format!("{name}={}", shown(secret.unwrap_or(name), value))
            }
        }
    }

    /// Why a rule does not apply; `None` if it does, without charging anything.
    fn why(&self, number: u32, rule: &Rule) -> Option<String> {
        let facts = &self.matches.views.first.facts;
        if rule.mode == Mode::Off {
            let off = if rule.switched_from.is_some() { "it is switched off" } else { "it is off" };
            return Some(off.to_owned());
        }
        if rule.tree.is_some() {
            let found = self.matches.tree.iter().any(|one| one.rule == Some(number));
            return (!found).then(|| "no descriptor or attribute of the request leads here".to_owned());
        }
        if rule.expires_at.is_some_and(|end| self.now >= end) {
            return Some("it has expired".to_owned());
        }
        if let Some(schedule) = rule.schedule.as_ref().filter(|schedule| !schedule.holds(self.now)) {
            let next = schedule
                .next_start(self.now)
                .map_or("never again".to_owned(), |at| format!("next from {at}"));
            return Some(format!("it is not its time (`when`); {next}"));
        }
        let counts = rule.counts.as_ref().is_some_and(|counts| counts.holds(facts));
        if let Some(why) = why_not(&rule.applies, facts, &self.domain.names).filter(|_| !counts) {
            return Some(why);
        }
        if let Some(alone) = self.resolved.meaning.alone {
            return Some(format!("`{}` decides by itself", self.domain.rules[alone as usize].name));
        }
        if let Some(name) = self.missing(rule, facts) {
            return Some(format!("the request has no `{name}` to count by"));
        }
        let group = rule.group.filter(|_| rule.mode == Mode::Enforce)?;
        let goes_first = |other: &&Rule| {
            other.group.is_some_and(|own| own.group == group.group && own.rank < group.rank)
                && resolve::takes_its_group(other, facts)
                && other.applies.holds(facts)
        };
        let found = self.matches.views.first.rules.iter().map(|number| &self.domain.rules[*number as usize]);
        let first = found.filter(goes_first).min_by_key(|other| other.rank);
        first.map(|first| format!("`{}` goes first in its group", first.name))
    }

    fn missing(&self, rule: &Rule, facts: &Facts<'_>) -> Option<String> {
        let missing = rule.by.iter().find(|by| by.value(facts).is_none())?;
        Some(match missing {
            By::Attribute(attribute) | By::Address(attribute) => {
                self.domain.names.name(*attribute).to_owned()
            }
            By::Capture { name, .. } => format!("{{{name}}}"),
        })
    }
}

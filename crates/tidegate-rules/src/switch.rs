//! Modes of rules that are set from outside, over what their files say: switches for the day when a rule does harm.

use std::sync::Arc;

use crate::rule::{Action, Mode, Plain, Rule};
use crate::snapshot::{Domain, Snapshot};

/// The mode that is set for a rule of a domain, or for limits that come with descriptors if no rule is named; `None` leaves
/// it as it was written.
pub trait Switches {
    /// What is set.
    fn mode(&self, domain: &str, rule: Option<&str>) -> Option<Mode>;
}

impl Snapshot {
    /// Sets modes. It is for snapshots that nobody shares yet, fresh from the compiler.
    ///
    /// # Panics
    /// If somebody holds one of its domains.
    pub fn switch(&mut self, switches: &impl Switches) {
        for domain in self.domains_mut() {
            Arc::get_mut(domain)
                .expect("a snapshot that is not in force is its maker's alone")
                .switch(switches);
        }
    }
}

impl Domain {
    fn switch(&mut self, switches: &impl Switches) {
        for rule in &mut self.rules {
            if let Some(mode) = switches.mode(&self.name, Some(&rule.name)) {
                rule.switched_from = Some(rule.switched_from.unwrap_or(rule.mode));
                rule.mode = mode;
            }
        }
        self.brought = switches.mode(&self.name, None).unwrap_or_default();
        self.settle_modes();
    }

    /// Works out what follows from the modes of all rules.
    pub(crate) fn settle_modes(&mut self) {
        for rule in &mut self.rules {
            // Where tiers live apart, it takes a look at the tier to know where a tenant's counters are.
            let is_prepared = |plain: &Plain| plain.tenant.is_none() || self.tiers_apart.is_empty();
            rule.plain = rule.plain().filter(is_prepared);
        }
        let mut own = self.rules.iter().filter(|rule| rule.tree.is_none());
        self.is_plain = own.all(|rule| rule.plain.is_some());
        let refuses = |rule: &&Rule| {
            rule.mode == Mode::Enforce && !matches!(rule.action, Action::Bypass | Action::Unlimited)
        };
        self.class = self.rules.iter().filter(refuses).map(Rule::strictest_class).max().unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::Class;
    use crate::{Source, compile};

    const RULES: &str = "domain: api
rules:
  - { name: a, by: [user], limit: 5/s }
  - { name: b, by: [user], limit: 5/s, class: security }
  - { name: c, by: [user], limit: 5/s, mode: shadow }
descriptors:
  - { key: database, rate_limit: { unit: second, requests_per_unit: 5 } }
";

    struct One(&'static str, Option<&'static str>, Mode);

    impl Switches for One {
        fn mode(&self, domain: &str, rule: Option<&str>) -> Option<Mode> {
            let holds = domain == self.0 && (self.1.is_none() || self.1 == rule);
            holds.then_some(self.2)
        }
    }

    fn switched(one: &One) -> Snapshot {
        let mut snapshot = compile(vec![Source::new("api.yaml", RULES)]).snapshot.unwrap();
        snapshot.switch(one);
        snapshot
    }

    fn modes(snapshot: &Snapshot) -> Vec<(Mode, Option<Mode>)> {
        snapshot.domain("api").unwrap().rules.iter().map(|rule| (rule.mode, rule.switched_from)).collect()
    }

    #[test]
    fn a_rule_has_the_mode_of_its_switch_and_knows_what_was_written() {
        let snapshot = switched(&One("api", Some("b"), Mode::Off));
        let as_written = |mode| (mode, None);
        assert_eq!(
            modes(&snapshot),
            [
                as_written(Mode::Enforce),
                (Mode::Off, Some(Mode::Enforce)),
                as_written(Mode::Shadow),
                as_written(Mode::Enforce)
            ]
        );
        let domain = snapshot.domain("api").unwrap();
        assert_eq!((domain.class, domain.is_plain), (Class::Comfort, false), "what is off refuses nothing");
        assert!(domain.rules[0].plain.is_some() && domain.rules[1].plain.is_none());
    }

    #[test]
    fn all_rules_of_a_domain_can_be_set_and_what_comes_with_descriptors_too() {
        let snapshot = switched(&One("api", None, Mode::Enforce));
        let domain = snapshot.domain("api").unwrap();
        assert!(domain.rules.iter().all(|rule| rule.mode == Mode::Enforce));
        assert_eq!(domain.rules[2].switched_from, Some(Mode::Shadow));
        assert!(domain.is_plain && domain.rules[2].plain.is_some());
        assert_eq!(switched(&One("api", None, Mode::Off)).domain("api").unwrap().brought, Mode::Off);
        assert!(modes(&switched(&One("other", None, Mode::Off))).iter().all(|(_, from)| from.is_none()));
    }
}

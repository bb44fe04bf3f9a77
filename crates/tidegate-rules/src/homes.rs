//! Which rules live together: on a Cluster those of one home are charged in one step, all or nothing. Those of several are
//! reserved on each and given back if one refuses. On one machine, and on a single Redis, everything is one home.

use crate::home::Owner;
use crate::rule::{Action, Mode, Rule};
use crate::snapshot::{Domain, Snapshot};

/// The most names in one line.
const MOST_NAMED: usize = 8;

/// Rules of a domain that have one home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Together {
    /// The domain.
    pub domain: String,
    /// Whose home it is: `tenant (org)`, or `its own`.
    pub home: String,
    /// The rules.
    pub rules: Vec<String>,
}

/// All homes: of each domain that of its tenants first, then that of each rule that lives by itself.
pub fn of(snapshot: &Snapshot) -> Vec<Together> {
    snapshot.domains().flat_map(|domain| of_domain(domain)).collect()
}

fn of_domain(domain: &Domain) -> Vec<Together> {
    let (alone, together): (Vec<&Rule>, Vec<&Rule>) =
        domain.counting().partition(|rule| rule.home.owner == Owner::Themselves);
    let home = |rules: &[&Rule]| Together {
        domain: domain.name.to_string(),
        home: rules.first().map_or_else(String::new, |rule| word(domain, rule)),
        rules: rules.iter().map(|rule| rule.name.to_string()).collect(),
    };
    let tenants = Some(home(&together)).filter(|home| !home.rules.is_empty());
    tenants.into_iter().chain(alone.iter().map(|rule| home(&[rule]))).collect()
}

/// Whose home the counters of a rule have.
pub(crate) fn word(domain: &Domain, rule: &Rule) -> String {
    match (rule.home.owner, domain.tenant) {
        (Owner::Tenant(_) | Owner::Entry(_), Some(tenant)) => {
            format!("tenant ({})", domain.names.name(tenant))
        }
        _ => "its own".to_owned(),
    }
}

impl Domain {
    /// The rules that have counters, unless they are off.
    pub(crate) fn counting(&self) -> impl Iterator<Item = &Rule> {
        let counts = |rule: &&Rule| {
            rule.mode != Mode::Off && rule.action != Action::Unlimited && rule.limits.all().next().is_some()
        };
        self.rules.iter().filter(counts)
    }
}

/// The homes as text: a line for each that several rules share, and one for all others of its domain.
pub fn text(homes: &[Together]) -> String {
    let mut lines: Vec<(&str, String, String)> = Vec::new();
    for domain in homes.chunk_by(|one, other| one.domain == other.domain) {
        let (shared, alone): (Vec<&Together>, Vec<&Together>) =
            domain.iter().partition(|home| home.home != "its own");
        for home in shared {
            lines.push((&home.domain, home.home.clone(), listed(&home.rules)));
        }
        let names: Vec<String> = alone.iter().flat_map(|home| home.rules.clone()).collect();
        if let Some(first) = alone.first() {
            let whose = if names.len() > 1 { "each its own" } else { "its own" };
            lines.push((&first.domain, whose.to_owned(), listed(&names)));
        }
    }
    let domain_width = lines.iter().map(|(domain, ..)| domain.chars().count()).max().unwrap_or(0);
    let home_width = lines.iter().map(|(_, home, _)| home.chars().count()).max().unwrap_or(0);
    let line = |(domain, home, rules): &(&str, String, String)| {
        format!("  {domain:domain_width$}  {home:home_width$}  {rules}\n")
    };
    lines.iter().map(line).collect()
}

fn listed(names: &[String]) -> String {
    if names.len() > MOST_NAMED {
        format!("{} and {} more", names[..MOST_NAMED].join(", "), names.len() - MOST_NAMED)
    } else {
        names.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Source, compile};

    fn homes(text: &str) -> Vec<(String, Vec<String>)> {
        let compiled = compile(vec![Source::new("a.yaml", format!("domain: api\n{text}"))]);
        let said = compiled.render();
        let homes = of(&compiled.snapshot.unwrap_or_else(|| panic!("{said}")));
        homes.into_iter().map(|home| (home.home, home.rules)).collect()
    }

    fn named(homes: &[(&str, &[&str])]) -> Vec<(String, Vec<String>)> {
        let home = |(home, rules): &(&str, &[&str])| {
            ((*home).to_owned(), rules.iter().map(|rule| (*rule).to_owned()).collect())
        };
        homes.iter().map(home).collect()
    }

    #[test]
    fn rules_of_the_tenant_live_together_and_all_others_alone() {
        let found = homes(
            "tenant: org\nrules:\n\
             - { name: a, by: [user], limit: 5/s }\n\
             - { name: b, by: [ip], scope: global, limit: 5/s }\n\
             - { name: c, limit: 5/s, mode: shadow }\n\
             - { name: off, limit: 5/s, mode: off }\n\
             - { name: d, scope: global, limit: 5/s }\n\
             - { name: open, match: { path: /x }, action: bypass }\n\
             descriptors:\n\
             - { key: org, rate_limit: { unit: second, requests_per_unit: 5 } }\n\
             - { key: database, rate_limit: { unit: second, requests_per_unit: 5 } }\n",
        );
        let expected = named(&[
            ("tenant (org)", &["a", "c", "org"]),
            ("its own", &["b"]),
            ("its own", &["d"]),
            ("its own", &["database"]),
        ]);
        assert_eq!(found, expected);
    }

    #[test]
    fn without_a_tenant_each_lives_alone() {
        let found = homes("rules: [{ name: a, limit: 5/s }, { name: b, by: [user], limit: 5/s }]");
        assert_eq!(found, named(&[("its own", &["a"]), ("its own", &["b"])]));
    }

    #[test]
    fn a_long_list_is_cut() {
        let home = |name: usize| Together {
            domain: "api".to_owned(),
            home: "its own".to_owned(),
            rules: vec![format!("r{name}")],
        };
        let said = text(&(0..10).map(home).collect::<Vec<_>>());
        assert_eq!(said, "  api  each its own  r0, r1, r2, r3, r4, r5, r6, r7 and 2 more\n");
    }
}

//! The effective limits of all rules in one table.

use crate::home::Owner;
use crate::homes;
use crate::rule::Rule;
use crate::snapshot::{Domain, Snapshot};
use crate::words::describe;

/// A row: one limit of one rule for one tier, or a rule that has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The domain.
    pub domain: String,
    /// The rule.
    pub rule: String,
    /// What it matches.
    pub matches: String,
    /// What it counts by.
    pub by: String,
    /// The tier, if it is that of one.
    pub tier: String,
    /// The limit, or what the rule does instead.
    pub limit: String,
    /// The algorithm.
    pub algorithm: &'static str,
    /// The class.
    pub class: &'static str,
    /// The mode.
    pub mode: &'static str,
    /// Where its counters live.
    pub home: String,
}

/// The columns of the table.
pub const COLUMNS: [&str; 9] = ["DOMAIN", "RULE", "MATCHES", "BY", "TIER", "LIMIT", "CLASS", "MODE", "HOME"];

/// All rows, in the order of the rules.
pub fn rows(snapshot: &Snapshot) -> Vec<Row> {
    snapshot.domains().flat_map(|domain| domain.rules.iter().flat_map(|rule| of_rule(domain, rule))).collect()
}

fn of_rule(domain: &Domain, rule: &Rule) -> Vec<Row> {
    let matches = describe(&rule.applies, &domain.names);
    let row = |tier: Option<&str>, limit: String, algorithm| Row {
        domain: domain.name.to_string(),
        rule: rule.name.to_string(),
        matches: if rule.tree.is_some() {
            "descriptor".to_owned()
        } else if matches.is_empty() {
            "everything".to_owned()
        } else {
            matches.clone()
        },
        by: if rule.tree.is_some() {
            "its values".to_owned()
        } else if rule.by.is_empty() {
            "-".to_owned()
        } else {
            domain.by(rule).join(", ")
        },
        tier: tier.unwrap_or("-").to_owned(),
        limit,
        algorithm,
        class: rule.class.word(),
        mode: rule.mode.word(),
        home: home(domain, rule),
    };
    let rows: Vec<Row> = rule
        .limits
        .all()
        .map(|(tier, limit)| row(tier, limit.written.to_string(), limit.algorithm().name()))
        .collect();
    if rows.is_empty() { vec![row(None, rule.action.word().to_owned(), "-")] } else { rows }
}

fn home(domain: &Domain, rule: &Rule) -> String {
    match rule.home.owner {
        _ if rule.limits.own.is_empty() && rule.limits.tiers.is_empty() => "-".to_owned(),
        Owner::Tenant(_) | Owner::Entry(_) => homes::word(domain, rule),
        Owner::Themselves if rule.by.is_empty() && rule.tree.is_none() => "the rule".to_owned(),
        Owner::Themselves => "its values".to_owned(),
    }
}

/// The table as text, its columns as wide as they need to be.
pub fn text(rows: &[Row]) -> String {
    let cells = |row: &Row| -> [String; 9] {
        [
            row.domain.clone(),
            row.rule.clone(),
            row.matches.clone(),
            row.by.clone(),
            row.tier.clone(),
            row.limit.clone(),
            row.class.to_owned(),
            row.mode.to_owned(),
            row.home.clone(),
        ]
    };
    let mut lines: Vec<[String; 9]> = vec![COLUMNS.map(str::to_owned)];
    lines.extend(rows.iter().map(cells));
    for cell in lines.iter_mut().flatten() {
        if cell.chars().count() > 48 {
            *cell = cell.chars().take(47).chain(['…']).collect();
        }
    }
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..9).map(width).collect();
    let pad =
        |(cell, width): (&String, &usize)| format!("{cell}{}", " ".repeat(width - cell.chars().count()));
    let line = |line: &[String; 9]| {
        line.iter().zip(&widths).map(pad).collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    lines.iter().map(line).collect()
}

//! Errors and warnings of rule files, by file and without the lines that they point at.

use std::collections::BTreeMap;

use tidegate_rules::{Compiled, Diagnostic, File, Severity};

use crate::source::RuleFiles;

/// An error or a warning in a rule file. It quotes no line of the file: lines may hold secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleFinding {
    /// Error or warning.
    pub severity: Severity,
    /// Its code, such as `unknown-key`.
    pub code: &'static str,
    /// The error or warning in words.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// The line and the column, from 1.
    pub place: Option<(usize, usize)>,
}

/// All findings by the names of their files.
pub(super) struct Findings(BTreeMap<String, Vec<RuleFinding>>);

impl RuleFinding {
    fn of(file: &File, found: &Diagnostic) -> Self {
        let place = file.source.place(found.span.start);
        let label = found.label.as_ref().map(|label| format!(": {label}")).unwrap_or_default();
        Self {
            severity: found.severity,
            code: found.code,
            message: found.message.clone() + &label,
            help: found.help.clone(),
            place: Some((place.line, place.column)),
        }
    }

    fn unreadable(error: &str) -> Self {
        let message = format!("the file cannot be read: {error}");
        Self { severity: Severity::Error, code: "unreadable", message, help: None, place: None }
    }

    /// Whether it makes the file unusable.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl Findings {
    /// The findings of the compiler.
    pub(super) fn of(compiled: &Compiled) -> Self {
        let of_file = |file: &File| {
            let findings = file.diagnostics.iter().map(|found| RuleFinding::of(file, found));
            (file.source.name().to_owned(), findings.collect())
        };
        Self(compiled.files.iter().map(of_file).collect())
    }

    /// Adds an error for each file that cannot be read.
    pub(super) fn add_unreadable(&mut self, read: &RuleFiles) {
        for (name, text) in read {
            if let Err(error) = text {
                self.0.entry(name.clone()).or_default().push(RuleFinding::unreadable(error));
            }
        }
    }

    /// Adds the findings that are not there yet.
    pub(super) fn merge(&mut self, others: Self) {
        for (name, others) in others.0 {
            let known = self.0.entry(name).or_default();
            let new: Vec<_> = others.into_iter().filter(|finding| !known.contains(finding)).collect();
            known.extend(new);
        }
    }

    /// Whether a file has an error.
    pub(super) fn has_error(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|findings| findings.iter().any(RuleFinding::is_error))
    }

    /// Takes out the findings of a file.
    pub(super) fn take(&mut self, name: &str) -> Vec<RuleFinding> {
        self.0.remove(name).unwrap_or_default()
    }
}

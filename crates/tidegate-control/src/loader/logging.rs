//! What a reload logs about rule files: findings, and files that are gone. All of it is bounded.

use tidegate_rules::Severity;

use crate::reload::{FileReport, RuleFinding, RuleTexts};

/// The most findings of one reload that are logged; the rest is counted.
const MAX_LOGGED: usize = 50;

/// The most files that are named in one line.
const MAX_NAMED: usize = 20;

/// Logs errors, then warnings.
pub(super) fn findings(files: &[FileReport]) {
    let all = || files.iter().flat_map(|file| file.findings.iter().map(move |finding| (file, finding)));
    let errors = all().filter(|(_, finding)| finding.is_error());
    let warnings = all().filter(|(_, finding)| !finding.is_error());
    for (file, finding) in errors.chain(warnings).take(MAX_LOGGED) {
        let (at, code, found) = (place(file, finding), finding.code, &finding.message);
        let help = finding.help.as_deref();
        match finding.severity {
            Severity::Error => tracing::error!(at, code, found, help, "rule file"),
            Severity::Warning => tracing::warn!(at, code, found, help, "rule file"),
        }
    }
    let left_out = all().count().saturating_sub(MAX_LOGGED);
    if left_out > 0 {
        tracing::warn!(left_out, "rule file");
    }
}

/// The first error of all files, with its place.
pub(super) fn first_error(files: &[FileReport]) -> Option<String> {
    files.iter().find_map(|file| {
        let error = file.findings.iter().find(|finding| finding.is_error())?;
        Some(format!("{}: {}", place(file, error), error.message))
    })
}

/// The names of files that were in force before and are no longer.
pub(super) fn gone(before: &RuleTexts, after: &RuleTexts) -> Option<String> {
    let names: Vec<&str> =
        before.keys().filter(|name| !after.contains_key(*name)).map(String::as_str).collect();
    let more = names.len().saturating_sub(MAX_NAMED);
    let mut text = names.iter().take(MAX_NAMED).copied().collect::<Vec<_>>().join(", ");
    if more > 0 {
        text = format!("{text} and {more} more");
    }
    (!names.is_empty()).then_some(text)
}

fn place(file: &FileReport, finding: &RuleFinding) -> String {
    match finding.place {
        Some((line, column)) => format!("{}:{line}:{column}", file.name),
        None => file.name.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_gone_files_are_bounded() {
        let texts = |names: std::ops::Range<usize>| -> RuleTexts {
            names.map(|name| (format!("{name:02}.yaml"), String::new())).collect()
        };
        assert_eq!(gone(&texts(0..3), &texts(0..4)), None);
        assert_eq!(gone(&texts(0..3), &texts(1..2)).unwrap(), "00.yaml, 02.yaml");
        let many = gone(&texts(0..30), &texts(0..1)).unwrap();
        assert!(many.ends_with(", 20.yaml and 9 more"), "{many}");
    }
}

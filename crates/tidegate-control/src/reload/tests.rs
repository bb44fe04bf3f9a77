use super::*;

fn reconcile(in_force: &RuleTexts, read: &RuleFiles) -> Reconciled {
    super::reconcile(&Context::default(), in_force, read)
}

fn rule(name: &str) -> String {
    format!("domain: api\nrules: [{{ name: {name}, by: [user], limit: 1/min }}]")
}

const BAD: &str = "domain: api\nrules: [{ name: broken, by: [user], limit: plenty }]";

fn texts(files: &[(&str, &str)]) -> RuleTexts {
    files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

fn reading(files: &[(&str, &str)]) -> RuleFiles {
    texts(files).into_iter().map(|(name, text)| (name, Ok(text))).collect()
}

fn rules(reloaded: &Reconciled) -> Vec<String> {
    let domains = reloaded.snapshot.iter().flat_map(Snapshot::domains);
    domains.flat_map(|domain| domain.rules.iter().map(|rule| rule.name.to_string())).collect()
}

fn states(reloaded: &Reconciled) -> Vec<(&str, FileState)> {
    reloaded.files.iter().map(|file| (file.name.as_str(), file.state)).collect()
}

use FileState::{AsWritten, LastGood, LeftOut};

#[test]
fn installs_good_files_as_written() {
    let reloaded = reconcile(&RuleTexts::new(), &reading(&[("a", &rule("one")), ("b", &rule("two"))]));
    assert_eq!(reloaded.outcome, ReloadOutcome::Installed);
    assert_eq!(rules(&reloaded), ["one", "two"]);
    assert_eq!(states(&reloaded), [("a", AsWritten), ("b", AsWritten)]);
}

#[test]
fn same_files_change_nothing() {
    let files = [("a", &*rule("one"))];
    let reloaded = reconcile(&texts(&files), &reading(&files));
    assert_eq!(reloaded.outcome, ReloadOutcome::Unchanged);
    assert!(reloaded.snapshot.is_none());
    assert_eq!(reloaded.texts, texts(&files));
}

#[test]
fn bad_file_keeps_its_last_good_version() {
    let before = texts(&[("a", &rule("one")), ("b", &rule("two"))]);
    let reloaded = reconcile(&before, &reading(&[("a", BAD), ("b", &rule("three"))]));
    assert_eq!(reloaded.outcome, ReloadOutcome::Partial);
    assert_eq!(rules(&reloaded), ["one", "three"]);
    assert_eq!(states(&reloaded), [("a", LastGood), ("b", AsWritten)]);
    assert_eq!(reloaded.files[0].count(Severity::Error), 1);
    let mended = reconcile(&reloaded.texts, &reading(&[("a", &rule("four")), ("b", &rule("three"))]));
    assert_eq!(
        (mended.outcome, rules(&mended)),
        (ReloadOutcome::Installed, vec!["four".into(), "three".into()])
    );
}

#[test]
fn bad_change_alone_installs_nothing() {
    let before = texts(&[("a", &rule("one"))]);
    let reloaded = reconcile(&before, &reading(&[("a", BAD)]));
    assert_eq!(reloaded.outcome, ReloadOutcome::Partial);
    assert!(reloaded.snapshot.is_none());
    assert_eq!(reloaded.texts, before);
}

#[test]
fn leaves_out_new_bad_file() {
    let before = texts(&[("a", &rule("one"))]);
    let reloaded = reconcile(&before, &reading(&[("a", &rule("one")), ("b", BAD)]));
    assert_eq!(reloaded.outcome, ReloadOutcome::Partial);
    assert_eq!(states(&reloaded), [("a", AsWritten), ("b", LeftOut)]);
}

#[test]
fn removed_file_takes_its_rules() {
    let before = texts(&[("a", &rule("one")), ("b", &rule("two"))]);
    let reloaded = reconcile(&before, &reading(&[("a", &rule("one"))]));
    assert_eq!((reloaded.outcome, rules(&reloaded)), (ReloadOutcome::Installed, vec!["one".into()]));
    assert_eq!(states(&reloaded), [("a", AsWritten)]);
    let emptied = reconcile(&reloaded.texts, &RuleFiles::new());
    assert_eq!((emptied.outcome, emptied.texts.len()), (ReloadOutcome::Installed, 0));
}

#[test]
fn conflict_with_last_good_changes_nothing() {
    // `a` is bad and would keep `one`, which the new `b` has as well.
    let before = texts(&[("a", &rule("one")), ("b", &rule("two")), ("c", &rule("three"))]);
    let reloaded = reconcile(&before, &reading(&[("a", BAD), ("b", &rule("one"))]));
    assert_eq!(reloaded.outcome, ReloadOutcome::Failed);
    assert!(reloaded.snapshot.is_none());
    assert_eq!(reloaded.texts, before);
    assert_eq!(states(&reloaded), [("a", LastGood), ("b", LastGood), ("c", LastGood)]);
}

#[test]
fn unreadable_file_is_a_bad_one() {
    let before = texts(&[("a", &rule("one")), ("b", &rule("two"))]);
    let mut read = reading(&[("b", &rule("three"))]);
    read.insert("a".into(), Err("permission denied".into()));
    let reloaded = reconcile(&before, &read);
    assert_eq!(
        (reloaded.outcome, rules(&reloaded)),
        (ReloadOutcome::Partial, vec!["one".into(), "three".into()])
    );
    assert_eq!(reloaded.files[0].findings[0].message, "the file cannot be read: permission denied");
}

#[test]
fn findings_have_places_and_no_lines() {
    let reloaded = reconcile(&RuleTexts::new(), &reading(&[("a", BAD)]));
    let finding = &reloaded.files[0].findings[0];
    assert_eq!(finding.place.map(|(line, _)| line), Some(2));
    assert!(!finding.message.contains("broken"));
}

#[test]
fn findings_depend_on_the_time() {
    let rule = "domain: api\nrules: [{ name: old, by: [ip], match: { path: /x }, limit: 1/s, expires_at: 2026-01-01 }]";
    let now = tidegate_rules::schedule::instant("2026-01-02").ok();
    let context = Context { now, ..Context::default() };
    let reloaded = super::reconcile(&context, &RuleTexts::new(), &reading(&[("a", rule)]));
    assert_eq!(
        reloaded.files[0].findings.iter().map(|finding| finding.code).collect::<Vec<_>>(),
        ["expired"]
    );
}

use super::*;

fn reconcile(in_force: &Texts, reading: &Reading) -> Reloaded {
    super::reconcile(&Context::default(), in_force, reading)
}

fn rule(name: &str) -> String {
    format!("domain: api\nrules: [{{ name: {name}, by: [user], limit: 1/min }}]")
}

const BAD: &str = "domain: api\nrules: [{ name: broken, by: [user], limit: plenty }]";

fn texts(files: &[(&str, &str)]) -> Texts {
    files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

fn reading(files: &[(&str, &str)]) -> Reading {
    texts(files).into_iter().map(|(name, text)| (name, Ok(text))).collect()
}

fn rules(reloaded: &Reloaded) -> Vec<String> {
    let domains = reloaded.snapshot.iter().flat_map(Snapshot::domains);
    domains.flat_map(|domain| domain.rules.iter().map(|rule| rule.name.to_string())).collect()
}

fn states(reloaded: &Reloaded) -> Vec<(&str, FileState)> {
    reloaded.files.iter().map(|file| (file.name.as_str(), file.state)).collect()
}

use FileState::{AsWritten, LastGood, LeftOut};

#[test]
fn good_files_are_in_force_as_written() {
    let reloaded = reconcile(&Texts::new(), &reading(&[("a", &rule("one")), ("b", &rule("two"))]));
    assert_eq!(reloaded.outcome, Outcome::Installed);
    assert_eq!(rules(&reloaded), ["one", "two"]);
    assert_eq!(states(&reloaded), [("a", AsWritten), ("b", AsWritten)]);
}

#[test]
fn the_same_files_again_change_nothing() {
    let files = [("a", &*rule("one"))];
    let reloaded = reconcile(&texts(&files), &reading(&files));
    assert_eq!(reloaded.outcome, Outcome::Unchanged);
    assert!(reloaded.snapshot.is_none());
    assert_eq!(reloaded.texts, texts(&files));
}

#[test]
fn a_bad_file_keeps_its_last_good_version_while_others_change() {
    let before = texts(&[("a", &rule("one")), ("b", &rule("two"))]);
    let reloaded = reconcile(&before, &reading(&[("a", BAD), ("b", &rule("three"))]));
    assert_eq!(reloaded.outcome, Outcome::Partial);
    assert_eq!(rules(&reloaded), ["one", "three"]);
    assert_eq!(states(&reloaded), [("a", LastGood), ("b", AsWritten)]);
    assert_eq!(reloaded.files[0].count(Severity::Error), 1);
    let mended = reconcile(&reloaded.texts, &reading(&[("a", &rule("four")), ("b", &rule("three"))]));
    assert_eq!((mended.outcome, rules(&mended)), (Outcome::Installed, vec!["four".into(), "three".into()]));
}

#[test]
fn if_only_a_bad_file_changed_nothing_is_installed() {
    let before = texts(&[("a", &rule("one"))]);
    let reloaded = reconcile(&before, &reading(&[("a", BAD)]));
    assert_eq!(reloaded.outcome, Outcome::Partial);
    assert!(reloaded.snapshot.is_none());
    assert_eq!(reloaded.texts, before);
}

#[test]
fn a_new_bad_file_is_left_out() {
    let before = texts(&[("a", &rule("one"))]);
    let reloaded = reconcile(&before, &reading(&[("a", &rule("one")), ("b", BAD)]));
    assert_eq!(reloaded.outcome, Outcome::Partial);
    assert_eq!(states(&reloaded), [("a", AsWritten), ("b", LeftOut)]);
}

#[test]
fn the_rules_of_a_removed_file_go() {
    let before = texts(&[("a", &rule("one")), ("b", &rule("two"))]);
    let reloaded = reconcile(&before, &reading(&[("a", &rule("one"))]));
    assert_eq!((reloaded.outcome, rules(&reloaded)), (Outcome::Installed, vec!["one".into()]));
    assert_eq!(states(&reloaded), [("a", AsWritten)]);
    let emptied = reconcile(&reloaded.texts, &Reading::new());
    assert_eq!((emptied.outcome, emptied.texts.len()), (Outcome::Installed, 0));
}

#[test]
fn if_the_mixture_does_not_compile_everything_stays() {
    // `a` is bad and would keep `one`, which the new `b` has as well.
    let before = texts(&[("a", &rule("one")), ("b", &rule("two")), ("c", &rule("three"))]);
    let reloaded = reconcile(&before, &reading(&[("a", BAD), ("b", &rule("one"))]));
    assert_eq!(reloaded.outcome, Outcome::Failed);
    assert!(reloaded.snapshot.is_none());
    assert_eq!(reloaded.texts, before);
    assert_eq!(states(&reloaded), [("a", LastGood), ("b", LastGood), ("c", LastGood)]);
}

#[test]
fn a_file_that_cannot_be_read_is_a_bad_one() {
    let before = texts(&[("a", &rule("one")), ("b", &rule("two"))]);
    let mut read = reading(&[("b", &rule("three"))]);
    read.insert("a".into(), Err("permission denied".into()));
    let reloaded = reconcile(&before, &read);
    assert_eq!((reloaded.outcome, rules(&reloaded)), (Outcome::Partial, vec!["one".into(), "three".into()]));
    assert_eq!(reloaded.files[0].remarks[0].message, "the file cannot be read: permission denied");
}

#[test]
fn remarks_carry_places_and_no_lines() {
    let reloaded = reconcile(&Texts::new(), &reading(&[("a", BAD)]));
    let remark = &reloaded.files[0].remarks[0];
    assert_eq!(remark.place.map(|(line, _)| line), Some(2));
    assert!(!remark.message.contains("broken"));
}

#[test]
fn remarks_know_the_time() {
    let rule = "domain: api\nrules: [{ name: old, by: [ip], match: { path: /x }, limit: 1/s, expires_at: 2026-01-01 }]";
    let now = tidegate_rules::schedule::instant("2026-01-02").ok();
    let context = Context { now, ..Context::default() };
    let reloaded = super::reconcile(&context, &Texts::new(), &reading(&[("a", rule)]));
    assert_eq!(reloaded.files[0].remarks.iter().map(|remark| remark.code).collect::<Vec<_>>(), ["expired"]);
}

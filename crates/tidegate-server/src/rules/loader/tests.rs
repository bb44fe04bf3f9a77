use std::fs;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use tidegate_core::Timestamp;
use tidegate_rules::rule::Mode;
use tidegate_store::Memory;

use crate::stack::Stack;

use super::*;
use crate::rules::switches::{Change, Refused, Target};

const GOOD: &str = "domain: api\nrules: [{ name: per-user, by: [user], limit: 1/min }]";
const BAD: &str = "domain: api\nrules: [{ name: per-user, by: [user], limt: 1/min }]";

fn loading() -> Loading {
    Loading {
        engine: Arc::new(Engine::new(Stack::Memory(Memory::new()))),
        status: Arc::new(Status::default()),
        clock: Arc::new(|| Timestamp::from_micros(7_000_000)),
        tiers: Vec::new(),
        attributes: Vec::new(),
    }
}

fn again(loader: &mut Loader) -> Outcome {
    let reading = files::read(&loader.path.clone().unwrap());
    loader.reload("test", reading.map_err(Unread::Failed))
}

#[test]
fn versions_count_up_from_one_with_every_install() {
    let (folder, to) = (tempfile::tempdir().unwrap(), loading());
    let file = folder.path().join("api.yaml");
    fs::write(&file, GOOD).unwrap();
    let mut loader = Loader::start(Some(folder.path().to_owned()), to.clone()).unwrap_or_else(|_| panic!());
    let version = || (to.engine.snapshot().version(), to.status.get().version);
    assert_eq!(version(), (1, 1));
    assert_eq!((again(&mut loader), version()), (Outcome::Unchanged, (1, 1)));
    fs::write(&file, GOOD.replace("1/min", "2/min")).unwrap();
    assert_eq!((again(&mut loader), version()), (Outcome::Installed, (2, 2)));
    fs::write(&file, BAD).unwrap();
    assert_eq!((again(&mut loader), version()), (Outcome::Partial, (2, 2)));
    assert!(to.status.get().last.unwrap().error.unwrap().contains("api.yaml:2:"), "the place is told");
    fs::remove_file(&file).unwrap();
    assert_eq!((again(&mut loader), version()), (Outcome::Installed, (3, 3)));
    assert_eq!(to.engine.snapshot().rules(), 0);
}

#[test]
fn a_directory_that_is_gone_changes_nothing() {
    let (folder, to) = (tempfile::tempdir().unwrap(), loading());
    fs::write(folder.path().join("api.yaml"), GOOD).unwrap();
    let mut loader = Loader::start(Some(folder.path().to_owned()), to.clone()).unwrap_or_else(|_| panic!());
    drop(folder);
    assert_eq!(again(&mut loader), Outcome::Failed);
    assert_eq!((to.engine.snapshot().rules(), to.status.get().files.len()), (1, 1));
}

#[test]
fn at_the_start_all_rules_must_be_good() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("api.yaml"), BAD).unwrap();
    let error = Loader::start(Some(folder.path().to_owned()), loading()).err().unwrap();
    assert!(error.is_configuration());
    assert!(error.to_string().contains("did you mean `limit`?"), "{error}");
    let error = Loader::start(Some(folder.path().join("absent")), loading()).err().unwrap();
    assert!(error.is_configuration());
}

#[test]
fn without_rules_or_with_an_empty_directory_there_is_a_first_version() {
    let folder = tempfile::tempdir().unwrap();
    for path in [None, Some(folder.path().to_owned())] {
        let to = loading();
        assert!(Loader::start(path, to.clone()).is_ok());
        assert_eq!(to.engine.snapshot().version(), 1);
    }
}

#[test]
fn files_that_are_gone_are_named_and_not_without_end() {
    let texts = |names: std::ops::Range<usize>| -> Texts {
        names.map(|name| (format!("{name:02}.yaml"), String::new())).collect()
    };
    assert_eq!(gone(&texts(0..3), &texts(0..4)), None);
    assert_eq!(gone(&texts(0..3), &texts(1..2)).unwrap(), "00.yaml, 02.yaml");
    let many = gone(&texts(0..30), &texts(0..1)).unwrap();
    assert!(many.ends_with(", 20.yaml and 9 more"), "{many}");
}

fn switch(loader: &mut Loader, target: Target, mode: Mode, lasts: Option<u64>) -> Result<(), Refused> {
    let lasts = lasts.map(Duration::from_secs);
    loader.switch(Change::Set { target, mode, lasts, reason: None }, "here")
}

fn mode(to: &Loading) -> Option<(Mode, Option<Mode>)> {
    let snapshot = to.engine.snapshot();
    let (_, rule) = snapshot.domain("api")?.rule("per-user")?;
    Some((rule.mode, rule.switched_from))
}

#[test]
fn a_switch_outlives_readings_and_waits_for_a_rule_that_is_gone() {
    let (folder, to) = (tempfile::tempdir().unwrap(), loading());
    let file = folder.path().join("api.yaml");
    fs::write(&file, GOOD).unwrap();
    let mut loader = Loader::start(Some(folder.path().to_owned()), to.clone()).unwrap_or_else(|_| panic!());
    let target = || Target::Rule("api".into(), "per-user".into());
    switch(&mut loader, target(), Mode::Off, None).unwrap();
    let off = Some((Mode::Off, Some(Mode::Enforce)));
    assert_eq!((mode(&to), to.engine.snapshot().version()), (off, 2));
    fs::write(&file, GOOD.replace("1/min", "2/min")).unwrap();
    assert_eq!((again(&mut loader), mode(&to)), (Outcome::Installed, off));
    fs::write(&file, GOOD.replace("per-user", "renamed")).unwrap();
    assert_eq!((again(&mut loader), mode(&to)), (Outcome::Installed, None));
    assert_eq!(to.status.switches().len(), 1, "it is kept");
    fs::write(&file, GOOD).unwrap();
    assert_eq!((again(&mut loader), mode(&to)), (Outcome::Installed, off));
    loader.switch(Change::TakeBack(target()), "here").unwrap();
    assert_eq!((mode(&to), to.status.switches().len()), (Some((Mode::Enforce, None)), 0));
}

#[test]
fn a_switch_ends_by_itself() {
    let (folder, now) = (tempfile::tempdir().unwrap(), Arc::new(AtomicU64::new(0)));
    fs::write(folder.path().join("api.yaml"), GOOD).unwrap();
    let clock = Arc::clone(&now);
    let clock: Clock = Arc::new(move || Timestamp::from_micros(clock.load(Relaxed)));
    let to = Loading { clock, ..loading() };
    let mut loader = Loader::start(Some(folder.path().to_owned()), to.clone()).unwrap_or_else(|_| panic!());
    switch(&mut loader, Target::Everything, Mode::Shadow, Some(10)).unwrap();
    now.store(9_999_999, Relaxed);
    loader.end_switches();
    assert_eq!((mode(&to), loader.version), (Some((Mode::Shadow, Some(Mode::Enforce))), 2));
    now.store(10_000_000, Relaxed);
    loader.end_switches();
    loader.end_switches();
    assert_eq!((mode(&to), loader.version), (Some((Mode::Enforce, None)), 3));
}

#[test]
fn what_is_not_there_cannot_be_switched_and_the_nearest_is_named() {
    let (folder, to) = (tempfile::tempdir().unwrap(), loading());
    fs::write(folder.path().join("api.yaml"), GOOD).unwrap();
    let mut loader = Loader::start(Some(folder.path().to_owned()), to.clone()).unwrap_or_else(|_| panic!());
    let mut said = |target| switch(&mut loader, target, Mode::Off, None).unwrap_err().to_string();
    assert_eq!(
        said(Target::Rule("api".into(), "per-usr".into())),
        "the rules in force have no rule `per-usr` in the domain `api`; did you mean `per-user`?"
    );
    assert_eq!(
        said(Target::Domain("apo".into())),
        "the rules in force have no domain `apo`; did you mean `api`?"
    );
    assert_eq!((loader.version, to.status.switches().is_empty()), (1, true));
}

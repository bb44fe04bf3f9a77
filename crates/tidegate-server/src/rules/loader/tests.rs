use std::fs;

use tidegate_core::Timestamp;
use tidegate_store::Memory;

use crate::stack::Stack;

use super::*;

const GOOD: &str = "domain: api\nrules: [{ name: per-user, by: [user], limit: 1/min }]";
const BAD: &str = "domain: api\nrules: [{ name: per-user, by: [user], limt: 1/min }]";

fn loading() -> Loading {
    Loading {
        engine: Arc::new(Engine::new(Stack::Memory(Memory::new()))),
        status: Arc::new(Status::default()),
        clock: Arc::new(|| Timestamp::from_micros(7_000_000)),
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

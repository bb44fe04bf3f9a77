use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use tempfile::TempDir;

use super::*;
use crate::reload::ReloadOutcome;
use crate::test_support::{BAD, GOOD, Node};
use crate::{Error, RuleWatcher, channel};

/// A folder with one rule file.
fn folder(text: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("api.yaml"), text).unwrap();
    folder
}

fn source(folder: &TempDir) -> FileSource {
    FileSource::new(folder.path().to_owned())
}

async fn start(source: FileSource) -> Result<(), Error> {
    let (_, requests) = channel();
    RuleWatcher::start(Some(source), Node::new().loader(), requests).await.map(drop)
}

#[tokio::test]
async fn bad_or_missing_rules_prevent_the_start() {
    let error = start(source(&folder(BAD))).await.unwrap_err();
    assert!(error.to_string().contains("did you mean `limit`?"), "{error}");
    let error = start(FileSource::new("/no/such/folder".into())).await.unwrap_err();
    let expected = "cannot read the rules /no/such/folder: No such file or directory (os error 2)";
    assert_eq!(error.to_string(), expected);
}

#[tokio::test]
async fn empty_directory_has_a_first_version() {
    let (folder, node) = (tempfile::tempdir().unwrap(), Node::new());
    let (_, requests) = channel();
    RuleWatcher::start(Some(source(&folder)), node.loader(), requests).await.unwrap();
    assert_eq!(node.versions(), (1, 1));
}

/// A source that changes its file after each of its first reads, and how often it has read.
fn changing(folder: &TempDir, changes: usize) -> (FileSource, Arc<AtomicUsize>) {
    let reads = Arc::new(AtomicUsize::new(0));
    let (counted, file) = (Arc::clone(&reads), folder.path().join("api.yaml"));
    let reader: Reader = Arc::new(move |path| {
        let files = files::read(path);
        let round = counted.fetch_add(1, Relaxed);
        if round < changes {
            fs::write(&file, "#".repeat(round + 1))?;
        }
        files
    });
    (FileSource { reader, ..source(folder) }, reads)
}

#[tokio::test(start_paused = true)]
async fn waits_until_files_have_settled() {
    let folder = folder("");
    let (mut source, reads) = changing(&folder, 2);
    let reading = source.read().await;
    assert_eq!(reads.load(Relaxed), 3);
    let texts: Vec<_> = reading.files.unwrap().into_values().collect();
    assert_eq!(texts, [Ok("##".to_owned())]);
    assert!(reading.revision == source.revision().await.ok());
}

#[tokio::test(start_paused = true)]
async fn restless_files_are_read_as_they_are() {
    let folder = folder("");
    let (mut source, reads) = changing(&folder, usize::MAX);
    let reading = source.read().await;
    assert_eq!(reads.load(Relaxed), MAX_ROUNDS);
    assert!(reading.files.is_ok());
    assert!(reading.revision != source.revision().await.ok(), "the next look reads again");
}

#[tokio::test]
async fn first_read_does_not_wait() {
    let folder = folder("");
    let (mut source, reads) = changing(&folder, usize::MAX);
    let reading = source.read_first().await;
    assert_eq!(reads.load(Relaxed), 1);
    assert!(reading.revision != source.revision().await.ok(), "the next look reads again");
}

#[tokio::test]
async fn missing_folder_is_read_again() {
    let mut source = FileSource::new("/no/such/folder".into());
    assert!(source.revision().await.is_err());
    let reading = source.read().await;
    assert!(reading.revision.is_none());
    assert_eq!(reading.files.unwrap_err().to_string(), "No such file or directory (os error 2)");
}

#[tokio::test(flavor = "multi_thread")]
async fn panic_of_the_reader_fails_one_reload() {
    let (folder, node, breaks) = (folder(GOOD), Node::new(), Arc::new(AtomicBool::new(false)));
    let reader: Reader = {
        let breaks = Arc::clone(&breaks);
        Arc::new(move |path| {
            assert!(!breaks.load(Relaxed), "s3cret");
            files::read(path)
        })
    };
    let (control, requests) = channel();
    let source = FileSource { reader, ..source(&folder) };
    let watcher = RuleWatcher::start(Some(source), node.loader(), requests).await.unwrap();
    breaks.store(true, Relaxed);
    let watcher = tokio::spawn(watcher.run());

    assert_eq!(control.reload("test").await.unwrap(), ReloadOutcome::Failed);
    assert_eq!(node.failures(), 1);
    let error = node.status.rules().last.unwrap().error.unwrap();
    assert!(error.starts_with("reading the rules broke") && !error.contains("s3cret"), "{error}");
    assert_eq!(node.engine.snapshot().rules(), 1, "the rules in force stay");

    breaks.store(false, Relaxed);
    fs::write(folder.path().join("more.yaml"), GOOD.replace("api", "more")).unwrap();
    // The change may have been noticed before the reload.
    assert!(control.reload("test").await.unwrap().is_success());
    assert_eq!(node.engine.snapshot().rules(), 2);
    drop(control);
    watcher.await.unwrap();
}

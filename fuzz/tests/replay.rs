//! Everything that is kept for a target, through the target.

use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use tidegate_fuzz::{TARGETS, Target};

/// The most that is kept for one target, so that the repository stays small and the replay short.
const MOST_FILES: usize = 200;
const MOST_BYTES: u64 = 300 << 10;

/// The files of a target in that folder, in order.
fn files(folder: &str, target: &Target) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join(target.name);
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    files
}

/// The files on which the target fails.
fn failures(folder: &str, target: &Target) -> Vec<PathBuf> {
    let fails = |file: &PathBuf| {
        let bytes = std::fs::read(file).expect("it is a file");
        catch_unwind(|| (target.run)(&bytes)).is_err()
    };
    files(folder, target).into_iter().filter(fails).collect()
}

#[test]
fn every_file_of_every_corpus_passes() {
    let failures: Vec<PathBuf> = TARGETS.iter().flat_map(|target| failures("corpus", target)).collect();
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn what_failed_once_does_not_fail_again() {
    let failures: Vec<PathBuf> = TARGETS.iter().flat_map(|target| failures("regressions", target)).collect();
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn every_target_has_a_corpus() {
    for target in &TARGETS {
        assert!(!files("corpus", target).is_empty(), "the target {} has no corpus", target.name);
    }
}

#[test]
fn nothing_at_all_is_an_input_too() {
    for target in &TARGETS {
        (target.run)(&[]);
    }
}

#[test]
fn corpora_stay_small() {
    for target in &TARGETS {
        let files = files("corpus", target);
        let bytes: u64 = files.iter().map(|file| file.metadata().unwrap().len()).sum();
        assert!(files.len() <= MOST_FILES, "{} has {} files", target.name, files.len());
        assert!(bytes <= MOST_BYTES, "{} has {bytes} bytes", target.name);
    }
}

#[test]
fn every_folder_belongs_to_a_target() {
    for folder in ["corpus", "regressions"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        for entry in std::fs::read_dir(&folder).into_iter().flatten() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(tidegate_fuzz::target(&name).is_some(), "{name} in {} is no target", folder.display());
        }
    }
}

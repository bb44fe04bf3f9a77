//! What clients read, to the letter: headers and bodies beside the files that they must equal.
//!
//! `TIDEGATE_BLESS=1 cargo test -p tidegate-wire --test golden` writes the files anew; what changed is then reviewed.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "golden/cases.rs"]
mod cases;
#[path = "golden/headers.rs"]
mod headers;
#[path = "golden/problem.rs"]
mod problem;

use std::path::{Path, PathBuf};

/// The files that some test compares with.
const FILES: [&str; 8] = [
    "draft-10.txt",
    "draft-10-partition-keys.txt",
    "draft-03.txt",
    "legacy-epoch.txt",
    "legacy-delta.txt",
    "all-with-jitter.txt",
    "off.txt",
    "problem.txt",
];

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// Fails unless the file says exactly this; with `TIDEGATE_BLESS=1` makes it say so.
fn check(file: &str, written: &str) {
    assert!(FILES.contains(&file), "{file} is not among the golden files");
    let path = directory().join(file);
    if std::env::var_os("TIDEGATE_BLESS").is_some_and(|value| value == "1") {
        std::fs::write(&path, written).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(written, golden, "{file} differs; TIDEGATE_BLESS=1 rewrites it");
}

#[test]
fn no_golden_file_is_left_over() {
    let names = std::fs::read_dir(directory())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let texts = names.filter(|name| Path::new(name).extension().is_some_and(|extension| extension == "txt"));
    for name in texts {
        assert!(FILES.contains(&name.as_str()), "{name} belongs to no test");
    }
}

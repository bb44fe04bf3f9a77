//! Golden files: what the command line says, to the letter.
//!
//! `TIDEGATE_BLESS=1 cargo test -p tidegate-cli --test e2e command_line` writes them anew; what changed is then reviewed.

use std::path::{Path, PathBuf};

use crate::program::root;

/// The files that some test compares with.
const FILES: [&str; 8] = [
    "help.txt",
    "validate.txt",
    "validate-wrong.txt",
    "validate-atomic.txt",
    "explain.txt",
    "init.txt",
    "usage.txt",
    "settings.txt",
];

fn folder() -> PathBuf {
    root().join("tests/e2e/golden")
}

/// Fails unless the file says exactly this; with `TIDEGATE_BLESS=1` makes it say so.
#[track_caller]
pub(crate) fn check(file: &str, said: &str) {
    assert!(FILES.contains(&file), "{file} is not among the golden files");
    compare(&folder().join(file), said);
}

/// The same for a file of the documentation.
#[track_caller]
pub(crate) fn check_at(file: &str, said: &str) {
    compare(&root().join(file), said);
}

#[track_caller]
fn compare(path: &Path, said: &str) {
    if std::env::var_os("TIDEGATE_BLESS").is_some_and(|value| value == "1") {
        std::fs::write(path, said).unwrap();
    }
    let golden = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        said == golden,
        "{} differs; TIDEGATE_BLESS=1 rewrites it. Now it would be:\n{said}",
        path.display()
    );
}

#[test]
fn no_golden_file_of_the_command_line_is_left_over() {
    for entry in std::fs::read_dir(folder()).unwrap() {
        let name = entry.unwrap().file_name();
        assert!(FILES.iter().any(|file| Path::new(file) == Path::new(&name)), "{name:?} belongs to no test");
    }
}

//! The plan of the house, held against the house.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

type Edges = BTreeMap<String, BTreeSet<String>>;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn cargo(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO")).current_dir(root()).args(arguments).output().unwrap();
    assert!(output.status.success(), "cargo {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn metadata() -> serde_json::Value {
    serde_json::from_str(&cargo(&["metadata", "--no-deps", "--format-version", "1"])).unwrap()
}

/// Who depends on whom, tests left out.
fn edges() -> Edges {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap();
    let ours: BTreeSet<&str> = packages.iter().map(|package| package["name"].as_str().unwrap()).collect();
    let depends_on = |package: &serde_json::Value| {
        let dependencies = package["dependencies"].as_array().unwrap().iter();
        let normal = dependencies.filter(|dependency| dependency["kind"].is_null());
        let names = normal.map(|dependency| dependency["name"].as_str().unwrap().to_owned());
        names.filter(|name| ours.contains(name.as_str())).collect()
    };
    packages
        .iter()
        .map(|package| (package["name"].as_str().unwrap().to_owned(), depends_on(package)))
        .collect()
}

/// The table of crates in ARCHITECTURE.md: `| crate | holds | may depend on |`.
fn allowed() -> Edges {
    let names = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let name = names(cells.get(1)?).first()?.clone();
        name.starts_with("tidegate").then(|| (name, names(cells[3]).into_iter().collect()))
    };
    read("ARCHITECTURE.md").lines().filter(|line| line.starts_with("| `")).filter_map(row).collect()
}

#[test]
fn no_crate_depends_on_one_that_the_plan_does_not_allow() {
    let allowed = allowed();
    for (name, depends_on) in edges() {
        let may = allowed.get(&name).unwrap_or_else(|| panic!("ARCHITECTURE.md has no row for {name}"));
        let extra: Vec<_> = depends_on.difference(may).collect();
        assert!(extra.is_empty(), "{name} depends on {extra:?}, which ARCHITECTURE.md does not allow");
    }
}

#[test]
fn the_plan_has_no_room_that_does_not_exist() {
    let edges = edges();
    for name in allowed().keys() {
        assert!(edges.contains_key(name), "ARCHITECTURE.md has a row for {name}, which does not exist");
    }
}

#[test]
fn the_library_stays_small() {
    let tree = cargo(&["tree", "-p", "tidegate", "-e", "normal", "--prefix", "none", "--locked"]);
    let crates: BTreeSet<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(crates.len() - 1 < 16, "the library's default dependencies are {crates:?}");
}

#[test]
fn core_bans_clocks() {
    let bans = read("crates/tidegate-core/clippy.toml");
    for clock in ["std::time::Instant::now", "std::time::SystemTime::now"] {
        assert!(bans.contains(clock), "clippy.toml of core does not ban {clock}");
    }
}

#[test]
fn the_readme_shows_what_the_tour_prints() {
    let tour = cargo(&["run", "--quiet", "--locked", "-p", "tidegate", "--example", "tour"]);
    let first = tour.trim_start().split("\n\n").next().unwrap();
    assert!(read("README.md").contains(first), "README.md does not show:\n{first}");
}

#[test]
fn links_between_documents_lead_somewhere() {
    for document in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"]
        .into_iter()
        .map(str::to_owned)
        .chain(documents("docs"))
    {
        let text = read(&document);
        for target in text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next()) {
            if target.is_empty() || target.contains("://") {
                continue;
            }
            let from = root().join(&document);
            assert!(
                from.parent().unwrap().join(target).exists(),
                "{document} links to {target}, which is not there"
            );
        }
    }
}

fn documents(folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(root().join(folder)).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let inside = |path: std::path::PathBuf| {
        let name = format!("{folder}/{}", path.file_name().unwrap().to_str().unwrap());
        if path.is_dir() { documents(&name) } else { vec![name] }
    };
    paths.flat_map(inside).filter(|name| Path::new(name).extension().is_some_and(|end| end == "md")).collect()
}

/// All Rust files below a folder.
fn sources(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn unsafe_code_is_where_memory_is_asked_for_and_nowhere_else() {
    let mut files = Vec::new();
    sources(&root().join("crates"), &mut files);
    let expects =
        |path: &&std::path::PathBuf| std::fs::read_to_string(path).unwrap().contains("(unsafe_code");
    let with: Vec<String> = files
        .iter()
        .filter(expects)
        .map(|path| path.strip_prefix(root()).unwrap().display().to_string())
        .filter(|path| !path.starts_with("tests/house"))
        .collect();
    assert_eq!(with, ["crates/tidegate-store/src/memory/arena.rs"]);
    assert!(read("Cargo.toml").contains("unsafe_code = \"deny\""));
}

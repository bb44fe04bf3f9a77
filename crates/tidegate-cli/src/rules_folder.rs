//! Rule files from where an operator points: a folder, or one file.

use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context as _, Error, Result, bail};
use tidegate_control::read_files;
use tidegate_core::Timestamp;
use tidegate_rules::{Compiled, Context, Source, compile_in};

use crate::exit::Failure;

/// Reads and compiles a folder of rule files, or one file. Rules that cannot be read are as wrong as those that cannot be used.
pub(crate) fn read(path: &Path) -> Result<Compiled, Failure> {
    read_beside(path, Vec::new())
}

/// Compiles the rules of a folder; settings declare these attributes.
pub(crate) fn read_beside(path: &Path, attributes: Vec<String>) -> Result<Compiled, Failure> {
    let sources = sources(path).map_err(|error| Failure::Configuration(format!("{error:#}")))?;
    let context = Context { now: Some(now()), attributes };
    Ok(compile_in(&context, sources))
}

/// The time of this machine.
pub(crate) fn now() -> Timestamp {
    let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_micros(u64::try_from(wall.as_micros()).unwrap_or(u64::MAX))
}

/// Files that say nothing. Whoever has them looked at believes that something is limited.
pub(crate) fn empty(path: &Path) -> Failure {
    Failure::Configuration(format!(
        "there are no rules in {}: everything would pass\nhint: write some under `rules`, or let `tidegate init` do it",
        path.display()
    ))
}

fn sources(path: &Path) -> Result<Vec<Source>> {
    let files = read_files(path).with_context(|| format!("cannot read the folder {}", path.display()))?;
    let sources: Vec<Source> = files.into_iter().map(source).collect::<Result<_>>()?;
    if sources.is_empty() {
        bail!(
            "there is no .yaml file in {}\nhint: `tidegate init {}` writes one",
            path.display(),
            path.display()
        );
    }
    Ok(sources)
}

fn source((name, text): (String, Result<String, String>)) -> Result<Source> {
    let text = text.map_err(Error::msg).with_context(|| format!("cannot read {name}"))?;
    Ok(Source::new(name, text))
}

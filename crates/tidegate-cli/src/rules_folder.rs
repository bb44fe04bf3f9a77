//! Rule files from where an operator points: a folder, or one file.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use tidegate_rules::{Compiled, Source, compile};

use crate::exit::Failure;

/// Reads and compiles a folder of rule files, or one file. Rules that cannot be read are as wrong as those that cannot be used.
pub(crate) fn read(path: &Path) -> Result<Compiled, Failure> {
    let sources = sources(path).map_err(|error| Failure::Configuration(format!("{error:#}")))?;
    Ok(compile(sources))
}

fn sources(path: &Path) -> Result<Vec<Source>> {
    let mut sources = Vec::new();
    if path.is_file() {
        sources.push(source(path)?);
    } else {
        let entries =
            std::fs::read_dir(path).with_context(|| format!("cannot read the folder {}", path.display()))?;
        for entry in entries {
            let file = entry.with_context(|| format!("cannot read the folder {}", path.display()))?.path();
            let hidden = file.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
            let is_yaml = file.extension().is_some_and(|ending| ending == "yaml" || ending == "yml");
            if is_yaml && !hidden && file.is_file() {
                sources.push(source(&file)?);
            }
        }
    }
    if sources.is_empty() {
        bail!(
            "there is no .yaml file in {}\nhint: `tidegate init {}` writes one",
            path.display(),
            path.display()
        );
    }
    Ok(sources)
}

fn source(path: &Path) -> Result<Source> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(Source::new(path.display().to_string(), text))
}

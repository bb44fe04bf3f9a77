//! `tidegate init`: a file to start from.

use std::io::{Error, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow};
use clap::Args;
use tidegate_rules::{schema, starter};
use tidegate_server::config::DEFAULT_RULES;

use crate::exit::Failure;
use crate::output::talk;

/// Writes a commented file of rules to start from, and the schema for editors.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tidegate init && tidegate validate && tidegate serve\n  tidegate init ./limits && tidegate serve --rules ./limits"
)]
pub(crate) struct InitArgs {
    /// The folder; made if it is not there
    #[arg(default_value = DEFAULT_RULES)]
    folder: PathBuf,
    /// Write over files that are there
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(args: &InitArgs) -> Result<(), Failure> {
    std::fs::create_dir_all(&args.folder)
        .with_context(|| format!("cannot make {}", args.folder.display()))?;
    let schema = format!("{:#}\n", schema::json_schema());
    for (name, text) in [("api.yaml", starter::STARTER), ("tidegate.schema.json", schema.as_str())] {
        let path = args.folder.join(name);
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create(true).truncate(args.force).create_new(!args.force);
        let mut file = options.open(&path).map_err(|why| cannot_open(&path, &why))?;
        file.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))?;
        talk(&format!("wrote {}\n", path.display()));
    }
    talk(&next(&args.folder));
    Ok(())
}

/// What to type next; the default folder need not be named.
fn next(folder: &Path) -> String {
    if folder == Path::new(DEFAULT_RULES) {
        return "next: tidegate validate && tidegate serve\n".to_owned();
    }
    let folder = folder.display();
    format!("next: tidegate validate {folder} && tidegate serve --rules {folder}\n")
}

fn cannot_open(path: &Path, why: &Error) -> anyhow::Error {
    let path = path.display();
    match why.kind() {
        ErrorKind::AlreadyExists => anyhow!("{path} is there already\nhint: --force writes over it"),
        _ => anyhow!("cannot write {path}: {why}"),
    }
}

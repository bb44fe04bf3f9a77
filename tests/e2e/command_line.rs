//! Commands that come to an end: what they print, say and exit with.

mod help;
mod usage;
mod validate;
mod explain;
mod init;
mod check;
mod doors;
mod settings;
mod demo;

use std::fmt::Write as _;
use std::process::Stdio;

use crate::folder::Folder;
use crate::patience::within;
use crate::tidegate::tidegate;

/// A command that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) typed: String,
    pub(crate) code: Option<i32>,
    /// Data.
    pub(crate) printed: String,
    /// Talk.
    pub(crate) said: String,
}

/// Runs a command, typed as in a shell without quotes, in a folder.
pub(crate) async fn run(folder: &Folder, typed: &str) -> Ended {
    run_with(folder, &[], typed).await
}

/// The same with variables.
async fn run_with(folder: &Folder, variables: &[(&str, &str)], typed: &str) -> Ended {
    let words: Vec<&str> = typed.split_whitespace().collect();
    let mut command = tidegate(&words);
    command.envs(variables.iter().copied());
    command.current_dir(folder.path()).stdin(Stdio::null()).kill_on_drop(true);
    let output = within(typed, command.output()).await.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ended {
        typed: typed.to_owned(),
        code: output.status.code(),
        printed: text(output.stdout),
        said: text(output.stderr),
    }
}

/// Commands one after the other in a folder, each with all that came of it, as golden files have it.
async fn transcript(folder: &Folder, commands: &[&str]) -> String {
    let mut text = String::new();
    for typed in commands {
        let Ended { typed, code, printed, said } = run(folder, typed).await;
        writeln!(text, "$ tidegate {typed}\n{printed}").unwrap();
        if !said.is_empty() {
            writeln!(text, "--- standard error\n{said}").unwrap();
        }
        writeln!(text, "--- exit code {}\n", code.unwrap()).unwrap();
    }
    text
}

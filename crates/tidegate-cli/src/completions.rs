//! `tidegate completions`: what a shell needs to complete commands and flags.

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::arguments::Arguments;
use crate::exit::Failure;

/// Prints them.
#[expect(clippy::unnecessary_wraps, reason = "every command may fail")]
pub(crate) fn run(shell: Shell) -> Result<(), Failure> {
    clap_complete::generate(shell, &mut Arguments::command(), "tidegate", &mut std::io::stdout());
    Ok(())
}

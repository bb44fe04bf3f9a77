//! The one binary, `tidegate`: what was typed becomes a command, and what came of it an exit code.

mod arguments;
mod exit;
mod serve;
mod completions;

use std::process::ExitCode;

use clap::Parser as _;

use arguments::{Arguments, Command};

fn main() -> ExitCode {
    // Usage errors end here: clap prints them and exits with 2.
    let arguments = Arguments::parse();
    let came = match arguments.command {
        Command::Serve(serve) => serve::run(&serve),
        Command::Completions { shell } => completions::run(shell),
    };
    exit::code(came)
}

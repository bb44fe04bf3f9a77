//! The one binary, `tidegate`: what was typed becomes a command, and what came of it an exit code.

mod arguments;
mod exit;
mod output;
mod serve;
mod rules_folder;
mod validate;
mod live;
mod init;
mod ask;
mod check;
mod explain;
mod nodes;
mod rules;
mod snippet;
mod openapi;
mod demo;
mod completions;

use std::process::ExitCode;

use clap::Parser as _;

use arguments::{Arguments, Command};

/// A static binary has musl, whose own allocator has one lock for all cores.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Usage errors end here: clap prints them and exits with 2.
    let arguments = Arguments::parse();
    let came = match arguments.command {
        Command::Serve(serve) => serve::run(&serve),
        Command::Validate(args) => validate::run(&args),
        Command::Init(args) => init::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Nodes(args) => nodes::run(&args),
        Command::Rules(args) => rules::run(&args),
        Command::Snippet(args) => snippet::run(&args),
        Command::Openapi(args) => openapi::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Completions { shell } => completions::run(shell),
    };
    exit::code(came)
}

//! The one binary, `tidegate`: what was typed becomes a command, and what came of it an exit code.

mod arguments;
mod exit;
mod output;
mod settings;
mod serve;
mod rules_folder;
mod validate;
mod live;
mod idle_rules;
mod init;
mod ask;
mod human;
mod check;
mod settle;
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

/// Cores ask for memory apart: that of musl, which a static binary has, has one lock for all, and that of glibc costs more.
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
        Command::Commit(args) => settle::commit(&args),
        Command::Cancel(args) => settle::cancel(&args),
        Command::Release(args) => settle::release(&args),
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

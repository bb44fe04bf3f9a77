//! Prints studies: `tidegate-sim accuracy`.

use std::process::ExitCode;

use tidegate_sim::accuracy;

const HELP: &str = "\
Studies of the algorithms in virtual time, with fixed seeds.

Usage: tidegate-sim accuracy

  accuracy   how far each algorithm strays from the exact count, on three kinds of traffic near the limit (Markdown)
";

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "data goes to stdout and talk to stderr")]
fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("accuracy") => print!("{}", accuracy::table(|what| eprintln!("{what} ..."))),
        Some("-h" | "--help") => print!("{HELP}"),
        other => {
            eprintln!(
                "error: {} is no study\nhint: write `tidegate-sim accuracy`, or --help",
                other.unwrap_or("nothing")
            );
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

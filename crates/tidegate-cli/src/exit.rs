//! What came of a command, as an exit code and a few words on standard error.

use std::io::Write as _;
use std::process::ExitCode;

use crate::ask::Trouble;

/// Why a command did not do what was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Something failed while it ran: 1.
    Runtime(anyhow::Error),
    /// What was typed is wrong: 2.
    Usage(String),
    /// What was configured is wrong: 3.
    Configuration(String),
    /// The rules are wrong, and it has been said how: 3.
    InvalidRules,
    /// The server said no, and it has been said why: 5.
    Denied,
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Runtime(error.into())
    }
}

/// The exit code; what went wrong is said.
pub(crate) fn code(came: Result<(), Failure>) -> ExitCode {
    let (code, message) = match came {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::InvalidRules) => return ExitCode::from(3),
        Err(Failure::Denied) => return ExitCode::from(5),
        Err(Failure::Runtime(error)) if error.is::<Trouble>() => (4, format!("error: {error:#}")),
        Err(Failure::Runtime(error)) => (1, format!("error: {error:#}")),
        Err(Failure::Usage(message)) => {
            (2, format!("{}\n\nFor more information, try '--help'.", headed(&message)))
        }
        Err(Failure::Configuration(message)) => (3, headed(&message)),
    };
    say(message.trim_end());
    ExitCode::from(code)
}

/// Several that went wrong, one below the other.
pub(crate) fn listed(all: &[impl ToString]) -> String {
    all.iter().map(|one| headed(one.to_string().trim_end())).collect::<Vec<_>>().join("\n")
}

/// Diagnostics begin with their own word.
fn headed(message: &str) -> String {
    let is_headed = ["error[", "error: ", "warning["].iter().any(|word| message.starts_with(word));
    if is_headed { message.to_owned() } else { format!("error: {message}") }
}

/// A line to whoever watches. If nobody does, nothing is lost.
pub(crate) fn say(line: &str) {
    drop(writeln!(std::io::stderr(), "{line}"));
}

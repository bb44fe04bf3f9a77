//! What came of a command, as an exit code and a few words on standard error.

use std::io::Write as _;
use std::process::ExitCode;

use crate::ask::{Unauthorised, Unreachable};

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
        Err(Failure::Runtime(error)) if error.is::<Unreachable>() || error.is::<Unauthorised>() => {
            (4, format!("error: {error:#}"))
        }
        Err(Failure::Runtime(error)) => (1, format!("error: {error:#}")),
        Err(Failure::Usage(message)) => {
            (2, format!("error: {message}\n\nFor more information, try '--help'."))
        }
        Err(Failure::Configuration(message)) if is_rendered(&message) => (3, message),
        Err(Failure::Configuration(message)) => (3, format!("error: {message}")),
    };
    say(message.trim_end());
    ExitCode::from(code)
}

/// Diagnostics begin with their own word.
fn is_rendered(message: &str) -> bool {
    message.starts_with("error[") || message.starts_with("warning[")
}

/// A line to whoever watches. If nobody does, nothing is lost.
pub(crate) fn say(line: &str) {
    drop(writeln!(std::io::stderr(), "{line}"));
}

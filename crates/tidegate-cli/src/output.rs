//! Data on standard output, talk on standard error.

use std::io::{IsTerminal as _, Write as _};

/// How data is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
}

/// Prints data. A reader who stops early is no error.
pub(crate) fn print(text: &str) -> std::io::Result<()> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Says something beside the data; nobody may be listening.
pub(crate) fn talk(text: &str) {
    let text = if colours() { coloured(text) } else { text.to_owned() };
    drop(std::io::stderr().lock().write_all(text.as_bytes()));
}

fn colours() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

/// Meaning never depends on colour; it only helps the eye.
fn coloured(text: &str) -> String {
    let paint = |line: &str| {
        let colour = if line.starts_with("error") {
            "1;31"
        } else if line.starts_with("warning") {
            "1;33"
        } else {
            return line.to_owned();
        };
        format!("\u{1b}[{colour}m{line}\u{1b}[0m")
    };
    let lines: Vec<String> = text.split('\n').map(paint).collect();
    lines.join("\n")
}

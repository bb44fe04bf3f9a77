//! Logs on standard error: fields, not sentences, as text or as JSON.

use tracing::Level;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::writer::MakeWriterExt as _;

use crate::config::{Log, LogFormat};

/// Writes all that happens from now on to standard error. A second call does nothing.
pub fn start(log: Log) {
    let builder = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::from_level(log.level))
        .with_target(false)
        .with_ansi(false)
        .with_writer(std::io::stderr.with_max_level(Level::TRACE));
    let started = match log.format {
        LogFormat::Text => builder.try_init(),
        LogFormat::Json => builder.json().flatten_event(true).with_current_span(false).try_init(),
    };
    if started.is_ok() {
        log_panics();
    }
}

/// A panic is logged with its place and without its words: they may hold what a caller sent.
fn log_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let at = panic.location().map(ToString::to_string);
        tracing::error!(at, "panic");
    }));
}

//! Logs on standard error: fields, not sentences, as text or as JSON.

use tracing::Level;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::config::{Log, LogFormat};

/// Writes all that happens from now on to standard error. A second call does nothing.
pub fn start(log: Log) {
    let builder = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_target(false)
        .with_ansi(false)
        .with_writer(std::io::stderr);
    let ours = ours(log.level);
    let started = match log.format {
        LogFormat::Text => builder.finish().with(ours).try_init(),
        LogFormat::Json => {
            builder.json().flatten_event(true).with_current_span(false).finish().with(ours).try_init()
        }
    };
    if started.is_ok() {
        log_panics();
    }
}

/// Our own words in all detail that is wanted. Libraries may repeat what a caller sent in theirs.
fn ours(level: Level) -> Targets {
    Targets::new().with_default(level.min(Level::INFO)).with_target("tidegate", level)
}

/// A panic is logged with its place and without its words: they may hold what a caller sent.
fn log_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let at = panic.location().map(ToString::to_string);
        tracing::error!(at, "panic");
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_are_told_of_us_and_not_of_libraries() {
        let all = ours(Level::TRACE);
        assert!(all.would_enable("tidegate_net::listener", &Level::TRACE));
        assert!(all.would_enable("h2::server", &Level::INFO));
        assert!(!all.would_enable("h2::server", &Level::DEBUG));
        let few = ours(Level::ERROR);
        assert!(!few.would_enable("tidegate_server", &Level::WARN) && !few.would_enable("h2", &Level::WARN));
    }
}

//! What `/metrics` says, in Prometheus' text format. Labels are bounded: rules beyond the busiest are added up, and no key
//! of a counter is ever among them.

mod text;
mod busiest;
mod checks;
mod process;
mod kept;
mod shared;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use tidegate_control::ControlStatus;
use tidegate_core::Timestamp;
use tidegate_engine::Engine;
use tidegate_frontend::door::Door;
use tidegate_net::ConnectionCounts;
use tidegate_net::cores::Cores;

use crate::checkpoint;
use crate::clock::WallClock;
use crate::stack::Stack;
use crate::together::Heard;

pub(crate) use busiest::{Busiest, MOST_RULES};
pub(crate) use text::{Kind, Text};

/// The media type of the text format.
pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Everything that metrics are read from.
pub(crate) struct Metrics {
    pub(crate) engine: Arc<Engine<Stack>>,
    pub(crate) status: Arc<ControlStatus>,
    /// How counters are kept over a restart, if they are.
    pub(crate) kept: Option<Arc<checkpoint::Status>>,
    /// What was heard of other nodes, if there are any.
    pub(crate) heard: Option<Arc<Heard>>,
    pub(crate) doors: Vec<Measured>,
    pub(crate) cores: Arc<Cores>,
    pub(crate) started: Timestamp,
    pub(crate) clock: Arc<WallClock>,
    pub(crate) busiest: Busiest,
}

/// A door and what is counted of it.
pub(crate) struct Measured {
    pub(crate) name: &'static str,
    /// The way to the engine, if it has one.
    pub(crate) door: Option<Door<Stack>>,
    pub(crate) counts: Arc<ConnectionCounts>,
}

impl Metrics {
    /// All of it.
    pub(crate) fn render(&self) -> String {
        let mut text = Text::default();
        checks::write(&mut text, self);
        if let Some(status) = &self.kept {
            kept::write(&mut text, &status.get());
        }
        if let Some(shared) = self.engine.store().shared() {
            let news = self.heard.as_ref().map(|heard| heard.get());
            shared::write(&mut text, shared, news.as_ref());
        }
        process::write(&mut text, self);
        text.finish()
    }
}

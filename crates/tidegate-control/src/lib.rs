//! The control plane of a node: where rules come from, which of them are in force, and what an
//! operator sets over them.
//!
//! In: a [`RuleSource`], and requests through a [`ControlHandle`]. Out: snapshots installed into
//! the engine, and a [`ControlStatus`] that says what is in force and how reloads ended.
//!
//! ```text
//! RuleSource ─▶ RuleWatcher ─▶ RuleLoader ─▶ Engine::install
//!                    ▲              └──────▶ ControlStatus ─▶ admin API, metrics
//! ControlHandle ─────┘
//! ```
//!
//! One task, [`RuleWatcher::run`], installs snapshots; nothing else does.

pub mod source;
pub mod reload;
pub mod switches;
pub mod status;
mod content_hash;
mod error;
mod loader;
mod handle;
mod watcher;
#[cfg(test)]
mod test_support;

use std::sync::Arc;

use tidegate_core::Timestamp;

pub use error::Error;
pub use handle::{ControlHandle, ControlRequests, channel};
pub use loader::{LoaderContext, RuleLoader};
pub use source::read_files;
pub use source::{FileSource, MemoryRules, MemorySource, ReadError, RuleFiles, RuleSource, SourceReading};
pub use status::{ControlStatus, RulesStatus};
pub use watcher::RuleWatcher;

/// Reads the time of day. It is asked for each reload and each switch.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

//! An engine over memory, a status and a clock that is moved by hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tidegate_core::Timestamp;
use tidegate_engine::Engine;
use tidegate_rules::rule::Mode;
use tidegate_store::Memory;

use crate::loader::{LoaderContext, RuleLoader};
use crate::source::RuleFiles;
use crate::status::ControlStatus;

/// Rules with one rule, `per-user` of the domain `api`.
pub(crate) const GOOD: &str = "domain: api\nrules: [{ name: per-user, by: [user], limit: 1/min }]";

/// The same with a misspelt key.
pub(crate) const BAD: &str = "domain: api\nrules: [{ name: per-user, by: [user], limt: 1/min }]";

/// What a loader works on.
pub(crate) struct Node {
    pub(crate) engine: Arc<Engine<Memory>>,
    pub(crate) status: Arc<ControlStatus>,
    now_us: Arc<AtomicU64>,
}

impl Node {
    pub(crate) fn new() -> Self {
        let engine = Arc::new(Engine::new(Memory::new()));
        Self { engine, status: Arc::default(), now_us: Arc::new(AtomicU64::new(7_000_000)) }
    }

    pub(crate) fn set_now_us(&self, now_us: u64) {
        self.now_us.store(now_us, Relaxed);
    }

    pub(crate) fn loader(&self) -> RuleLoader<Memory> {
        let now_us = Arc::clone(&self.now_us);
        RuleLoader::new(LoaderContext {
            engine: Arc::clone(&self.engine),
            status: Arc::clone(&self.status),
            clock: Arc::new(move || Timestamp::from_micros(now_us.load(Relaxed))),
            tiers: Vec::new(),
            attributes: Vec::new(),
        })
    }

    /// The version in force, by the engine and by the status.
    pub(crate) fn versions(&self) -> (u64, u64) {
        (self.engine.snapshot().version(), self.status.rules().version)
    }

    /// The mode of `per-user`, and the one that its file says if a switch is on it.
    pub(crate) fn mode(&self) -> Option<(Mode, Option<Mode>)> {
        let snapshot = self.engine.snapshot();
        let (_, rule) = snapshot.domain("api")?.rule("per-user")?;
        Some((rule.mode, rule.switched_from))
    }

    /// How many reloads failed.
    pub(crate) fn failures(&self) -> u64 {
        self.status.rules().counts[3].1
    }
}

/// One file, `api.yaml`.
pub(crate) fn file(text: &str) -> RuleFiles {
    [("api.yaml".to_owned(), Ok(text.to_owned()))].into()
}

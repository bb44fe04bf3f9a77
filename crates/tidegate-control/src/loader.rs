//! Puts rules in force: compiles what was read, installs snapshots, logs what was found.
//!
//! In: the results of reads, and changes to switches. Out: snapshots in the engine, each with the
//! next version, and notes in the status.

mod logging;
mod switching;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tidegate_engine::Engine;
use tidegate_rules::apart::Tier;
use tidegate_rules::{Context, Snapshot, Source, compile};
use tidegate_store::Store;

use crate::Clock;
use crate::content_hash::content_hash;
use crate::error::Error;
use crate::reload::{FileReport, Reconciled, ReloadOutcome, RuleTexts, reconcile};
use crate::source::{ReadError, RuleFiles};
use crate::status::{ControlStatus, ReloadAttempt};
use crate::switches::Switches;

/// What a loader works with.
pub struct LoaderContext<S> {
    /// Where snapshots are installed.
    pub engine: Arc<Engine<S>>,
    /// Where the loader notes what it did.
    pub status: Arc<ControlStatus>,
    /// The time of day.
    pub clock: Clock,
    /// Tiers whose tenants' counters have a store of their own.
    pub tiers: Vec<Tier>,
    /// Attributes that the settings declare.
    pub attributes: Vec<String>,
}

/// Compiles rules and installs them into the engine.
pub struct RuleLoader<S> {
    /// The texts in force.
    texts: RuleTexts,
    switches: Switches,
    /// The version in force; 0 before the first.
    version: u64,
    context: LoaderContext<S>,
}

impl<S: Store> RuleLoader<S> {
    /// A loader that has loaded nothing.
    pub fn new(context: LoaderContext<S>) -> Self {
        Self { texts: RuleTexts::new(), switches: Switches::default(), version: 0, context }
    }

    /// Installs an empty snapshot, for a node without a source of rules.
    pub(crate) fn load_nothing(&mut self) {
        self.install(Snapshot::default());
        self.note("start", ReloadOutcome::Installed, None, Some(Vec::new()));
    }

    /// Loads the rules for the first time: an error in any file is an error of the start.
    pub(crate) fn load_first(&mut self, files: &RuleFiles) -> Result<(), Error> {
        let reconciled = reconcile(&self.compile_context(), &self.texts, files);
        if !reconciled.outcome.is_success() {
            return Err(Error::Invalid { rendered: render(files) });
        }
        self.apply("start", reconciled);
        if self.version == 0 {
            self.install(Snapshot::default());
        }
        Ok(())
    }

    /// Puts in force what was read.
    pub(crate) fn reload(&mut self, why: &'static str, files: Result<RuleFiles, ReadError>) -> ReloadOutcome {
        match files {
            Ok(files) => self.reload_files(why, &files),
            Err(ReadError::Panicked) => self.note_panic(why, "reading"),
            Err(error) => {
                tracing::error!(why, %error, "rules unreadable");
                let error = format!("the rules cannot be read: {error}");
                self.note(why, ReloadOutcome::Failed, Some(error), None);
                ReloadOutcome::Failed
            }
        }
    }

    /// A panic of the compiler fails this reload only.
    fn reload_files(&mut self, why: &'static str, files: &RuleFiles) -> ReloadOutcome {
        let context = self.compile_context();
        match catch_unwind(AssertUnwindSafe(|| reconcile(&context, &self.texts, files))) {
            Ok(reconciled) => self.apply(why, reconciled),
            Err(_) => self.note_panic(why, "compiling"),
        }
    }

    fn note_panic(&self, why: &'static str, doing: &'static str) -> ReloadOutcome {
        tracing::error!(why, doing, "the rules broke Tidegate; those in force stay");
        let error = format!("{doing} the rules broke, which is a fault of Tidegate; the rules in force stay");
        self.note(why, ReloadOutcome::Failed, Some(error), None);
        ReloadOutcome::Failed
    }

    fn apply(&mut self, why: &'static str, reconciled: Reconciled) -> ReloadOutcome {
        let Reconciled { outcome, snapshot, texts, files } = reconciled;
        let had_rules = self.rule_count() > 0;
        let gone = logging::gone(&self.texts, &texts);
        self.texts = texts;
        if let Some(snapshot) = snapshot {
            self.install(snapshot);
        }
        logging::findings(&files);
        self.warn_of_idle_switches();
        if had_rules && self.rule_count() == 0 {
            tracing::warn!(why, gone, "no rules are left: everything passes");
        } else if gone.is_some() {
            tracing::warn!(why, gone, "rule files are gone, and their rules with them");
        }
        self.log_outcome(why, outcome, files.len());
        self.note(why, outcome, logging::first_error(&files), Some(files));
        outcome
    }

    fn log_outcome(&self, why: &'static str, outcome: ReloadOutcome, files: usize) {
        let (version, rules) = (self.version, self.rule_count());
        let word = outcome.word();
        if outcome.is_success() {
            tracing::info!(why, outcome = word, version, files, rules, "rules");
        } else {
            tracing::error!(why, outcome = word, version, files, rules, "rules");
        }
    }

    /// Installs a snapshot as the next version, with switches and separate tiers applied.
    fn install(&mut self, mut snapshot: Snapshot) {
        self.version += 1;
        if !self.switches.is_empty() {
            snapshot.switch(&self.switches);
        }
        for tier in snapshot.set_apart(&self.context.tiers) {
            let Tier { domain, attribute, value } = tier;
            tracing::warn!(
                domain,
                attribute,
                value,
                "a tier has servers of its own, but its domain has no tenants"
            );
        }
        self.context.engine.install(snapshot.with_version(self.version));
        let (hash, now) = (content_hash(&self.texts), (self.context.clock)());
        self.context.status.note_installed(self.version, hash, now);
    }

    fn note(
        &self,
        why: &'static str,
        outcome: ReloadOutcome,
        error: Option<String>,
        files: Option<Vec<FileReport>>,
    ) {
        let attempt = ReloadAttempt { at: (self.context.clock)(), why, outcome, error };
        self.context.status.note_attempt(attempt, files);
    }

    fn compile_context(&self) -> Context {
        Context { now: Some((self.context.clock)()), attributes: self.context.attributes.clone() }
    }

    fn rule_count(&self) -> usize {
        self.context.engine.snapshot().rules()
    }
}

/// Every error and warning, as a compiler prints it.
fn render(files: &RuleFiles) -> String {
    let readable = files.iter().filter_map(|(name, text)| Some(Source::new(name, text.as_ref().ok()?)));
    let unreadable = files.iter().filter_map(|(name, text)| {
        let error = text.as_ref().err()?;
        Some(format!("error[unreadable]: {name} cannot be read: {error}\n"))
    });
    compile(readable.collect()).render() + &unreadable.collect::<String>()
}

#[cfg(test)]
mod tests;

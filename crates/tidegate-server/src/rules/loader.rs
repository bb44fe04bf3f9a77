//! Reads rules and puts them in force, one version after the other.

mod switching;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tidegate_engine::Engine;
use tidegate_rules::apart::Tier;
use tidegate_rules::{Context, Severity, Snapshot, Source, compile};
use tidegate_wire::door::Clock;

use super::content::content_hash;
use super::files::{self, Fingerprint, Reading};
use super::reload::{FileReport, Outcome, Reloaded, Remark, Texts, reconcile};
use super::status::{Attempt, Status};
use super::switches::Switches;
use super::unread::Unread;
use crate::error::Error;
use crate::stack::Stack;

/// The most remarks of a reading that are logged; the rest is counted.
const MOST_LOGGED: usize = 50;

/// The most files that are named in one line.
const MOST_NAMED: usize = 20;

/// What loading needs.
#[derive(Clone)]
pub(crate) struct Loading {
    pub(crate) engine: Arc<Engine<Stack>>,
    pub(crate) status: Arc<Status>,
    pub(crate) clock: Clock,
    /// Tiers whose tenants' counters live apart.
    pub(crate) tiers: Vec<Tier>,
    /// Attributes that the settings name.
    pub(crate) attributes: Vec<String>,
}

impl Loading {
    fn context(&self) -> Context {
        Context { now: Some((self.clock)()), attributes: self.attributes.clone() }
    }
}

/// Reads rules and puts them in force.
pub(crate) struct Loader {
    path: Option<PathBuf>,
    texts: Texts,
    /// What is set over the texts.
    switches: Switches,
    version: u64,
    seen: Option<Fingerprint>,
    to: Loading,
}

impl Loader {
    /// Loads the rules for the first time: all of them must be good.
    pub(crate) fn start(path: Option<PathBuf>, to: Loading) -> Result<Self, Error> {
        let (texts, switches) = (Texts::new(), Switches::default());
        let mut loader = Self { path, texts, switches, version: 0, seen: None, to };
        let Some(path) = loader.path.clone() else {
            loader.install(Snapshot::default());
            loader.note("start", Outcome::Installed, None, Some(Vec::new()));
            return Ok(loader);
        };
        let unreadable = |source| Error::RulesUnreadable { path: path.clone(), source };
        // Taken before: what changes while it is read is read again.
        loader.seen = Some(files::fingerprint(&path).map_err(unreadable)?);
        let reading = files::read(&path).map_err(unreadable)?;
        let reloaded = reconcile(&loader.to.context(), &loader.texts, &reading);
        if !reloaded.outcome.is_success() {
            return Err(Error::BadRules { rendered: render(&reading) });
        }
        loader.apply("start", reloaded);
        if loader.version == 0 {
            loader.install(Snapshot::default());
        }
        Ok(loader)
    }

    /// The files as they were at the start.
    pub(crate) fn seen(&self) -> Option<Fingerprint> {
        self.seen.clone()
    }

    /// Where the rules come from.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Puts in force what a reading gives; what came of it.
    pub(crate) fn reload(&mut self, why: &'static str, reading: Result<Reading, Unread>) -> Outcome {
        let context = self.to.context();
        match reading {
            // A file that breaks the compiler must not end the reading of all that come after it.
            Ok(reading) => {
                match catch_unwind(AssertUnwindSafe(|| reconcile(&context, &self.texts, &reading))) {
                    Ok(reloaded) => self.apply(why, reloaded),
                    Err(_) => self.broken(why, "compiling"),
                }
            }
            Err(Unread::Broke) => self.broken(why, "reading"),
            Err(Unread::Failed(error)) => {
                tracing::error!(why, %error, "rules unreadable");
                self.note(why, Outcome::Failed, Some(format!("the rules cannot be read: {error}")), None);
                Outcome::Failed
            }
        }
    }

    fn broken(&mut self, why: &'static str, doing: &'static str) -> Outcome {
        tracing::error!(why, doing, "the rules broke Tidegate; those in force stay");
        let error = format!("{doing} the rules broke, which is a fault of Tidegate; the rules in force stay");
        self.note(why, Outcome::Failed, Some(error), None);
        Outcome::Failed
    }

    fn apply(&mut self, why: &'static str, reloaded: Reloaded) -> Outcome {
        let Reloaded { outcome, snapshot, texts, files } = reloaded;
        let had_rules = self.to.engine.snapshot().rules() > 0;
        let gone = gone(&self.texts, &texts);
        self.texts = texts;
        if let Some(snapshot) = snapshot {
            self.install(snapshot);
        }
        log(&files);
        self.tell_idle_switches();
        let (files_count, version) = (files.len(), self.version);
        let rules = self.to.engine.snapshot().rules();
        let outcome_word = outcome.word();
        if rules == 0 && had_rules {
            tracing::warn!(why, gone, "no rules are left: everything passes");
        } else if gone.is_some() {
            tracing::warn!(why, gone, "rule files are gone, and their rules with them");
        }
        if outcome.is_success() {
            tracing::info!(why, outcome = outcome_word, version, files = files_count, rules, "rules");
        } else {
            tracing::error!(why, outcome = outcome_word, version, files = files_count, rules, "rules");
        }
        let error = first_error(&files);
        self.note(why, outcome, error, Some(files));
        outcome
    }

    fn install(&mut self, mut snapshot: Snapshot) {
        self.version += 1;
        if !self.switches.is_empty() {
            snapshot.switch(&self.switches);
        }
        for tier in snapshot.set_apart(&self.to.tiers) {
            let Tier { domain, attribute, value } = tier;
            tracing::warn!(
                domain,
                attribute,
                value,
                "a tier has servers of its own, but its domain has no tenants"
            );
        }
        self.to.engine.install(snapshot.with_version(self.version));
        self.to.status.installed(self.version, content_hash(&self.texts), (self.to.clock)());
    }

    fn note(
        &self,
        why: &'static str,
        outcome: Outcome,
        error: Option<String>,
        files: Option<Vec<FileReport>>,
    ) {
        self.to.status.attempted(Attempt { at: (self.to.clock)(), why, outcome, error }, files);
    }
}

/// Everything that is wrong, as a compiler prints it.
fn render(reading: &Reading) -> String {
    let readable = reading.iter().filter_map(|(name, text)| Some(Source::new(name, text.as_ref().ok()?)));
    let unreadable = reading.iter().filter_map(|(name, text)| {
        let error = text.as_ref().err()?;
        Some(format!("error[unreadable]: {name} cannot be read: {error}\n"))
    });
    compile(readable.collect()).render() + &unreadable.collect::<String>()
}

/// The names of files that were in force and are no more.
fn gone(before: &Texts, after: &Texts) -> Option<String> {
    let names: Vec<&str> =
        before.keys().filter(|name| !after.contains_key(*name)).map(String::as_str).collect();
    let more = names.len().saturating_sub(MOST_NAMED);
    let mut text = names.iter().take(MOST_NAMED).copied().collect::<Vec<_>>().join(", ");
    if more > 0 {
        text = format!("{text} and {more} more");
    }
    (!names.is_empty()).then_some(text)
}

fn first_error(files: &[FileReport]) -> Option<String> {
    files.iter().find_map(|file| {
        let remark = file.remarks.iter().find(|remark| remark.is_error())?;
        Some(format!("{}: {}", place(file, remark), remark.message))
    })
}

fn place(file: &FileReport, remark: &Remark) -> String {
    match remark.place {
        Some((line, column)) => format!("{}:{line}:{column}", file.name),
        None => file.name.clone(),
    }
}

/// Errors, then warnings.
fn log(files: &[FileReport]) {
    let all = || files.iter().flat_map(|file| file.remarks.iter().map(move |remark| (file, remark)));
    let errors = all().filter(|(_, remark)| remark.is_error());
    let warnings = all().filter(|(_, remark)| !remark.is_error());
    for (file, remark) in errors.chain(warnings).take(MOST_LOGGED) {
        let (at, code, found) = (place(file, remark), remark.code, &remark.message);
        let help = remark.help.as_deref();
        match remark.severity {
            Severity::Error => tracing::error!(at, code, found, help, "rule file"),
            Severity::Warning => tracing::warn!(at, code, found, help, "rule file"),
        }
    }
    let left_out = all().count().saturating_sub(MOST_LOGGED);
    if left_out > 0 {
        tracing::warn!(left_out, "rule file");
    }
}

#[cfg(test)]
mod tests;

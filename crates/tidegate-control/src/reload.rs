//! Which texts are in force after a read: a pure function of the texts in force and the files read.
//!
//! If all files compile together, they are in force as written. Otherwise each bad file keeps its
//! last good version (a new one is left out), and that mixture is in force if it compiles. If it
//! does not, everything stays as it was.

mod findings;

use std::collections::BTreeMap;

use tidegate_rules::{Compiled, Context, Severity, Snapshot, Source, compile_in};

use crate::source::RuleFiles;
use findings::Findings;

pub use findings::RuleFinding;

/// The texts in force by the names of their files.
pub(crate) type RuleTexts = BTreeMap<String, String>;

/// How a reload ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReloadOutcome {
    /// All files are in force as written.
    Installed,
    /// All files were in force as written before.
    Unchanged,
    /// Bad files keep their last good version; all others are in force as written.
    Partial,
    /// Everything stays as it was.
    Failed,
}

/// A rule file, what is in force of it and what was found in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileReport {
    /// Its name.
    pub name: String,
    /// The version of the file in force.
    pub state: FileState,
    /// Errors and warnings.
    pub findings: Vec<RuleFinding>,
}

/// The version of a file in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileState {
    /// The text that was read.
    AsWritten,
    /// An earlier text.
    LastGood,
    /// Nothing.
    LeftOut,
}

/// The decision about one read.
#[derive(Debug)]
pub(crate) struct Reconciled {
    pub(crate) outcome: ReloadOutcome,
    /// The rules to install; `None` if those in force stay.
    pub(crate) snapshot: Option<Snapshot>,
    /// The texts in force from now on.
    pub(crate) texts: RuleTexts,
    /// Every file that was read or is in force.
    pub(crate) files: Vec<FileReport>,
}

impl ReloadOutcome {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Installed, Self::Unchanged, Self::Partial, Self::Failed];

    /// Its name in metrics, logs and answers.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Installed => "installed",
            Self::Unchanged => "unchanged",
            Self::Partial => "partial",
            Self::Failed => "failed",
        }
    }

    /// Whether all files are in force as written.
    pub const fn is_success(self) -> bool {
        matches!(self, Self::Installed | Self::Unchanged)
    }
}

impl FileState {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::AsWritten, Self::LastGood, Self::LeftOut];

    /// Its name in metrics and answers.
    pub const fn word(self) -> &'static str {
        match self {
            Self::AsWritten => "as_written",
            Self::LastGood => "last_good",
            Self::LeftOut => "left_out",
        }
    }
}

impl FileReport {
    /// How many findings have this severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }
}

/// Decides which texts are in force after a read.
pub(crate) fn reconcile(context: &Context, in_force: &RuleTexts, read: &RuleFiles) -> Reconciled {
    let readable = read.iter().filter_map(|(name, text)| Some((name.clone(), text.clone().ok()?)));
    let written: RuleTexts = readable.collect();
    let compiled = compile_texts(context, &written);
    let mut findings = Findings::of(&compiled);
    findings.add_unreadable(read);
    let (outcome, snapshot, texts) = match compiled.snapshot {
        Some(snapshot) if !read.keys().any(|name| findings.has_error(name)) => {
            if written == *in_force {
                (ReloadOutcome::Unchanged, None, written)
            } else {
                (ReloadOutcome::Installed, Some(snapshot), written)
            }
        }
        _ => {
            let last_good = with_last_good(in_force, read, &findings);
            reconcile_partly(context, in_force, last_good, &mut findings)
        }
    };
    let files = reports(read, &texts, findings);
    Reconciled { outcome, snapshot, texts, files }
}

/// The rules of texts that compiled before; `None` if they do not compile now.
pub(crate) fn recompile(texts: &RuleTexts) -> Option<Snapshot> {
    compile_texts(&Context::default(), texts).snapshot
}

/// The texts that were read, with the texts in force in place of bad ones.
fn with_last_good(in_force: &RuleTexts, read: &RuleFiles, findings: &Findings) -> RuleTexts {
    let text = |name: &String| {
        if findings.has_error(name) { in_force.get(name) } else { read.get(name)?.as_ref().ok() }
    };
    read.keys().filter_map(|name| Some((name.clone(), text(name)?.clone()))).collect()
}

/// Compiles good files together with the last good versions of bad ones.
fn reconcile_partly(
    context: &Context,
    in_force: &RuleTexts,
    last_good: RuleTexts,
    findings: &mut Findings,
) -> (ReloadOutcome, Option<Snapshot>, RuleTexts) {
    if last_good == *in_force {
        return (ReloadOutcome::Partial, None, last_good);
    }
    let compiled = compile_texts(context, &last_good);
    findings.merge(Findings::of(&compiled));
    match compiled.snapshot {
        Some(snapshot) => (ReloadOutcome::Partial, Some(snapshot), last_good),
        None => (ReloadOutcome::Failed, None, in_force.clone()),
    }
}

fn compile_texts(context: &Context, texts: &RuleTexts) -> Compiled {
    compile_in(context, texts.iter().map(|(name, text)| Source::new(name, text)).collect())
}

/// Every file that was read, and every one that is gone and still in force.
fn reports(read: &RuleFiles, texts: &RuleTexts, mut findings: Findings) -> Vec<FileReport> {
    let gone = texts.keys().filter(|name| !read.contains_key(*name));
    let report = |name: &String| {
        let written = read.get(name).and_then(|text| text.as_ref().ok());
        let state = match texts.get(name) {
            None => FileState::LeftOut,
            Some(text) if Some(text) == written => FileState::AsWritten,
            Some(_) => FileState::LastGood,
        };
        FileReport { name: name.clone(), state, findings: findings.take(name) }
    };
    read.keys().chain(gone).map(report).collect()
}

#[cfg(test)]
mod tests;

//! Which texts are in force after files were read: a pure function of those in force before and those read.
//!
//! If all files compile together, they are in force as they are written. Otherwise each bad file keeps its last good version
//! (none, if it is new), and if that mixture compiles it is in force. Otherwise everything stays as it was.

use std::collections::BTreeMap;

use tidegate_rules::{Compiled, Context, Severity, Snapshot, Source, compile_in};

use super::files::Reading;

/// Texts by the names of their files.
pub(crate) type Texts = BTreeMap<String, String>;

/// What came of a reading.
#[derive(Debug)]
pub(crate) struct Reloaded {
    /// In a word.
    pub outcome: Outcome,
    /// The rules to put in force; `None` if those in force stay.
    pub snapshot: Option<Snapshot>,
    /// The texts in force from now on.
    pub texts: Texts,
    /// Every file, with what is in force of it and what was found in it.
    pub files: Vec<FileReport>,
}

/// What came of a reading, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All files are in force as they are written.
    Installed,
    /// They were before.
    Unchanged,
    /// Bad files keep their last good version; all others are in force as they are written.
    Partial,
    /// Everything stays as it was.
    Failed,
}

/// A file, what is in force of it and what was found in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileReport {
    /// Its name.
    pub name: String,
    /// What is in force of it.
    pub state: FileState,
    /// What was found in it.
    pub remarks: Vec<Remark>,
}

/// What is in force of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FileState {
    /// What is written in it.
    AsWritten,
    /// What was written in it before.
    LastGood,
    /// Nothing.
    LeftOut,
}

/// One thing that was found in a file. It carries no line of the file: those may hold secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Remark {
    /// How bad it is.
    pub severity: Severity,
    /// Its code.
    pub code: &'static str,
    /// What it is.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// The line and the column, from 1.
    pub place: Option<(usize, usize)>,
}

impl Outcome {
    /// The word for it in metrics, logs and answers.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Installed => "installed",
            Self::Unchanged => "unchanged",
            Self::Partial => "partial",
            Self::Failed => "failed",
        }
    }

    /// Whether all files are in force as they are written.
    pub(crate) const fn is_success(self) -> bool {
        matches!(self, Self::Installed | Self::Unchanged)
    }
}

impl FileState {
    /// All of them.
    pub(crate) const ALL: [Self; 3] = [Self::AsWritten, Self::LastGood, Self::LeftOut];

    /// The word for it in metrics and answers.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::AsWritten => "as_written",
            Self::LastGood => "last_good",
            Self::LeftOut => "left_out",
        }
    }
}

/// Works out what is in force.
pub(crate) fn reconcile(context: &Context, in_force: &Texts, reading: &Reading) -> Reloaded {
    let readable = reading.iter().filter_map(|(name, text)| Some((name.clone(), text.clone().ok()?)));
    let written: Texts = readable.collect();
    let compiled = compiled(context, &written);
    let mut remarks = remarks(&compiled);
    let unreadable = reading.iter().filter_map(|(name, text)| Some((name, text.as_ref().err()?)));
    for (name, error) in unreadable {
        remarks.entry(name.clone()).or_default().push(Remark::unreadable(error));
    }
    let bad = |name: &String| remarks.get(name).is_some_and(|found| found.iter().any(Remark::is_error));
    let (outcome, snapshot, texts) = match compiled.snapshot {
        Some(_) if !reading.keys().any(bad) && written == *in_force => (Outcome::Unchanged, None, written),
        Some(snapshot) if !reading.keys().any(bad) => (Outcome::Installed, Some(snapshot), written),
        _ => {
            let mixture: Texts = reading
                .keys()
                .filter_map(|name| {
                    let text = if bad(name) { in_force.get(name) } else { written.get(name) };
                    Some((name.clone(), text?.clone()))
                })
                .collect();
            mixed(context, (in_force, mixture), &mut remarks)
        }
    };
    let files = reports(reading, &texts, remarks);
    Reloaded { outcome, snapshot, texts, files }
}

/// Tries the files as they are written with the last good versions of the bad ones.
fn mixed(
    context: &Context,
    (in_force, mixture): (&Texts, Texts),
    found: &mut Remarks,
) -> (Outcome, Option<Snapshot>, Texts) {
    if mixture == *in_force {
        return (Outcome::Partial, None, mixture);
    }
    let compiled = compiled(context, &mixture);
    for (name, remarks) in remarks(&compiled) {
        let known = found.entry(name).or_default();
        let new: Vec<_> = remarks.into_iter().filter(|remark| !known.contains(remark)).collect();
        known.extend(new);
    }
    match compiled.snapshot {
        Some(snapshot) => (Outcome::Partial, Some(snapshot), mixture),
        None => (Outcome::Failed, None, in_force.clone()),
    }
}

/// The rules of texts that are in force, once more; `None` if they are not good.
pub(crate) fn once_more(texts: &Texts) -> Option<Snapshot> {
    compiled(&Context::default(), texts).snapshot
}

type Remarks = BTreeMap<String, Vec<Remark>>;

fn compiled(context: &Context, texts: &Texts) -> Compiled {
    compile_in(context, texts.iter().map(|(name, text)| Source::new(name, text)).collect())
}

fn remarks(compiled: &Compiled) -> Remarks {
    let of = |file: &tidegate_rules::File| {
        let remark = |found: &tidegate_rules::Diagnostic| {
            let place = file.source.place(found.span.start);
            let label = found.label.as_ref().map(|label| format!(": {label}")).unwrap_or_default();
            Remark {
                severity: found.severity,
                code: found.code,
                message: found.message.clone() + &label,
                help: found.help.clone(),
                place: Some((place.line, place.column)),
            }
        };
        (file.source.name().to_owned(), file.diagnostics.iter().map(remark).collect())
    };
    compiled.files.iter().map(of).collect()
}

/// Every file that was read, and every one that is gone and still in force.
fn reports(reading: &Reading, texts: &Texts, mut remarks: Remarks) -> Vec<FileReport> {
    let gone = texts.keys().filter(|name| !reading.contains_key(*name));
    let report = |name: &String| {
        let written = reading.get(name).and_then(|text| text.as_ref().ok());
        let state = match texts.get(name) {
            None => FileState::LeftOut,
            Some(text) if Some(text) == written => FileState::AsWritten,
            Some(_) => FileState::LastGood,
        };
        FileReport { name: name.clone(), state, remarks: remarks.remove(name).unwrap_or_default() }
    };
    reading.keys().chain(gone).map(report).collect()
}

impl Remark {
    fn unreadable(error: &str) -> Self {
        let message = format!("the file cannot be read: {error}");
        Self { severity: Severity::Error, code: "unreadable", message, help: None, place: None }
    }

    /// Whether it makes the file unusable.
    pub(crate) fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl FileReport {
    /// How many remarks of a kind there are.
    pub(crate) fn count(&self, severity: Severity) -> usize {
        self.remarks.iter().filter(|remark| remark.severity == severity).count()
    }
}

#[cfg(test)]
mod tests;

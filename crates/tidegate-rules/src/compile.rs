//! From files to a snapshot: all of them in one go, and everything that is wrong with any of them.

mod attributes;
mod domain;
mod identities;
mod rules;
mod by;
mod rule_limits;
mod rule_terms;
mod tree_names;
mod tree;

use std::collections::BTreeMap;

use tidegate_core::Timestamp;

use crate::diagnostic::{Diagnostic, Diagnostics, Severity};
use crate::reference::FILE;
use crate::secrets;
use crate::shape::{self, Shape, head};
use crate::snapshot::Snapshot;
use crate::source::Source;
use crate::tree_yaml;
use crate::yaml::{self, Node, Value};

/// Facts that lints need and rule files do not have.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// The time, for warnings about rules that have expired; without it there are none.
    pub now: Option<Timestamp>,
    /// Attributes that the settings of listeners fill, beside the usual ones.
    pub attributes: Vec<String>,
}

/// What came of compiling some files.
#[derive(Debug)]
pub struct Compiled {
    /// The rules, if they can be used.
    pub snapshot: Option<Snapshot>,
    /// The files, in order, with what was found in each.
    pub files: Vec<File>,
}

/// A file and what was found in it.
#[derive(Debug)]
pub struct File {
    /// The text, with stars in place of secrets: its excerpts are shown and logged.
    pub source: Source,
    /// What was found.
    pub diagnostics: Diagnostics,
}

impl Compiled {
    /// How many errors and warnings there are.
    pub fn count(&self, severity: Severity) -> usize {
        self.files.iter().map(|file| file.diagnostics.count(severity)).sum()
    }

    /// Everything that was found, as a compiler prints it.
    pub fn render(&self) -> String {
        self.files.iter().map(|file| file.diagnostics.render(&file.source)).collect()
    }
}

/// Compiles files. The order of their names is the order of their rules.
pub fn compile(sources: Vec<Source>) -> Compiled {
    compile_in(&Context::default(), sources)
}

/// Compiles files, with warnings about what does not fit the context.
pub fn compile_in(context: &Context, mut sources: Vec<Source>) -> Compiled {
    sources.sort_by(|a, b| a.name().cmp(b.name()));
    let mut files: Vec<File> =
        sources.into_iter().map(|source| File { source, diagnostics: Diagnostics::default() }).collect();
    let trees: Vec<Option<Node>> = files.iter_mut().map(read).collect();
    let domains = by_domain(&mut files, &trees);
    let built: Vec<_> = domains
        .into_iter()
        .map(|(name, parts)| domain::build(&name, &parts, (context, &mut files)))
        .collect();
    let snapshot = Snapshot::new(built);
    crate::lint::warn(&snapshot, context, &mut files);
    for (file, tree) in files.iter_mut().zip(&trees) {
        if let Some(tree) = tree {
            crate::allow::apply(tree, &mut file.diagnostics);
        }
    }
    let broken = files.iter().any(|file| file.diagnostics.has_errors());
    let snapshot = Some(snapshot).filter(|_| !broken);
    let files = files.into_iter().zip(&trees).map(|(file, tree)| hide_secrets(file, tree.as_ref())).collect();
    Compiled { snapshot, files }
}

/// A file's part of a domain: its place among the files, and its tree.
type Part<'n> = (usize, &'n Node);

/// Reads a file and holds it against the table of keys.
fn read(file: &mut File) -> Option<Node> {
    let mut node = yaml::parse_rules(&file.source, &mut file.diagnostics)?;
    if node.value == Value::Null {
        let empty = Diagnostic::error("empty-file", node.span.part(0..0), "the file is empty");
        file.diagnostics.push(empty.help("remove it, or start from what `tidegate init` writes"));
        return None;
    }
    tree_yaml::settle(&mut node, &file.source, &mut file.diagnostics);
    shape::check(&node, &Shape::Object(&FILE), "file", &mut file.diagnostics);
    Some(node)
}

fn hide_secrets(file: File, tree: Option<&Node>) -> File {
    let spans = tree.map(secrets::spans).unwrap_or_default();
    File { source: file.source.hiding(&spans), ..file }
}

fn by_domain<'n>(files: &mut [File], trees: &'n [Option<Node>]) -> BTreeMap<String, Vec<Part<'n>>> {
    let mut domains: BTreeMap<String, Vec<Part<'n>>> = BTreeMap::new();
    for (place, node) in trees.iter().enumerate().filter_map(|(place, node)| Some((place, node.as_ref()?))) {
        if !matches!(node.value, Value::Map(_)) {
            continue;
        }
        match node.text_at("domain").filter(|(name, _)| !name.is_empty() && name.len() <= 256) {
            Some((name, _)) => domains.entry(name).or_default().push((place, node)),
            None => files[place].diagnostics.push(
                Diagnostic::error("no-domain", head(node), "the file has no `domain`")
                    .help("write `domain: api` at the top: checks name the domain they belong to"),
            ),
        }
    }
    domains
}

#[cfg(test)]
mod tests;

//! One domain from all files that name it.

use tidegate_core::network::Prefixes;

use crate::conditions::Conditions;
use crate::descriptors::Tree;
use crate::diagnostic::Diagnostic;
use crate::identity::Identity;
use crate::matcher::Matcher;
use crate::name::{AttributeId, Names};
use crate::rule::{Class, Mode, Rank, Rule};
use crate::snapshot::Domain;
use crate::source::Span;

use super::attributes::Asked;
use super::rules::{self, Draft};
use super::tree_names::TreeNames;
use super::{Context, File, Part, attributes, identities, tree};

/// What is known of a domain while it is built.
pub(super) struct Builder<'f> {
    pub(super) files: &'f mut [File],
    pub(super) names: Names,
    pub(super) tenant: Option<AttributeId>,
    pub(super) atomic: bool,
    pub(super) prefixes: Prefixes,
    pub(super) identities: Vec<Identity>,
    pub(super) drafts: Vec<Draft>,
    pub(super) tree: Tree,
    pub(super) tree_names: TreeNames,
    /// Every place that asks about an attribute.
    pub(super) asked: Vec<Asked>,
}

impl Builder<'_> {
    /// The number of an attribute's name; what is no name is told.
    pub(super) fn attribute(&mut self, file: usize, name: &str, at: Span) -> Option<AttributeId> {
        let diagnostics = &mut self.files[file].diagnostics;
        let mut reader = Conditions::new(&mut self.names, diagnostics);
        let attribute = reader.attribute(name, at)?;
        self.asked.push(Asked { attribute, file, at });
        Some(attribute)
    }

    pub(super) fn say(&mut self, file: usize, diagnostic: Diagnostic) {
        self.files[file].diagnostics.push(diagnostic);
    }
}

/// Builds a domain. What is wrong is in the files' diagnostics; the domain is only used if nothing is.
pub(super) fn build(name: &str, parts: &[Part<'_>], (context, files): (&Context, &mut [File])) -> Domain {
    let mut builder = Builder {
        files,
        names: Names::default(),
        tenant: None,
        atomic: parts.iter().any(|(_, node)| node.text_at("atomic").is_some()),
        prefixes: Prefixes::default(),
        identities: Vec::new(),
        drafts: Vec::new(),
        tree: Tree::new(),
        tree_names: TreeNames::default(),
        asked: Vec::new(),
    };
    settings(&mut builder, parts);
    for (file, node) in parts {
        identities::read(&mut builder, *file, node);
    }
    for (file, node) in parts {
        rules::read(&mut builder, *file, node);
    }
    rules::check_names(&mut builder);
    let own = builder.drafts.len();
    builder.tree_names = TreeNames::beside(&builder.drafts);
    for (file, node) in parts {
        tree::read(&mut builder, *file, node);
    }
    attributes::check(&mut builder, parts, context);
    finish(name, builder, own)
}

/// What a domain has once; files that say it twice must agree.
fn settings(builder: &mut Builder<'_>, parts: &[Part<'_>]) {
    tenant(builder, parts);
    builder.prefixes.v4 = prefix(builder, parts, "v4_prefix").unwrap_or(builder.prefixes.v4);
    builder.prefixes.v6 = prefix(builder, parts, "v6_prefix").unwrap_or(builder.prefixes.v6);
}

fn tenant(builder: &mut Builder<'_>, parts: &[Part<'_>]) {
    for (file, node) in parts {
        let Some((name, at)) = node.text_at("tenant") else { continue };
        let Some(attribute) = builder.attribute(*file, &name, at.span) else { continue };
        if let Some(other) = builder.tenant.filter(|other| *other != attribute) {
            let message = format!("another file of this domain has `tenant: {}`", builder.names.name(other));
            let said = Diagnostic::error("tenant", at.span, message);
            return builder.say(*file, said.help("a domain has one tenant"));
        }
        builder.tenant = Some(attribute);
    }
}

/// How many bits of an address count, if a file says so.
fn prefix(builder: &mut Builder<'_>, parts: &[Part<'_>], name: &str) -> Option<u8> {
    let mut found = None;
    for (file, node) in parts {
        let Some(at) = node.get("ip").and_then(|ip| ip.get(name)) else { continue };
        let Some(bits) = at.count().and_then(|bits| u8::try_from(bits).ok()) else { continue };
        if let Some(other) = found.filter(|other| *other != bits) {
            let message = format!("another file of this domain has `{name}: {other}`");
            let said = Diagnostic::error("ip", at.span, message);
            builder.say(*file, said.help("addresses of a domain are counted in one way"));
        }
        found = Some(bits);
    }
    found
}

fn finish(name: &str, builder: Builder<'_>, own: usize) -> Domain {
    let Builder { mut names, tenant, atomic, prefixes, identities, drafts, tree, .. } = builder;
    let (mut rules, groups) = ranked(drafts);
    for rule in &mut rules {
        rule.settle_in(name, &names, tenant);
    }
    let matcher = Matcher::new(rules[..own].iter().map(rules::found_by).collect());
    let query = query(&names);
    // Queries are read from paths, whether or not a rule asks about these themselves.
    let path = if query.is_empty() { names.get("path") } else { names.intern("path") };
    let mut domain = Domain {
        name: name.into(),
        tenant,
        names,
        path: path.into(),
        query,
        identities,
        prefixes,
        rules,
        is_plain: false,
        matcher,
        tree,
        groups,
        atomic,
        brought: Mode::default(),
        class: Class::default(),
        tiers_apart: Vec::new(),
    };
    domain.settle_modes();
    domain
}

/// Gives each rule of a group its rank: by priority, then by how specific it is, then in order.
fn ranked(drafts: Vec<Draft>) -> (Vec<Rule>, usize) {
    let mut names: Vec<String> = drafts.iter().filter_map(|draft| draft.group.clone()).collect();
    names.sort();
    names.dedup();
    let mut order: Vec<usize> = (0..drafts.len()).collect();
    let key = |place: &usize| {
        let rule = &drafts[*place].rule;
        (std::cmp::Reverse(rule.priority), std::cmp::Reverse(rule.applies.specificity()), *place)
    };
    order.sort_by_key(key);
    let mut ranks = vec![0_u32; drafts.len()];
    for (rank, place) in (0_u32..).zip(&order) {
        ranks[*place] = rank;
    }
    let rules = drafts.into_iter().zip(ranks).map(|(mut draft, rank)| {
        let group = draft.group.and_then(|group| names.binary_search(&group).ok());
        draft.rule.rank = rank;
        draft.rule.group =
            group.and_then(|group| u16::try_from(group).ok()).map(|group| Rank { group, rank });
        draft.rule
    });
    (rules.collect(), names.len())
}

/// The attributes `query.X`, each as X.
fn query(names: &Names) -> Vec<(Box<str>, AttributeId)> {
    let all = names.iter().filter_map(|(name, id)| Some((name.strip_prefix("query.")?.into(), id)));
    all.collect()
}

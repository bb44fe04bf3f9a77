//! One domain from all files that name it.

use std::sync::Arc;

use crate::address::Prefixes;
use crate::conditions::Conditions;
use crate::descriptors::Tree;
use crate::diagnostic::Diagnostic;
use crate::identity::Identity;
use crate::matcher::Matcher;
use crate::name::{AttributeId, Names};
use crate::rule::{Action, Mode, Rank, Rule};
use crate::shape::head;
use crate::snapshot::Domain;
use crate::source::Span;
use crate::yaml::Node;

use super::rules::{self, Draft};
use super::{File, Part, identities, tree};

/// What is known of a domain while it is built.
pub(super) struct Builder<'f> {
    pub(super) files: &'f mut [File],
    pub(super) names: Names,
    pub(super) tenant: Option<AttributeId>,
    pub(super) prefixes: Prefixes,
    pub(super) identities: Vec<Identity>,
    pub(super) drafts: Vec<Draft>,
    pub(super) tree: Tree,
}

impl Builder<'_> {
    /// The number of an attribute's name; what is no name is told.
    pub(super) fn attribute(&mut self, file: usize, name: &str, at: Span) -> Option<AttributeId> {
        let diagnostics = &mut self.files[file].diagnostics;
        Conditions { names: &mut self.names, diagnostics, captures: Vec::new() }.attribute(name, at)
    }

    pub(super) fn say(&mut self, file: usize, diagnostic: Diagnostic) {
        self.files[file].diagnostics.push(diagnostic);
    }
}

/// Builds a domain. What is wrong is in the files' diagnostics; the domain is only used if nothing is.
pub(super) fn build(name: &str, parts: &[Part<'_>], files: &mut [File]) -> Domain {
    let mut builder = Builder {
        files,
        names: Names::default(),
        tenant: None,
        prefixes: Prefixes::default(),
        identities: Vec::new(),
        drafts: Vec::new(),
        tree: Tree::new(),
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
    for (file, node) in parts {
        tree::read(&mut builder, *file, node);
    }
    finish(name, builder, own)
}

/// What a domain has once; files that say it twice must agree.
fn settings(builder: &mut Builder<'_>, parts: &[Part<'_>]) {
    let mut tenant: Option<String> = None;
    for (place, (file, node)) in parts.iter().enumerate() {
        if let Some((name, at)) = node.text_at("tenant") {
            if tenant.as_ref().is_some_and(|tenant| *tenant != name) {
                let message =
                    format!("another file of this domain has `tenant: {}`", tenant.unwrap_or_default());
                builder.say(
                    *file,
                    Diagnostic::error("tenant", at.span, message).help("a domain has one tenant"),
                );
                return;
            }
            builder.tenant = builder.attribute(*file, &name, at.span);
            tenant = Some(name);
        }
        if let Some(ip) = node.get("ip") {
            if parts[..place]
                .iter()
                .any(|(_, other)| other.get("ip").is_some_and(|other| other.value != ip.value))
            {
                let said =
                    Diagnostic::error("ip", head(ip), "another file of this domain has other prefixes");
                builder.say(*file, said.help("write `ip` in one of them"));
            }
            let bits =
                |name: &str| ip.get(name).and_then(Node::count).and_then(|bits| u8::try_from(bits).ok());
            builder.prefixes.v4 = bits("v4_prefix").unwrap_or(builder.prefixes.v4);
            builder.prefixes.v6 = bits("v6_prefix").unwrap_or(builder.prefixes.v6);
        }
    }
}

fn finish(name: &str, builder: Builder<'_>, own: usize) -> Domain {
    let Builder { names, tenant, prefixes, identities, drafts, tree, .. } = builder;
    let (rules, groups) = ranked(drafts);
    let matcher = Matcher::new(rules[..own].iter().map(rules::found_by).map(Arc::new).collect());
    let counts = |rule: &&Rule| {
        rule.mode == Mode::Enforce && !matches!(rule.action, Action::Bypass | Action::Unlimited)
    };
    let class = rules.iter().filter(counts).map(|rule| rule.class).max().unwrap_or_default();
    let query = query(&names);
    Domain {
        name: name.into(),
        tenant,
        names,
        query,
        identities,
        prefixes,
        rules,
        matcher,
        tree,
        groups,
        class,
    }
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

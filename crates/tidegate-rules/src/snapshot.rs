//! The whole of the rules that a check sees from start to end.

use std::collections::BTreeMap;
use std::sync::Arc;

use tidegate_core::network::Prefixes;

use crate::apart::Apart;
use crate::descriptors::Tree;
use crate::identity::Identity;
use crate::matcher::Matcher;
use crate::name::{AttributeId, MaybeAttribute, Names};
use crate::rule::{Class, Mode, Rule};

/// All domains, immutable, under a version.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    version: u64,
    domains: BTreeMap<Box<str>, Arc<Domain>>,
}

/// The rules of one domain.
#[derive(Debug)]
pub struct Domain {
    /// Its name.
    pub name: Box<str>,
    /// The attribute whose value owns its counters.
    pub tenant: Option<AttributeId>,
    /// The attributes that its rules know.
    pub names: Names,
    /// The one that is a path, if they know it.
    pub path: MaybeAttribute,
    /// Those that are about the query, by the names that they have there.
    pub query: Vec<(Box<str>, AttributeId)>,
    /// What follows from what.
    pub identities: Vec<Identity>,
    /// How addresses are counted.
    pub prefixes: Prefixes,
    /// Our own rules in the order in which they were written, then those of the tree.
    pub rules: Vec<Rule>,
    /// Whether all that are ours are [plain](crate::rule::Plain).
    pub is_plain: bool,
    /// Finds our own.
    pub matcher: Matcher,
    /// Finds those of the tree.
    pub tree: Tree,
    /// How many groups there are of which only one rule applies.
    pub groups: usize,
    /// Whether all rules that can match one request must have one home.
    pub atomic: bool,
    /// The mode of limits that come with descriptors.
    pub brought: Mode,
    /// The strictest class of its rules, for a check of which nothing else is known.
    pub class: Class,
    /// Tiers whose tenants' counters live apart.
    pub tiers_apart: Vec<Apart>,
}

impl Snapshot {
    pub(crate) fn new(domains: impl IntoIterator<Item = Domain>) -> Self {
        let domains = domains.into_iter().map(|domain| (domain.name.clone(), Arc::new(domain))).collect();
        Self { version: 0, domains }
    }

    /// The same under a version.
    #[must_use]
    pub fn with_version(mut self, version: u64) -> Self {
        self.version = version;
        self
    }

    /// Its version.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The domain of that name.
    pub fn domain(&self, name: &str) -> Option<&Arc<Domain>> {
        self.domains.get(name)
    }

    /// All domains, by name.
    pub fn domains(&self) -> impl Iterator<Item = &Arc<Domain>> {
        self.domains.values()
    }

    /// The only domain, if there is just one.
    pub fn sole_domain(&self) -> Option<&Arc<Domain>> {
        let mut domains = self.domains();
        domains.next().filter(|_| domains.next().is_none())
    }

    /// All domains, to be changed.
    pub(crate) fn domains_mut(&mut self) -> impl Iterator<Item = &mut Arc<Domain>> {
        self.domains.values_mut()
    }

    /// How many rules there are.
    pub fn rules(&self) -> usize {
        self.domains().map(|domain| domain.rules.len()).sum()
    }
}

impl Domain {
    /// Whether all of its rules are of a tree of descriptors.
    pub fn is_tree_only(&self) -> bool {
        self.rules.first().is_some_and(|rule| rule.tree.is_some())
    }

    /// The rule of that name and its place.
    pub fn rule(&self, name: &str) -> Option<(usize, &Rule)> {
        self.rules.iter().enumerate().find(|(_, rule)| *rule.name == *name)
    }

    /// What a rule counts by, in words.
    pub fn by(&self, rule: &Rule) -> Vec<String> {
        use crate::rule::By;
        let name = |by: &By| match by {
            By::Attribute(attribute) | By::Address(attribute) => self.names.name(*attribute).to_owned(),
            By::Capture { name, .. } => format!("{{{name}}}"),
        };
        rule.by.iter().map(name).collect()
    }
}

//! envoyproxy/ratelimit's tree of descriptors: read into the same rules as our own, found by walking it.

use std::collections::HashMap;

use crate::name::{Keyed, keyed};

/// A tree over the entries of a descriptor. What a node carries is a rule of its domain, by its place.
#[derive(Default)]
pub struct Tree {
    nodes: Vec<Branch>,
    has_metadata: bool,
}

/// Something by a text.
type ByText<T> = HashMap<Box<str>, T, Keyed>;

/// Values may be secret: it shows how many nodes it has.
impl std::fmt::Debug for Tree {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tree({} nodes)", self.nodes.len())
    }
}

/// A node: what may follow, and the rule of descriptors that end here.
pub(crate) struct Branch {
    /// By key and exact value.
    exact: ByText<ByText<usize>>,
    /// By key and pattern, in the order in which they were written.
    wildcards: Vec<(Pattern, Pattern, usize)>,
    /// By key, whatever the value.
    any: ByText<usize>,
    rule: Option<u32>,
}

/// Text in which each `*` stands for any run of characters.
#[derive(PartialEq, Eq)]
pub(crate) struct Pattern(Box<str>);

impl Pattern {
    fn matches(&self, text: &str) -> bool {
        let mut parts = self.0.split('*');
        let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
        let Some(last) = self.0.rsplit_once('*').map(|(_, last)| last) else { return rest.is_empty() };
        let middle: Vec<&str> = parts.collect();
        for part in &middle[..middle.len() - 1] {
            match rest.find(part) {
                Some(at) => rest = &rest[at + part.len()..],
                None => return false,
            }
        }
        rest.ends_with(last)
    }
}

impl Tree {
    /// A tree with nothing but its root.
    pub(crate) fn new() -> Self {
        Self { nodes: vec![Branch::new(keyed())], has_metadata: false }
    }

    /// Adds what may follow a node; `None` if it is there already.
    pub(crate) fn add(&mut self, parent: usize, key: &str, value: &str) -> Option<usize> {
        let place = self.nodes.len();
        let branch = &mut self.nodes[parent];
        let hasher = branch.any.hasher().clone();
        let new = if value.contains('*') || key.contains('*') {
            let (key, value) =
                (Pattern(key.into()), Pattern(if value.is_empty() { "*" } else { value }.into()));
            let new = !branch.wildcards.iter().any(|(k, v, _)| *k == key && *v == value);
            if new {
                branch.wildcards.push((key, value, place));
            }
            new
        } else if value.is_empty() {
            branch.any.insert(key.into(), place).is_none()
        } else {
            let values = branch.exact.entry(key.into());
            let values = values.or_insert_with(|| HashMap::with_hasher(hasher.clone()));
            values.insert(value.into(), place).is_none()
        };
        new.then(|| self.nodes.push(Branch::new(hasher)))?;
        Some(place)
    }

    pub(crate) fn set_rule(&mut self, node: usize, rule: u32) {
        self.nodes[node].rule = Some(rule);
    }

    pub(crate) fn note_metadata(&mut self) {
        self.has_metadata = true;
    }

    /// Whether any of its rules has metadata to give back.
    pub const fn has_metadata(&self) -> bool {
        self.has_metadata
    }

    /// Whether it has anything but its root.
    pub fn is_empty(&self) -> bool {
        self.nodes.len() < 2
    }

    /// The rule of a descriptor of one entry, if no longer descriptor can lead through the same node.
    pub fn find_leaf(&self, key: &str, value: &str) -> Option<u32> {
        let node = &self.nodes[self.nodes.first()?.next(key, value)?];
        node.rule.filter(|_| node.is_leaf())
    }

    /// The rule of a descriptor: at each entry first what is written exactly, then wildcards in their order, then the
    /// key alone, and no way back. A rule is only found at the last entry.
    pub fn find<'e>(&self, entries: impl Iterator<Item = (&'e str, &'e str)>) -> Option<u32> {
        let mut node = self.nodes.first()?;
        for (key, value) in entries {
            node = &self.nodes[node.next(key, value)?];
        }
        node.rule
    }
}

impl Branch {
    fn is_leaf(&self) -> bool {
        self.exact.is_empty() && self.wildcards.is_empty() && self.any.is_empty()
    }

    fn new(hasher: Keyed) -> Self {
        Self {
            exact: HashMap::with_hasher(hasher.clone()),
            wildcards: Vec::new(),
            any: HashMap::with_hasher(hasher),
            rule: None,
        }
    }

    fn next(&self, key: &str, value: &str) -> Option<usize> {
        let exact = || self.exact.get(key).and_then(|values| values.get(value)).copied();
        let wild = || {
            let found = self.wildcards.iter().find(|(k, v, _)| k.matches(key) && v.matches(value));
            found.map(|(_, _, next)| *next)
        };
        exact().or_else(wild).or_else(|| self.any.get(key).copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(nodes: &[(&str, &str)]) -> Tree {
        let mut tree = Tree::new();
        for (rule, (key, value)) in nodes.iter().enumerate() {
            let node = tree.add(0, key, value).unwrap();
            tree.set_rule(node, u32::try_from(rule).unwrap());
        }
        tree
    }

    #[test]
    fn exact_goes_before_wildcards_and_wildcards_before_any() {
        let tree = tree(&[("k", ""), ("k", "x*"), ("k", "xyz*"), ("k", "x1"), ("w*", "")]);
        let find = |key: &str, value: &str| tree.find([(key, value)].into_iter());
        assert_eq!(find("k", "x1"), Some(3));
        assert_eq!(find("k", "xyz1"), Some(1), "the first that was written");
        assert_eq!(find("k", "else"), Some(0));
        assert_eq!(find("wide", "anything"), Some(4));
        assert_eq!(find("other", "x1"), None);
    }

    #[test]
    fn a_rule_is_only_found_at_the_last_entry() {
        let tree = tree(&[("a", "")]);
        assert_eq!(tree.find([("a", "1"), ("b", "2")].into_iter()), None);
        assert_eq!(tree.find(std::iter::empty()), None);
    }

    #[test]
    fn keys_and_values_never_run_into_each_other() {
        let tree = tree(&[("key2", "A_B"), ("w", "x*")]);
        assert_eq!(tree.find([("key2_A", "B")].into_iter()), None);
        assert_eq!(tree.find([("w_x", "zz")].into_iter()), None);
    }

    #[test]
    fn stars_stand_for_any_run() {
        let pattern = |text: &str| Pattern(text.into());
        for (text, value, matches) in [
            ("*", "", true),
            ("a*c", "abc", true),
            ("a*c", "ac", true),
            ("a*c", "acb", false),
            ("a*b*c", "a-b-b-c", true),
            ("*b*", "abc", true),
            ("ab*ab", "ab", false),
            ("a**b", "ab", true),
            ("**", "x", true),
        ] {
            assert_eq!(pattern(text).matches(value), matches, "{text} {value}");
        }
    }

    #[test]
    fn one_node_cannot_be_written_twice() {
        let mut tree = tree(&[("k", "v"), ("k", "*"), ("k", "")]);
        assert!(["v", "*", ""].iter().all(|value| tree.add(0, "k", value).is_none()));
    }
}

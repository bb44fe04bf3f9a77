//! Things that lie within each other or apart, such as networks and prefixes: all that hold a value, with one search.
//!
//! In order of their beginnings, the last that begins at or before the value is the innermost that holds it, or lies within
//! that one, or nothing holds it.

use super::filed::{Filed, Hits};

/// The trees, flat and in order of their beginnings; what holds another comes before it.
pub(super) struct Forest<K> {
    nodes: Box<[Node<K>]>,
}

struct Node<K> {
    key: K,
    /// The innermost that holds this one.
    parent: Option<u32>,
    list: Box<[Filed]>,
}

/// A range of values that lies within another, holds it, or has nothing in common with it.
pub(super) trait Nested: Ord {
    type Value: ?Sized;

    /// Whether it begins at or before the value.
    fn begins_by(&self, value: &Self::Value) -> bool;
    fn holds(&self, value: &Self::Value) -> bool;
    /// Where it begins.
    fn beginning(&self) -> &Self::Value;
}

impl<K: Nested> Forest<K> {
    /// Takes the ranges in their order.
    pub(super) fn new(ordered: impl IntoIterator<Item = (K, Vec<Filed>)>) -> Self {
        let mut nodes: Vec<Node<K>> = Vec::new();
        for (key, list) in ordered {
            let mut parent = nodes.len().checked_sub(1);
            while let Some(at) = parent.filter(|at| !nodes[*at].key.holds(key.beginning())) {
                parent = nodes[at].parent.map(|parent| parent as usize);
            }
            let parent = parent.map(|parent| u32::try_from(parent).expect("memory ends before so many"));
            nodes.push(Node { key, parent, list: list.into() });
        }
        Self { nodes: nodes.into() }
    }

    /// Takes the lists of all that hold the value.
    pub(super) fn look_up(&self, value: &K::Value, hits: &mut Hits<'_, '_>) {
        let begun = self.nodes.partition_point(|node| node.key.begins_by(value));
        let mut node = begun.checked_sub(1).map(|last| &self.nodes[last]);
        while let Some(outer) = node.filter(|node| !node.key.holds(value)) {
            node = self.parent(outer);
        }
        while let Some(inner) = node {
            hits.take(&inner.list);
            node = self.parent(inner);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    fn parent(&self, node: &Node<K>) -> Option<&Node<K>> {
        node.parent.map(|parent| &self.nodes[parent as usize])
    }
}

/// All texts that begin with this one.
impl Nested for Box<str> {
    type Value = str;

    fn begins_by(&self, value: &str) -> bool {
        **self <= *value
    }

    fn holds(&self, value: &str) -> bool {
        value.starts_with(&**self)
    }

    fn beginning(&self) -> &str {
        self
    }
}

/// All addresses from the first to the last. In order, the wider of two with the same first comes first.
#[derive(PartialEq, Eq)]
pub(super) struct Addresses {
    pub(super) first: u128,
    pub(super) last: u128,
}

impl Ord for Addresses {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.first.cmp(&other.first).then(other.last.cmp(&self.last))
    }
}

impl PartialOrd for Addresses {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Nested for Addresses {
    type Value = u128;

    fn begins_by(&self, value: &u128) -> bool {
        self.first <= *value
    }

    fn holds(&self, value: &u128) -> bool {
        (self.first..=self.last).contains(value)
    }

    fn beginning(&self) -> &u128 {
        &self.first
    }
}

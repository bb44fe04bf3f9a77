//! Things that lie within each other or apart, such as networks and prefixes: all that hold a value, with one search.
//!
//! In order of their beginnings, the last that begins at or before the value is the innermost that holds it, or lies within
//! that one, or nothing holds it.

use std::cmp::Ordering;

use super::filed::{Filed, Hits, List};

/// The trees, flat and in order of their beginnings; what holds another comes before it.
pub(super) struct Forest<K> {
    nodes: Box<[Node<K>]>,
    /// Apart from the nodes, so that a search touches little memory.
    lists: Box<[List]>,
}

struct Node<K> {
    key: K,
    /// The innermost that holds this one.
    parent: Option<u32>,
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
        let (mut nodes, mut lists): (Vec<Node<K>>, Vec<List>) = (Vec::new(), Vec::new());
        for (key, list) in ordered {
            let mut parent = nodes.len().checked_sub(1);
            while let Some(at) = parent.filter(|at| !nodes[*at].key.holds(key.beginning())) {
                parent = nodes[at].parent.map(|parent| parent as usize);
            }
            let parent = parent.map(|parent| u32::try_from(parent).expect("memory ends before so many"));
            nodes.push(Node { key, parent });
            lists.push(list.into());
        }
        Self { nodes: nodes.into(), lists: lists.into() }
    }

    /// Takes the lists of all that hold the value.
    pub(super) fn look_up(&self, value: &K::Value, hits: &mut Hits<'_, '_>) {
        let begun = self.nodes.partition_point(|node| node.key.begins_by(value));
        let mut place = begun.checked_sub(1);
        while let Some(outside) = place.filter(|place| !self.nodes[*place].key.holds(value)) {
            place = self.parent(outside);
        }
        while let Some(inside) = place {
            hits.take_list(&self.lists[inside]);
            place = self.parent(inside);
        }
    }

    fn parent(&self, place: usize) -> Option<usize> {
        self.nodes[place].parent.map(|parent| parent as usize)
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
pub(super) struct Addresses<T> {
    pub(super) first: T,
    pub(super) last: T,
}

impl<T: Ord> Ord for Addresses<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.first.cmp(&other.first).then(other.last.cmp(&self.last))
    }
}

impl<T: Ord> PartialOrd for Addresses<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: Ord> Nested for Addresses<T> {
    type Value = T;

    fn begins_by(&self, value: &T) -> bool {
        self.first <= *value
    }

    fn holds(&self, value: &T) -> bool {
        (&self.first..=&self.last).contains(&value)
    }

    fn beginning(&self) -> &T {
        &self.first
    }
}

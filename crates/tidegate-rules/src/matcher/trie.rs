//! Globs by their segments: a tree whose branches are segments, walked along the segments of a value.

use hashbrown::HashTable;

use super::filed::{Filed, Hits};
use super::pivot::{Path, Step};
use crate::glob::split;
use crate::name::{Keyed, keyed};
use crate::short::Short;

/// The tree. All literal branches are in one table, found by their node and their segment.
pub(super) struct Trie {
    nodes: Vec<Node>,
    branches: HashTable<Branch>,
    keys: (u64, u64),
    hasher: Keyed,
    /// The length of the longest literal segment: longer ones of a value are not looked up.
    longest: usize,
}

#[derive(Default)]
struct Node {
    has_literals: bool,
    any: Option<u32>,
    filled: Option<u32>,
    /// Those whose last segment is here.
    ends: Vec<Filed>,
    /// Those with `**` here.
    rests: Vec<Filed>,
}

struct Branch {
    from: u32,
    to: u32,
    segment: Segment,
}

/// A segment as it is compared: a short one lies with its branch, one look into memory nearer.
#[derive(PartialEq, Eq)]
enum Segment {
    Short(Short),
    Long(Box<str>),
}

impl Default for Trie {
    fn default() -> Self {
        let hasher = keyed();
        let keys = (hasher.hash_one(0), hasher.hash_one(1));
        Self { nodes: vec![Node::default()], branches: HashTable::new(), keys, hasher, longest: 0 }
    }
}

impl Trie {
    pub(super) fn file(&mut self, path: &Path, filed: Filed) {
        let last = path.steps.iter().fold(0, |node, step| self.grow(node, step));
        let node = &mut self.nodes[last as usize];
        if path.open { node.rests.push(filed) } else { node.ends.push(filed) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.nodes.len() == 1 && self.nodes[0].rests.is_empty()
    }

    /// Takes the lists of all paths that fit the value.
    pub(super) fn look_up(&self, value: &str, hits: &mut Hits<'_, '_>) {
        self.walk(0, Some(value), hits);
    }

    /// Follows the literal segments, and calls itself for the others: at most as deep as a glob has segments.
    fn walk(&self, mut node: u32, mut rest: Option<&str>, hits: &mut Hits<'_, '_>) {
        loop {
            let place = &self.nodes[node as usize];
            hits.take(&place.rests);
            let Some(value) = rest else { return hits.take(&place.ends) };
            if !place.leads_on() {
                return;
            }
            let (segment, after) = split(value);
            if let Some(any) = place.any {
                self.walk(any, after, hits);
            }
            if let Some(filled) = place.filled.filter(|_| !segment.is_empty()) {
                self.walk(filled, after, hits);
            }
            let Some(next) = self.branch(node, segment) else { return };
            (node, rest) = (next, after);
        }
    }

    fn branch(&self, from: u32, segment: &str) -> Option<u32> {
        if segment.len() > self.longest || !self.nodes[from as usize].has_literals {
            return None;
        }
        let found = match Short::new(segment) {
            Some(short) => self.branches.find(self.hash_short(from, short), |branch| {
                branch.from == from && matches!(branch.segment, Segment::Short(other) if other == short)
            }),
            None => self.branches.find(self.hash_long(from, segment), |branch| {
                branch.from == from && matches!(&branch.segment, Segment::Long(other) if **other == *segment)
            }),
        };
        found.map(|branch| branch.to)
    }

    #[inline]
    fn hash_short(&self, from: u32, short: Short) -> u64 {
        short.hash((self.keys.0, self.keys.1.wrapping_add(u64::from(from))))
    }

    fn hash_long(&self, from: u32, segment: &str) -> u64 {
        self.hasher.hash_one((from, segment))
    }

    fn hash(&self, branch: &Branch) -> u64 {
        match &branch.segment {
            Segment::Short(short) => self.hash_short(branch.from, *short),
            Segment::Long(segment) => self.hash_long(branch.from, segment),
        }
    }

    /// The node after a step, which grows now if it is not there.
    fn grow(&mut self, from: u32, step: &Step) -> u32 {
        let there = match step {
            Step::Literal(segment) => self.branch(from, segment),
            Step::Any => self.nodes[from as usize].any,
            Step::Filled => self.nodes[from as usize].filled,
        };
        there.unwrap_or_else(|| {
            let to = u32::try_from(self.nodes.len()).expect("memory ends before so many");
            self.nodes.push(Node::default());
            self.join(from, step, to);
            to
        })
    }

    fn join(&mut self, from: u32, step: &Step, to: u32) {
        let node = &mut self.nodes[from as usize];
        match step {
            Step::Any => node.any = Some(to),
            Step::Filled => node.filled = Some(to),
            Step::Literal(segment) => {
                node.has_literals = true;
                self.longest = self.longest.max(segment.len());
                let kept = Short::new(segment).map_or_else(|| Segment::Long(segment.clone()), Segment::Short);
                let branch = Branch { from, to, segment: kept };
                let mut branches = std::mem::take(&mut self.branches);
                branches.insert_unique(self.hash(&branch), branch, |branch| self.hash(branch));
                self.branches = branches;
            }
        }
    }
}

impl Node {
    const fn leads_on(&self) -> bool {
        self.has_literals || self.any.is_some() || self.filled.is_some()
    }
}

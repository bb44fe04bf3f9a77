//! The lists of rules by what they are filed under.

mod builder;

use std::collections::HashMap;
use std::net::IpAddr;

use hashbrown::HashTable;

use super::expressions::Expressions;
use super::filed::{Filed, Hits, List};
use super::forest::{Addresses, Forest};
use super::phrases::Phrases;
use super::trie::Trie;
use crate::condition::PLACES;
use crate::name::{AttributeId, Keyed};
use crate::short::Short;

pub(super) use builder::Builder;

/// All lists.
pub(super) struct Index {
    /// Of the first attributes, in their order.
    first: Box<[(AttributeId, Lists)]>,
    /// Of all others, by how many come before them.
    others: Box<[Box<[Lists]>]>,
    /// Attributes that must not be there.
    absent: Box<[(AttributeId, Box<[Filed]>)]>,
}

/// The lists of one kind under one attribute that is there.
enum Lists {
    Present(Box<[Filed]>),
    Values(Values),
    Paths(Trie),
    Prefixes(Forest<Box<str>>),
    Networks { v4: Forest<Addresses<u32>>, v6: Forest<Addresses<u128>> },
    Phrases(Box<Phrases>),
    Expressions(Expressions),
}

struct Values {
    /// Of short values, which lie with their lists, one look into memory nearer.
    short: HashTable<(Short, List)>,
    keys: (u64, u64),
    /// Of all others.
    long: HashMap<Box<str>, List, Keyed>,
    lengths: Lengths,
}

/// Which lengths texts have: others are not looked up. Long ones are told apart by the longest only.
#[derive(Default)]
struct Lengths {
    /// A bit for each length below 64.
    short: u64,
    longest: usize,
}

impl Lengths {
    fn add(&mut self, length: usize) {
        self.short |= bit(length);
        self.longest = self.longest.max(length);
    }

    #[inline]
    fn have(&self, length: usize) -> bool {
        length <= self.longest && (length >= 64 || self.short & bit(length) != 0)
    }
}

/// None for a length that has no bit.
#[inline]
fn bit(length: usize) -> u64 {
    if length < 64 { 1 << length } else { 0 }
}

impl Index {
    /// Takes all lists that the facts lead to.
    #[inline]
    pub(super) fn look_up(&self, hits: &mut Hits<'_, '_>) {
        let facts = hits.facts;
        for (id, lists) in &self.first {
            if let Some(value) = facts.get(*id) {
                lists.look_up(*id, value, hits);
            }
        }
        if facts.has_others() || !self.absent.is_empty() {
            self.look_up_unusual(hits);
        }
    }

    /// Names beyond the first, and those that must not be there.
    #[inline(never)]
    fn look_up_unusual(&self, hits: &mut Hits<'_, '_>) {
        let facts = hits.facts;
        for (id, value) in facts.others() {
            let lists = id.index().checked_sub(PLACES).and_then(|place| self.others.get(place));
            lists.into_iter().flatten().for_each(|lists| lists.look_up_any(id, value, hits));
        }
        for (_, list) in self.absent.iter().filter(|(id, _)| facts.get(*id).is_none()) {
            hits.take(list);
        }
    }
}

impl Lists {
    #[inline]
    fn look_up(&self, id: AttributeId, value: &str, hits: &mut Hits<'_, '_>) {
        match self {
            Self::Values(values) => values.look_up(value, hits),
            _ => self.look_up_any(id, value, hits),
        }
    }

    #[inline(never)]
    fn look_up_any(&self, id: AttributeId, value: &str, hits: &mut Hits<'_, '_>) {
        match self {
            Self::Present(list) => hits.take(list),
            Self::Values(values) => values.look_up(value, hits),
            Self::Paths(paths) => paths.look_up(value, hits),
            Self::Prefixes(prefixes) => prefixes.look_up(value, hits),
            Self::Networks { v4, v6 } => match hits.facts.address(id) {
                Some(IpAddr::V4(address)) => v4.look_up(&address.to_bits(), hits),
                Some(IpAddr::V6(address)) => v6.look_up(&address.to_bits(), hits),
                None => {}
            },
            Self::Phrases(phrases) => phrases.look_up(value, hits),
            Self::Expressions(expressions) => expressions.look_up(value, hits),
        }
    }
}

impl Values {
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "most values that rules ask about come here")]
    fn look_up(&self, value: &str, hits: &mut Hits<'_, '_>) {
        if self.lengths.have(value.len())
            && let Some(list) = self.list(value)
        {
            hits.take_list(list);
        }
    }

    #[inline(never)]
    fn list(&self, value: &str) -> Option<&List> {
        let Some(short) = Short::new(value) else { return self.long_list(value) };
        let found = self.short.find(short.hash(self.keys), |(other, _)| *other == short);
        found.map(|(_, list)| list)
    }

    #[inline(never)]
    fn long_list(&self, value: &str) -> Option<&List> {
        self.long.get(value)
    }
}

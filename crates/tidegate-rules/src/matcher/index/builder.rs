//! Lists while they grow.

use std::collections::{BTreeMap, HashMap};

use hashbrown::HashTable;
use ipnet::IpNet;

use super::{
    Addresses, AttributeId, Expressions, Filed, Forest, Index, Lengths, Lists, Phrases, Trie, Values,
};
use crate::condition::PLACES;
use crate::matcher::filed::Known;
use crate::matcher::pivot::{Key, Pivot};
use crate::name::keyed;
use crate::short::Short;

/// Fewer expressions than this are asked one by one: a set has to allocate.
const FEW_EXPRESSIONS: usize = 8;

/// An index to be.
#[derive(Default)]
pub(in crate::matcher) struct Builder {
    attributes: Vec<Growing>,
    absent: BTreeMap<AttributeId, Vec<Filed>>,
}

#[derive(Default)]
struct Growing {
    present: Vec<Filed>,
    values: BTreeMap<Box<str>, Vec<Filed>>,
    paths: Trie,
    prefixes: BTreeMap<Box<str>, Vec<Filed>>,
    v4: BTreeMap<Addresses<u32>, Vec<Filed>>,
    v6: BTreeMap<Addresses<u128>, Vec<Filed>>,
    phrases: BTreeMap<Box<str>, Vec<Filed>>,
    expressions: BTreeMap<Box<str>, Vec<Filed>>,
}

impl Builder {
    /// Puts a rule on the list of a pivot.
    pub(in crate::matcher) fn file(&mut self, pivot: Pivot, filed: Filed) {
        let Pivot { attribute, key } = pivot;
        if key == Key::Absent {
            self.absent.entry(attribute).or_default().push(filed);
            return;
        }
        if self.attributes.len() <= attribute.index() {
            self.attributes.resize_with(attribute.index() + 1, Growing::default);
        }
        self.attributes[attribute.index()].file(key, filed);
    }

    pub(in crate::matcher) fn build(self) -> Index {
        let mut attributes = self.attributes.into_iter().map(Growing::build);
        let first = (0..).zip(attributes.by_ref().take(PLACES));
        let first = first
            .flat_map(|(place, lists)| lists.into_iter().map(move |lists| (AttributeId::at(place), lists)));
        Index {
            first: first.collect(),
            others: attributes.collect(),
            absent: self.absent.into_iter().map(|(id, list)| (id, list.into())).collect(),
        }
    }
}

impl Growing {
    fn file(&mut self, key: Key, filed: Filed) {
        let list = match key {
            Key::Value(value) => self.values.entry(value).or_default(),
            Key::Prefix(prefix) => self.prefixes.entry(prefix).or_default(),
            Key::Phrase(phrase) => self.phrases.entry(phrase).or_default(),
            Key::Expression(pattern) => self.expressions.entry(pattern).or_default(),
            Key::Network(IpNet::V4(network)) => {
                let (first, last) = (network.network().to_bits(), network.broadcast().to_bits());
                self.v4.entry(Addresses { first, last }).or_default()
            }
            Key::Network(IpNet::V6(network)) => {
                let (first, last) = (network.network().to_bits(), network.broadcast().to_bits());
                self.v6.entry(Addresses { first, last }).or_default()
            }
            Key::Path(path) => return self.paths.file(&path, filed),
            Key::Present | Key::Absent => &mut self.present,
        };
        list.push(filed);
    }

    fn build(mut self) -> Box<[Lists]> {
        let (phrases, expressions) = (self.phrases(), self.expressions());
        let has_networks = !self.v4.is_empty() || !self.v6.is_empty();
        let kinds = [
            (!self.present.is_empty()).then(|| Lists::Present(self.present.into())),
            (!self.values.is_empty()).then(|| Lists::Values(values(self.values))),
            (!self.paths.is_empty()).then(|| Lists::Paths(self.paths)),
            (!self.prefixes.is_empty()).then(|| Lists::Prefixes(Forest::new(self.prefixes))),
            has_networks.then(|| Lists::Networks { v4: Forest::new(self.v4), v6: Forest::new(self.v6) }),
            phrases.map(|phrases| Lists::Phrases(Box::new(phrases))),
            expressions.map(Lists::Expressions),
        ];
        kinds.into_iter().flatten().collect()
    }

    fn phrases(&mut self) -> Option<Phrases> {
        let phrases: Vec<_> = std::mem::take(&mut self.phrases).into_iter().collect();
        let built = (!phrases.is_empty()).then(|| Phrases::new(&phrases)).flatten();
        if built.is_none() {
            self.ask_each(phrases);
        }
        built
    }

    fn expressions(&mut self) -> Option<Expressions> {
        let expressions: Vec<_> = std::mem::take(&mut self.expressions).into_iter().collect();
        let many = expressions.len() >= FEW_EXPRESSIONS;
        let built = many.then(|| Expressions::new(&expressions)).flatten();
        if built.is_none() {
            self.ask_each(expressions);
        }
        built
    }

    /// Without what would find them, these are asked whenever the attribute is there, and nothing is known of them.
    fn ask_each(&mut self, lists: Vec<(Box<str>, Vec<Filed>)>) {
        let filed = lists.into_iter().flat_map(|(_, list)| list);
        self.present.extend(filed.map(|filed| Filed { known: Known::Nothing, ..filed }));
    }
}

fn values(growing: BTreeMap<Box<str>, Vec<Filed>>) -> Values {
    let source = keyed();
    let keys = (source.hash_one(0), source.hash_one(1));
    let (mut short, mut long) = (HashTable::new(), HashMap::with_hasher(source));
    let mut lengths = Lengths::default();
    for (value, list) in growing {
        lengths.add(value.len());
        match Short::new(&value) {
            Some(key) => {
                short.insert_unique(key.hash(keys), (key, list.into()), |(key, _)| key.hash(keys));
            }
            None => {
                long.insert(value, list.into());
            }
        }
    }
    Values { short, keys, long, lengths }
}

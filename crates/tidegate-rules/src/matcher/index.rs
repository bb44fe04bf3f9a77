//! The lists of rules by what they are filed under.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use ipnet::IpNet;

use super::filed::{Filed, Hits, Known};
use super::forest::{Addresses, Forest};
use super::phrases::{Expressions, Phrases};
use super::pivot::{Key, Pivot};
use super::trie::Trie;
use crate::name::{AttributeId, Keyed, keyed};

/// Fewer expressions than this are asked one by one: a set has to allocate.
const FEW_EXPRESSIONS: usize = 8;

/// All lists.
pub(super) struct Index {
    /// By the attribute's number; attributes that nothing is filed under have empty lists.
    attributes: Box<[Attribute]>,
    /// Attributes that must not be there.
    absent: Box<[(AttributeId, Box<[Filed]>)]>,
}

/// All lists under one attribute that is there.
struct Attribute {
    present: Box<[Filed]>,
    values: HashMap<Box<str>, Box<[Filed]>, Keyed>,
    /// The length of the longest value: longer ones are not looked up.
    longest: usize,
    paths: Option<Trie>,
    prefixes: Forest<Box<str>>,
    networks: Networks,
    phrases: Option<Phrases>,
    expressions: Option<Expressions>,
}

struct Networks {
    v4: Forest<Addresses>,
    v6: Forest<Addresses>,
}

/// Lists while they grow.
#[derive(Default)]
pub(super) struct Builder {
    attributes: Vec<Lists>,
    absent: BTreeMap<AttributeId, Vec<Filed>>,
}

#[derive(Default)]
struct Lists {
    present: Vec<Filed>,
    values: BTreeMap<Box<str>, Vec<Filed>>,
    paths: Trie,
    prefixes: BTreeMap<Box<str>, Vec<Filed>>,
    v4: BTreeMap<Addresses, Vec<Filed>>,
    v6: BTreeMap<Addresses, Vec<Filed>>,
    phrases: BTreeMap<Box<str>, Vec<Filed>>,
    expressions: BTreeMap<Box<str>, Vec<Filed>>,
}

impl Index {
    pub(super) fn builder() -> Builder {
        Builder::default()
    }

    /// Takes all lists that the facts lead to.
    pub(super) fn look_up(&self, hits: &mut Hits<'_, '_>) {
        let facts = hits.facts;
        for (id, value) in facts.iter() {
            if let Some(attribute) = self.attributes.get(id.index()) {
                attribute.look_up(id, value, hits);
            }
        }
        for (_, list) in self.absent.iter().filter(|(id, _)| facts.get(*id).is_none()) {
            hits.take(list);
        }
    }
}

impl Attribute {
    fn look_up(&self, id: AttributeId, value: &str, hits: &mut Hits<'_, '_>) {
        hits.take(&self.present);
        if value.len() <= self.longest {
            self.values.get(value).into_iter().for_each(|list| hits.take(list));
        }
        if let Some(paths) = &self.paths {
            paths.look_up(value, hits);
        }
        self.prefixes.look_up(value, hits);
        self.networks.look_up(id, hits);
        if let Some(phrases) = &self.phrases {
            phrases.look_up(value, hits);
        }
        if let Some(expressions) = &self.expressions {
            expressions.look_up(value, hits);
        }
    }
}

impl Networks {
    fn look_up(&self, id: AttributeId, hits: &mut Hits<'_, '_>) {
        if self.v4.is_empty() && self.v6.is_empty() {
            return;
        }
        match hits.facts.address(id) {
            Some(IpAddr::V4(address)) => self.v4.look_up(&u128::from(address.to_bits()), hits),
            Some(IpAddr::V6(address)) => self.v6.look_up(&address.to_bits(), hits),
            None => {}
        }
    }
}

impl Builder {
    /// Puts a rule on the list of a pivot.
    pub(super) fn file(&mut self, pivot: Pivot, filed: Filed) {
        let Pivot { attribute, key } = pivot;
        if key == Key::Absent {
            self.absent.entry(attribute).or_default().push(filed);
            return;
        }
        if self.attributes.len() <= attribute.index() {
            self.attributes.resize_with(attribute.index() + 1, Lists::default);
        }
        self.attributes[attribute.index()].file(key, filed);
    }

    pub(super) fn build(self) -> Index {
        Index {
            attributes: self.attributes.into_iter().map(Lists::build).collect(),
            absent: self.absent.into_iter().map(|(id, list)| (id, list.into())).collect(),
        }
    }
}

impl Lists {
    fn file(&mut self, key: Key, filed: Filed) {
        let list = match key {
            Key::Value(value) => self.values.entry(value).or_default(),
            Key::Prefix(prefix) => self.prefixes.entry(prefix).or_default(),
            Key::Phrase(phrase) => self.phrases.entry(phrase).or_default(),
            Key::Expression(pattern) => self.expressions.entry(pattern).or_default(),
            Key::Network(IpNet::V4(network)) => {
                let (first, last) =
                    (network.network().to_bits().into(), network.broadcast().to_bits().into());
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

    fn build(mut self) -> Attribute {
        let phrases = self.phrases();
        let expressions = self.expressions();
        let longest = self.values.keys().map(|value| value.len()).max().unwrap_or(0);
        let mut values = HashMap::with_capacity_and_hasher(self.values.len(), keyed());
        values.extend(self.values.into_iter().map(|(value, list)| (value, list.into())));
        Attribute {
            present: self.present.into(),
            values,
            longest,
            paths: Some(self.paths).filter(|paths| !paths.is_empty()),
            prefixes: Forest::new(self.prefixes),
            networks: Networks { v4: Forest::new(self.v4), v6: Forest::new(self.v6) },
            phrases,
            expressions,
        }
    }

    fn phrases(&mut self) -> Option<Phrases> {
        let phrases: Vec<_> = std::mem::take(&mut self.phrases).into_iter().collect();
        let built =
            Some(&phrases).filter(|phrases| !phrases.is_empty()).and_then(|phrases| Phrases::new(phrases));
        if built.is_none() {
            self.ask_each(phrases);
        }
        built
    }

    fn expressions(&mut self) -> Option<Expressions> {
        let expressions: Vec<_> = std::mem::take(&mut self.expressions).into_iter().collect();
        let many = Some(&expressions).filter(|expressions| expressions.len() >= FEW_EXPRESSIONS);
        let built = many.and_then(|expressions| Expressions::new(expressions));
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

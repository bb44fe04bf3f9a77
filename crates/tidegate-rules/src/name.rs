//! Names of attributes as small numbers, so that a check compares numbers and not texts.
//!
//! Names are given their numbers while rules are compiled; doors look them up and leave out what no rule asks about.

mod word;
mod table;

use std::collections::HashMap;
use std::collections::hash_map;
use std::hash::BuildHasher;

use table::{Spelling, Table};
use word::Word;

use crate::short::Short;

/// The number of an attribute's name among the [`Names`] that gave it.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug)]
pub struct AttributeId(u16);

impl AttributeId {
    /// One of the first.
    #[inline]
    pub(crate) const fn at(place: u32) -> Self {
        Self(place.to_le_bytes()[0] as u16)
    }

    /// Its place among all names, from 0 on.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl Spelling for Short {
    const NONE: Self = Self::NONE;

    #[inline]
    fn of(name: &str) -> Option<Self> {
        Self::new(name)
    }

    #[inline]
    fn bits(self) -> u64 {
        self.mixed()
    }
}

/// The number of an attribute or of none, told from another in one step.
#[derive(Copy, Clone, Debug)]
pub struct MaybeAttribute(u32);

impl MaybeAttribute {
    /// Whether it is that one.
    #[inline]
    pub const fn is(self, attribute: AttributeId) -> bool {
        self.0 == attribute.0 as u32
    }
}

impl From<Option<AttributeId>> for MaybeAttribute {
    fn from(attribute: Option<AttributeId>) -> Self {
        Self(attribute.map_or(u32::MAX, |attribute| attribute.0.into()))
    }
}

/// All names that the rules of a snapshot speak of: at most 65 536.
#[derive(Clone, Debug)]
pub struct Names {
    /// The shortest, which most are.
    words: Table<Word>,
    /// Nearly all others.
    short: Table<Short>,
    long: HashMap<Box<str>, AttributeId, Keyed>,
    all: Vec<Box<str>>,
}

/// A fast hash with a random key: texts that collide on purpose cannot be prepared.
pub(crate) type Keyed = ahash::RandomState;

/// A hasher whose key comes from the standard library's source of randomness.
pub(crate) fn keyed() -> Keyed {
    let source = hash_map::RandomState::new();
    let seed = |nth: u64| source.hash_one(nth);
    Keyed::with_seeds(seed(0), seed(1), seed(2), seed(3))
}

impl Default for Names {
    fn default() -> Self {
        Self {
            words: Table::default(),
            short: Table::default(),
            long: HashMap::with_hasher(keyed()),
            all: Vec::new(),
        }
    }
}

impl Names {
    /// No names yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of a name, which it gets now if it has none; `None` once all numbers are given.
    pub fn intern(&mut self, name: &str) -> Option<AttributeId> {
        if let Some(id) = self.get(name) {
            return Some(id);
        }
        let id = AttributeId(u16::try_from(self.all.len()).ok()?);
        if !self.words.insert(name, id) && !self.short.insert(name, id) {
            self.long.insert(name.into(), id);
        }
        self.all.push(name.into());
        Some(id)
    }

    /// The number of a name, if it has one.
    pub fn get(&self, name: &str) -> Option<AttributeId> {
        self.get_short(name).or_else(|| self.get_long(name))
    }

    /// The same for names that are found in a few steps, as the shortest are.
    #[inline]
    pub fn get_short(&self, name: &str) -> Option<AttributeId> {
        self.words.get(name)
    }

    /// The same for all others.
    pub fn get_long(&self, name: &str) -> Option<AttributeId> {
        let short = self.short.get(name);
        if short.is_some() || self.long.is_empty() { short } else { self.long.get(name).copied() }
    }

    /// The name behind a number; empty if other names gave it.
    pub fn name(&self, id: AttributeId) -> &str {
        self.all.get(id.index()).map_or("", |name| name)
    }

    /// All names with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (&str, AttributeId)> {
        self.all.iter().filter_map(|name| Some((&**name, self.get(name)?)))
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_number() {
        let mut names = Names::new();
        let path = names.intern("path").unwrap();
        let method = names.intern("method").unwrap();
        assert_ne!(path, method);
        assert_eq!(names.intern("path"), Some(path));
        assert_eq!(names.get("method"), Some(method));
        assert_eq!(names.get("plan"), None);
        assert_eq!((names.name(path), names.name(method), names.len()), ("path", "method", 2));
    }

    #[test]
    fn numbers_run_out_after_65_536_names() {
        let mut names = Names::new();
        for number in 0..=u16::MAX {
            assert_eq!(names.intern(&number.to_string()).map(AttributeId::index), Some(usize::from(number)));
        }
        assert_eq!(names.intern("one more"), None);
        assert_eq!(names.intern("65535").map(AttributeId::index), Some(65_535));
    }
}

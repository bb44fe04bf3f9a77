//! Short names, compared as numbers: a check asks for the number of each of its attributes' names.

use super::AttributeId;
use crate::short::Short;

/// The most names in the table; further ones are looked for as long ones are. Rules speak of a dozen.
const MOST_NAMES: usize = 64;

/// There are many more places than names, so that a few tries find a key under which no two have the same.
const PLACE_BITS: u32 = 9;
const PLACES: usize = 1 << PLACE_BITS;

/// How many keys are tried before a name is left to those that are long.
const TRIES: u64 = 1_000;

/// A table in which no two names have the same place. Names that are asked for do not change it, so that none of them
/// takes longer than another.
#[derive(Clone, Debug)]
pub(super) struct ShortNames {
    /// Where there is no name, there is [`Short::NONE`].
    places: Box<[(Short, AttributeId); PLACES]>,
    key: u64,
    count: usize,
}

impl Default for ShortNames {
    fn default() -> Self {
        Self::empty(1)
    }
}

impl ShortNames {
    /// `false` if it is not short, there are too many, or it has no place beside the others.
    pub(super) fn insert(&mut self, name: &str, id: AttributeId) -> bool {
        let Some(short) = Short::new(name).filter(|_| self.count < MOST_NAMES) else { return false };
        if self.put(short, id) {
            return true;
        }
        let names = self.places.iter().filter(|place| place.0 != Short::NONE);
        let names = names.copied().chain([(short, id)]).collect::<Vec<_>>();
        let Some(table) = Self::of(&names) else { return false };
        *self = table;
        true
    }

    #[inline]
    pub(super) fn get(&self, name: &str) -> Option<AttributeId> {
        let short = Short::new(name)?;
        let (there, id) = &self.places[self.place(short)];
        if *there == short { Some(*id) } else { None }
    }

    /// A table for all of them, if one is found.
    fn of(names: &[(Short, AttributeId)]) -> Option<Self> {
        (1..=TRIES).map(Self::empty).find_map(|mut table| {
            let all_have_places = names.iter().all(|(short, id)| table.put(*short, *id));
            all_have_places.then_some(table)
        })
    }

    fn empty(attempt: u64) -> Self {
        Self {
            places: Box::new([(Short::NONE, AttributeId(0)); PLACES]),
            key: 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(2 * attempt + 1) | 1,
            count: 0,
        }
    }

    /// `false` if the place is taken.
    fn put(&mut self, short: Short, id: AttributeId) -> bool {
        let place = self.place(short);
        if self.places[place].0 != Short::NONE {
            return false;
        }
        self.places[place] = (short, id);
        self.count += 1;
        true
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "what is left are a few bits")]
    fn place(&self, short: Short) -> usize {
        (short.quick_hash(self.key) >> (u64::BITS - PLACE_BITS)) as usize
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::short::MOST_BYTES;

    proptest! {
        #[test]
        fn names_are_told_apart(names in prop::collection::hash_set("[ab\\PC]{0,20}", 0..60)) {
            let mut table = ShortNames::default();
            let names: Vec<String> = names.into_iter().collect();
            let mut taken = Vec::new();
            for (number, name) in (0_u16..).zip(&names) {
                taken.push(table.insert(name, AttributeId(number)));
            }
            for (number, name) in (0_u16..).zip(&names) {
                prop_assert_eq!(taken[usize::from(number)], name.len() <= MOST_BYTES);
                let found = table.get(name);
                prop_assert_eq!(found, taken[usize::from(number)].then_some(AttributeId(number)));
            }
            prop_assert_eq!(table.get("never there"), None);
        }
    }

    #[test]
    fn there_are_only_so_many() {
        let mut table = ShortNames::default();
        let name = |number| format!("header.x-{number}");
        for number in 0..100 {
            assert_eq!(table.insert(&name(number), AttributeId(number)), usize::from(number) < MOST_NAMES);
        }
        for number in 0..100 {
            assert_eq!(table.get(&name(number)).is_some(), usize::from(number) < MOST_NAMES);
        }
    }
}

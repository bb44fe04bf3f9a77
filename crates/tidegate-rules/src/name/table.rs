//! Names that are found in a few steps: a check asks for the number of each of its attributes' names.

use super::AttributeId;

/// The most names in a table; further ones are looked for elsewhere. Rules speak of a dozen.
const MOST_NAMES: usize = 64;

/// There are many more places than names, so that a few tries find a key under which no two have the same.
const PLACE_BITS: u32 = 9;
const PLACES: usize = 1 << PLACE_BITS;

/// How many keys are tried before a name is left to be looked for elsewhere.
const TRIES: u64 = 1_000;

/// Names of some lengths as numbers, equal exactly if the names are.
pub(super) trait Spelling: Copy + PartialEq {
    /// No name at all.
    const NONE: Self;

    /// `None` if it is too long.
    fn of(name: &str) -> Option<Self>;

    /// Bits that differ between most names.
    fn bits(self) -> u64;
}

/// A table in which no two names have the same place. Names that are asked for do not change it, so that none of them
/// takes longer than another.
#[derive(Clone, Debug)]
pub(super) struct Table<S> {
    places: Box<[(S, AttributeId); PLACES]>,
    key: u64,
    count: usize,
}

impl<S: Spelling> Default for Table<S> {
    fn default() -> Self {
        Self::empty(1)
    }
}

impl<S: Spelling> Table<S> {
    /// `false` if it is too long, there are too many, or it has no place beside the others.
    pub(super) fn insert(&mut self, name: &str, id: AttributeId) -> bool {
        let Some(spelling) = S::of(name).filter(|_| self.count < MOST_NAMES) else { return false };
        if self.put(spelling, id) {
            return true;
        }
        let names = self.places.iter().filter(|place| place.0 != S::NONE);
        let names = names.copied().chain([(spelling, id)]).collect::<Vec<_>>();
        let Some(table) = Self::with(&names) else { return false };
        *self = table;
        true
    }

    #[inline]
    pub(super) fn get(&self, name: &str) -> Option<AttributeId> {
        let spelling = S::of(name)?;
        let (there, id) = &self.places[self.place(spelling)];
        if *there == spelling { Some(*id) } else { None }
    }

    /// A table of all of them, if one is found.
    fn with(names: &[(S, AttributeId)]) -> Option<Self> {
        (1..=TRIES).map(Self::empty).find_map(|mut table| {
            let all_have_places = names.iter().all(|(spelling, id)| table.put(*spelling, *id));
            all_have_places.then_some(table)
        })
    }

    fn empty(attempt: u64) -> Self {
        Self {
            places: Box::new([(S::NONE, AttributeId(0)); PLACES]),
            key: 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(2 * attempt + 1),
            count: 0,
        }
    }

    /// `false` if the place is taken.
    fn put(&mut self, spelling: S, id: AttributeId) -> bool {
        let place = self.place(spelling);
        if self.places[place].0 != S::NONE {
            return false;
        }
        self.places[place] = (spelling, id);
        self.count += 1;
        true
    }

    #[inline]
    fn place(&self, spelling: S) -> usize {
        (spelling.bits().wrapping_mul(self.key) >> (u64::BITS - PLACE_BITS)) as usize
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::name::word::Word;
    use crate::short::Short;

    fn check<S: Spelling>(names: &[String]) -> Result<(), TestCaseError> {
        let mut table = Table::<S>::default();
        let number = |name: &String| names.iter().position(|other| other == name);
        let id = |name| AttributeId(u16::try_from(number(name).unwrap()).unwrap());
        let taken: Vec<bool> = names.iter().map(|name| table.insert(name, id(name))).collect();
        for (name, taken) in names.iter().zip(taken) {
            prop_assert_eq!(taken, S::of(name).is_some());
            prop_assert_eq!(table.get(name), taken.then(|| id(name)));
        }
        prop_assert_eq!(table.get("never"), None);
        Ok(())
    }

    proptest! {
        #[test]
        fn names_are_told_apart(names in prop::collection::hash_set("[ab\\PC]{0,20}", 0..60)) {
            let names: Vec<String> = names.into_iter().collect();
            check::<Word>(&names)?;
            check::<Short>(&names)?;
        }
    }

    #[test]
    fn there_are_only_so_many() {
        let mut table = Table::<Short>::default();
        let name = |number| format!("header.x-{number}");
        for number in 0..100 {
            assert_eq!(table.insert(&name(number), AttributeId(number)), usize::from(number) < MOST_NAMES);
        }
        for number in 0..100 {
            assert_eq!(table.get(&name(number)).is_some(), usize::from(number) < MOST_NAMES);
        }
    }
}

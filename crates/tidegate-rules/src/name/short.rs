//! Short names, compared as numbers: a check asks for the number of each of its attributes' names.

use super::AttributeId;
use crate::short::Short;

/// The most names in the table; further ones are looked for as long ones are. Rules speak of a dozen.
const MOST_NAMES: usize = 64;

/// How many keys are tried before the table grows.
const TRIES: u64 = 64;

/// A table in which no two names have the same place. Names that are asked for do not change it, so that none of them
/// takes longer than another.
#[derive(Clone, Debug)]
pub(super) struct ShortNames {
    /// A power of two of them; where there is no name, there is [`Short::NONE`].
    places: Box<[(Short, AttributeId)]>,
    /// One less than there are places.
    mask: usize,
    keys: (u64, u64),
    count: usize,
}

impl Default for ShortNames {
    fn default() -> Self {
        Self::empty(1, 1)
    }
}

impl ShortNames {
    /// `false` if it is not short, or there are too many.
    pub(super) fn insert(&mut self, name: &str, id: AttributeId) -> bool {
        let Some(short) = Short::new(name).filter(|_| self.count < MOST_NAMES) else { return false };
        if !self.put(short, id) {
            let names = self.places.iter().filter(|place| place.0 != Short::NONE);
            let names = names.copied().chain([(short, id)]).collect::<Vec<_>>();
            *self = Self::of(&names);
        }
        true
    }

    #[inline]
    pub(super) fn get(&self, name: &str) -> Option<AttributeId> {
        let short = Short::new(name)?;
        match self.places.get(self.place(short)) {
            Some((there, id)) if *there == short => Some(*id),
            _ => None,
        }
    }

    /// A table for all of them, as small as it can be made with a few tries.
    fn of(names: &[(Short, AttributeId)]) -> Self {
        let mut bits = (names.len() * 2).next_power_of_two().ilog2();
        loop {
            for attempt in 1..=TRIES {
                let mut table = Self::empty(bits, attempt);
                if names.iter().all(|(short, id)| table.put(*short, *id)) {
                    return table;
                }
            }
            bits += 1;
        }
    }

    fn empty(bits: u32, attempt: u64) -> Self {
        let key = |nth: u64| 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(2 * attempt + nth);
        let places = 1_usize << bits;
        Self {
            places: vec![(Short::NONE, AttributeId(0)); places].into(),
            mask: places - 1,
            keys: (key(0), key(1)),
            count: 0,
        }
    }

    /// `false` if the place is taken.
    fn put(&mut self, short: Short, id: AttributeId) -> bool {
        let place = self.place(short);
        let Some(free) = self.places.get_mut(place).filter(|place| place.0 == Short::NONE) else {
            return false;
        };
        *free = (short, id);
        self.count += 1;
        true
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "any bits of the hash will do")]
    fn place(&self, short: Short) -> usize {
        short.hash(self.keys) as usize & self.mask
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
        assert!(table.places.len() <= 1 << 11, "{} places", table.places.len());
    }
}

//! What is known of one request: the values of its attributes by number.

use std::cell::Cell;
use std::fmt;
use std::net::IpAddr;

use smallvec::SmallVec;

use crate::name::AttributeId;

/// The values of a request's attributes. Up to 16 are held in place, without allocating; filled anew for each request.
#[derive(Clone)]
pub struct Facts<'v> {
    facts: SmallVec<[Fact<'v>; 16]>,
    /// For the first names the place of each among the facts, from 1 on; 0 is nowhere. Others are searched for. There
    /// are not more facts than names.
    places: [u16; PLACES],
    /// The value that was last read as an address: many rules may ask for its network.
    address: Cell<Option<(AttributeId, Option<IpAddr>)>>,
}

const PLACES: usize = 64;

#[derive(Clone, Copy)]
struct Fact<'v> {
    attribute: AttributeId,
    value: &'v str,
}

impl Default for Facts<'_> {
    #[inline]
    fn default() -> Self {
        Self { facts: SmallVec::new(), places: [0; PLACES], address: Cell::new(None) }
    }
}

impl<'v> Facts<'v> {
    /// Nothing is known yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Nothing is known yet, with room for so many attributes.
    pub fn with_len(attributes: usize) -> Self {
        Self { facts: SmallVec::with_capacity(attributes), ..Self::default() }
    }

    /// Sets the value of an attribute, in place of one that it had.
    pub fn set(&mut self, attribute: AttributeId, value: &'v str) {
        match self.place(attribute) {
            Some(place) => {
                self.facts[place].value = value;
                self.address.set(None);
            }
            None => self.add(attribute, value),
        }
    }

    /// Sets the value of an attribute, unless it has one.
    #[inline]
    pub fn set_first(&mut self, attribute: AttributeId, value: &'v str) {
        if self.place(attribute).is_none() {
            self.add(attribute, value);
        }
    }

    /// The value of an attribute, if it is there.
    #[inline]
    pub fn get(&self, attribute: AttributeId) -> Option<&'v str> {
        self.place(attribute).and_then(|place| self.facts.get(place)).map(|fact| fact.value)
    }

    /// Forgets all values and keeps the room.
    pub fn clear(&mut self) {
        self.facts.clear();
        self.places = [0; PLACES];
        self.address.set(None);
    }

    /// All attributes that are there, with their values.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = (AttributeId, &'v str)> {
        self.facts.iter().map(|fact| (fact.attribute, fact.value))
    }

    /// The value as an address, IPv4-mapped IPv6 as IPv4, if it is one.
    pub fn address(&self, attribute: AttributeId) -> Option<IpAddr> {
        if let Some((known, address)) = self.address.get()
            && known == attribute
        {
            return address;
        }
        let address = crate::address::parse(self.get(attribute)?);
        self.address.set(Some((attribute, address)));
        address
    }

    #[inline]
    fn add(&mut self, attribute: AttributeId, value: &'v str) {
        if let Some(place) = self.places.get_mut(attribute.index()) {
            *place = u16::try_from(self.facts.len() + 1).unwrap_or(0);
        }
        self.facts.push(Fact { attribute, value });
    }

    #[inline]
    fn place(&self, attribute: AttributeId) -> Option<usize> {
        match self.places.get(attribute.index()) {
            Some(place) => usize::from(*place).checked_sub(1),
            None => self.facts.iter().position(|fact| fact.attribute == attribute),
        }
    }
}

/// Which attributes are there, never their values: those may be keys or tokens.
impl fmt::Debug for Facts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.facts.iter().map(|fact| fact.attribute)).finish()
    }
}

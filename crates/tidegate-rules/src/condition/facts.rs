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
    /// For the first names the place of each among the facts, from 1 on; 0 is nowhere. Others are searched for.
    places: [u8; PLACES],
}

const PLACES: usize = 64;

#[derive(Clone)]
struct Fact<'v> {
    attribute: AttributeId,
    value: &'v str,
    address: Cell<Address>,
}

/// A value as an address. It is read when first asked for, and once: many rules may ask for its network.
#[derive(Clone, Copy)]
enum Address {
    Unread,
    Read(Option<IpAddr>),
}

impl Default for Facts<'_> {
    fn default() -> Self {
        Self { facts: SmallVec::new(), places: [0; PLACES] }
    }
}

impl<'v> Facts<'v> {
    /// Nothing is known yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Nothing is known yet, with room for so many attributes.
    pub fn with_len(attributes: usize) -> Self {
        Self { facts: SmallVec::with_capacity(attributes), places: [0; PLACES] }
    }

    /// Sets the value of an attribute, in place of one that it had.
    #[inline]
    pub fn set(&mut self, attribute: AttributeId, value: &'v str) {
        let fact = Fact { attribute, value, address: Cell::new(Address::Unread) };
        if let Some(place) = self.place(attribute) {
            self.facts[place] = fact;
            return;
        }
        self.facts.push(fact);
        if let (Some(place), Ok(number)) =
            (self.places.get_mut(attribute.index()), u8::try_from(self.facts.len()))
        {
            *place = number;
        }
    }

    /// The value of an attribute, if it is there.
    #[inline]
    pub fn get(&self, attribute: AttributeId) -> Option<&'v str> {
        self.place(attribute).map(|place| self.facts[place].value)
    }

    /// Forgets all values and keeps the room.
    pub fn clear(&mut self) {
        self.facts.clear();
        self.places = [0; PLACES];
    }

    /// All attributes that are there, with their values.
    pub fn iter(&self) -> impl Iterator<Item = (AttributeId, &'v str)> {
        self.facts.iter().map(|fact| (fact.attribute, fact.value))
    }

    /// The value as an address, IPv4-mapped IPv6 as IPv4, if it is one.
    pub fn address(&self, attribute: AttributeId) -> Option<IpAddr> {
        let fact = &self.facts[self.place(attribute)?];
        if let Address::Read(address) = fact.address.get() {
            return address;
        }
        let address = crate::address::parse(fact.value);
        fact.address.set(Address::Read(address));
        address
    }

    #[inline]
    fn place(&self, attribute: AttributeId) -> Option<usize> {
        match self.places.get(attribute.index()) {
            Some(0) if self.facts.len() < usize::from(u8::MAX) => None,
            Some(&place) if place > 0 => Some(usize::from(place) - 1),
            _ => self.facts.iter().position(|fact| fact.attribute == attribute),
        }
    }
}

/// Which attributes are there, never their values: those may be keys or tokens.
impl fmt::Debug for Facts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.facts.iter().map(|fact| fact.attribute)).finish()
    }
}

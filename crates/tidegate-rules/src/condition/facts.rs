//! What is known of one request: the values of its attributes by number.

use std::cell::Cell;
use std::fmt;
use std::net::IpAddr;

use smallvec::SmallVec;

use crate::name::AttributeId;

/// How many of the first names have a place of their own. Rules speak of a dozen attributes.
pub(crate) const PLACES: usize = 24;

/// The values of a request's attributes, filled anew for each request. Nothing is allocated unless the rules speak of more
/// than 24 names, and the request has more than a few of the others.
#[derive(Clone)]
pub struct Facts<'v> {
    /// Those of the first names, by number.
    values: [Option<&'v str>; PLACES],
    /// Those of the other names.
    others: SmallVec<[(AttributeId, &'v str); 8]>,
    /// The value that was last read as an address: many rules may ask for its network.
    address: Cell<Option<(AttributeId, Option<IpAddr>)>>,
}

impl Default for Facts<'_> {
    #[inline]
    fn default() -> Self {
        Self { values: [None; PLACES], others: SmallVec::new(), address: Cell::new(None) }
    }
}

impl<'v> Facts<'v> {
    /// Nothing is known yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the value of an attribute, in place of one that it had.
    pub fn set(&mut self, attribute: AttributeId, value: &'v str) {
        if let Some(place) = self.values.get_mut(attribute.index()) {
            *place = Some(value);
        } else if let Some((_, place)) = self.others.iter_mut().find(|(other, _)| *other == attribute) {
            *place = value;
        } else {
            self.others.push((attribute, value));
        }
        self.address.set(None);
    }

    /// Sets the value of an attribute, unless it has one.
    #[inline]
    pub fn set_first(&mut self, attribute: AttributeId, value: &'v str) {
        if let Some(place) = self.values.get_mut(attribute.index()) {
            if place.is_none() {
                *place = Some(value);
            }
        } else {
            self.set_first_other(attribute, value);
        }
    }

    /// The value of an attribute, if it is there.
    #[inline]
    pub fn get(&self, attribute: AttributeId) -> Option<&'v str> {
        match self.values.get(attribute.index()) {
            Some(value) => *value,
            None => self.get_other(attribute),
        }
    }

    /// Forgets all values and keeps the room.
    pub fn clear(&mut self) {
        self.values = [None; PLACES];
        self.others.clear();
        self.address.set(None);
    }

    /// All attributes that are there, with their values, in the order of their numbers among the first names.
    pub fn iter(&self) -> impl Iterator<Item = (AttributeId, &'v str)> {
        let first = (0..).zip(&self.values);
        let first = first.filter_map(|(place, value)| Some((AttributeId::at(place), (*value)?)));
        first.chain(self.others())
    }

    /// Whether there are some that have no place of their own.
    #[inline]
    pub(crate) fn has_others(&self) -> bool {
        !self.others.is_empty()
    }

    /// Those that have no place of their own.
    #[inline]
    pub(crate) fn others(&self) -> impl Iterator<Item = (AttributeId, &'v str)> {
        self.others.iter().copied()
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

    #[cold]
    fn set_first_other(&mut self, attribute: AttributeId, value: &'v str) {
        if self.get_other(attribute).is_none() {
            self.others.push((attribute, value));
        }
    }

    #[cold]
    fn get_other(&self, attribute: AttributeId) -> Option<&'v str> {
        self.others().find(|(other, _)| *other == attribute).map(|(_, value)| value)
    }
}

/// Which attributes are there, never their values: those may be keys or tokens.
impl fmt::Debug for Facts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(|(attribute, _)| attribute)).finish()
    }
}

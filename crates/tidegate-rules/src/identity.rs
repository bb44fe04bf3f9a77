//! Attributes that follow from another: the org and the plan of an api_key, by a map or by a pattern.

use std::collections::HashMap;

use regex::Regex;

use crate::name::AttributeId;

/// What follows from the value of one attribute.
pub struct Identity {
    /// The attribute that is known.
    pub from: AttributeId,
    /// The attributes that follow from it.
    pub derives: Vec<AttributeId>,
    /// For each value of the known one, a value for each that follows, in their order.
    pub map: HashMap<Box<str>, Vec<Option<Box<str>>>>,
    /// For values that the map does not have: a pattern, and the place of its group for each that follows.
    pub pattern: Option<(Regex, Vec<Option<usize>>)>,
}

/// Values may be secret: it shows how many it knows.
impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Identity({:?} -> {:?}, {} values)", self.from, self.derives, self.map.len())
    }
}

impl Identity {
    /// Tells `give` each attribute that follows from a value.
    pub fn derive<'a>(&'a self, value: &'a str, mut give: impl FnMut(AttributeId, &'a str)) {
        if let Some(values) = self.map.get(value) {
            for (attribute, value) in self.derives.iter().zip(values) {
                if let Some(value) = value {
                    give(*attribute, value);
                }
            }
            return;
        }
        let Some((pattern, groups)) = &self.pattern else { return };
        let Some(captures) = pattern.captures(value) else { return };
        for (attribute, group) in self.derives.iter().zip(groups) {
            if let Some(found) = group.and_then(|group| captures.get(group)) {
                give(*attribute, &value[found.range()]);
            }
        }
    }
}

//! Taking values out of a tree that was held against its table: what has the wrong form was reported and is left out.

use crate::yaml::{Node, Value};

impl Node {
    /// Text; numbers and truth values as they would be written.
    pub fn text(&self) -> Option<String> {
        match &self.value {
            Value::Text(text) => Some(text.clone()),
            Value::Integer(number) => Some(number.to_string()),
            Value::Bool(word) => Some(word.to_string()),
            _ => None,
        }
    }

    /// A whole number.
    pub fn whole(&self) -> Option<i64> {
        match self.value {
            Value::Integer(number) => Some(number),
            _ => None,
        }
    }

    /// A number of things.
    pub fn count(&self) -> Option<u64> {
        self.whole().and_then(|number| u64::try_from(number).ok())
    }

    /// `true` or `false`.
    pub fn truth(&self) -> Option<bool> {
        match self.value {
            Value::Bool(word) => Some(word),
            _ => None,
        }
    }

    /// The items of a list; anything else but nothing is a list of itself.
    pub fn items(&self) -> &[Self] {
        match &self.value {
            Value::List(items) => items,
            Value::Null => &[],
            _ => std::slice::from_ref(self),
        }
    }

    /// The entries of a map, in order.
    pub fn entries(&self) -> &[(crate::yaml::Key, Self)] {
        match &self.value {
            Value::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The text under a key, with its node.
    pub fn text_at(&self, name: &str) -> Option<(String, &Self)> {
        let node = self.get(name)?;
        Some((node.text()?, node))
    }
}

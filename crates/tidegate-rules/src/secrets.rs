//! Where a file has secrets in clear, so that no excerpt of it shows them: what conditions compare secret attributes with,
//! the values that identities are known for, and the values of descriptors.

mod unparsed;

use std::collections::HashSet;

use crate::reference::IDENTITY;
use crate::source::Span;
use crate::words::is_secret;
use crate::yaml::{Key, Node, Value};

pub(crate) use unparsed::unparsed;

/// All stretches of a file that hold secrets. An alias stands for a text that is written elsewhere, so what is a secret in
/// one place is hidden in all.
pub(crate) fn spans(file: &Node) -> Vec<Span> {
    let mut found = Secrets::default();
    found.look(file);
    if !found.texts.is_empty() {
        found.look_for_copies(file);
    }
    found.spans
}

#[derive(Default)]
struct Secrets {
    spans: Vec<Span>,
    texts: HashSet<String>,
}

impl Secrets {
    fn look(&mut self, node: &Node) {
        if let Value::List(items) = &node.value {
            for item in items {
                self.look(item);
            }
        }
        let is_secret_descriptor = node.text_at("key").is_some_and(|(key, _)| is_secret(&key));
        for (key, value) in node.entries() {
            if is_secret(&key.name) && value.get("derive").is_some() {
                self.identity(value);
            } else if is_secret(&key.name) || (is_secret_descriptor && key.name == "value") {
                self.hide(value);
            } else {
                self.look(value);
            }
        }
    }

    /// The keys of its map, and what stands where a key of its own should.
    fn identity(&mut self, node: &Node) {
        for (key, value) in node.entries() {
            if IDENTITY.field(&key.name).is_none() {
                self.hide_key(key);
            }
            if key.name == "map" {
                value.entries().iter().for_each(|(key, _)| self.hide_key(key));
            }
        }
    }

    /// All texts and numbers under a node.
    fn hide(&mut self, node: &Node) {
        match &node.value {
            Value::Text(_) | Value::Integer(_) => {
                self.spans.push(node.span);
                self.texts.extend(node.text());
            }
            Value::List(items) => items.iter().for_each(|item| self.hide(item)),
            Value::Map(entries) => entries.iter().for_each(|(_, value)| self.hide(value)),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn hide_key(&mut self, key: &Key) {
        self.spans.push(key.span);
        self.texts.insert(key.name.clone());
    }

    fn look_for_copies(&mut self, node: &Node) {
        match &node.value {
            Value::Text(_) | Value::Integer(_) => {
                if node.text().is_some_and(|text| self.texts.contains(&text)) {
                    self.spans.push(node.span);
                }
            }
            Value::List(items) => items.iter().for_each(|item| self.look_for_copies(item)),
            Value::Map(entries) => entries.iter().for_each(|(_, value)| self.look_for_copies(value)),
            Value::Null | Value::Bool(_) => {}
        }
    }
}

#[cfg(test)]
mod tests;

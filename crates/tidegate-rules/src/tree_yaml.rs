//! Descriptor trees as envoyproxy/ratelimit reads them, with gopkg.in/yaml.v2: merge keys, keys that are given twice, and the
//! spellings of truth values and numbers of YAML 1.1.
//!
//! Keys count in the order of the file, the last one wins, and `<<` counts where it stands. A `rate_limit` or `metadata` that
//! is given twice is one with the keys of both. Quoted text is never a truth value or a number.

use std::collections::{HashMap, HashSet};

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::reference::{DESCRIPTOR, RATE_LIMIT};
use crate::shape::Shape;
use crate::source::{Source, Span};
use crate::yaml::{Key, Node, Value};

type Entries = Vec<(Key, Node)>;

/// Brings the tree of a file into the form that all other rules have. Our own rules keep to YAML 1.2, without duplicate keys.
pub(crate) fn settle(file: &mut Node, source: &Source, diagnostics: &mut Diagnostics) {
    let mut reader = Reader { source, diagnostics };
    let Value::Map(entries) = &mut file.value else { return };
    if entries.iter().any(|(key, _)| key.name == "rules") {
        reader.refuse_duplicates(entries);
    } else {
        *entries = reader.settled(std::mem::take(entries));
    }
    for (_, value) in entries.iter_mut().filter(|(key, _)| key.name == "descriptors") {
        reader.descriptors(value);
    }
}

struct Reader<'a> {
    source: &'a Source,
    diagnostics: &'a mut Diagnostics,
}

impl Reader<'_> {
    fn refuse_duplicates(&mut self, entries: &Entries) {
        let mut written = HashSet::new();
        for (key, _) in entries {
            if !written.insert(key.name.as_str()) {
                self.diagnostics.push(crate::yaml::duplicate(key.span));
            }
        }
    }

    fn descriptors(&mut self, node: &mut Node) {
        let Value::List(items) = &mut node.value else { return };
        for item in items {
            let Value::Map(entries) = &mut item.value else { continue };
            *entries = self.settled(std::mem::take(entries));
            for (key, value) in entries {
                self.value(&key.name, value);
            }
        }
    }

    fn value(&mut self, key: &str, node: &mut Node) {
        match key {
            "descriptors" => self.descriptors(node),
            "metadata" => self.metadata(node),
            "rate_limit" | "replaces" => self.inner(node),
            _ => match DESCRIPTOR.field(key).or_else(|| RATE_LIMIT.field(key)).map(|field| field.shape) {
                Some(Shape::Truth) => self.resolve(node, |text| truth(text).map(Value::Bool)),
                Some(Shape::Whole { .. }) => self.resolve(node, |text| number(text).map(Value::Integer)),
                _ => {}
            },
        }
    }

    fn inner(&mut self, node: &mut Node) {
        match &mut node.value {
            Value::Map(entries) => {
                *entries = self.settled(std::mem::take(entries));
                for (key, value) in entries {
                    self.value(&key.name, value);
                }
            }
            Value::List(items) => items.iter_mut().for_each(|item| self.inner(item)),
            _ => {}
        }
    }

    fn metadata(&mut self, node: &mut Node) {
        match &mut node.value {
            Value::Map(entries) => {
                *entries = self.settled(std::mem::take(entries));
                for (_, value) in entries {
                    self.metadata(value);
                }
            }
            Value::List(items) => items.iter_mut().for_each(|item| self.metadata(item)),
            _ => self.resolve(node, |text| {
                truth(text).map(Value::Bool).or_else(|| number(text).map(Value::Integer))
            }),
        }
    }

    /// Reads plain text as something else, if it is that.
    fn resolve(&mut self, node: &mut Node, read: impl Fn(&str) -> Option<Value>) {
        if let Value::Text(text) = &node.value
            && !self.is_quoted(node.span)
            && let Some(value) = read(text)
        {
            node.value = value;
        }
    }

    fn is_quoted(&self, at: Span) -> bool {
        self.source.slice(at).starts_with(['"', '\'', '|', '>'])
    }

    /// Every key once.
    fn settled(&mut self, entries: Entries) -> Entries {
        let (mut settled, mut written) = (Settled::default(), HashSet::new());
        for (key, value) in entries {
            if key.name == "<<" && !self.is_quoted(key.span) {
                self.merge(value, &mut settled);
                continue;
            }
            if !written.insert(key.name.clone()) {
                let said = Diagnostic::warning(
                    "duplicate-key",
                    key.span,
                    "this key is given twice: the last one counts",
                );
                self.diagnostics.push(said.help("keep one of them"));
            }
            settled.put(key, value);
        }
        settled.entries
    }

    fn merge(&mut self, node: Node, settled: &mut Settled) {
        match node.value {
            Value::Map(entries) => {
                let entries = self.settled(entries);
                for (key, value) in entries {
                    settled.put(key, value);
                }
            }
            // The first of a list counts most.
            Value::List(items) => items.into_iter().rev().for_each(|item| self.merge(item, settled)),
            _ => {
                let said = Diagnostic::error("wrong-type", node.span, "`<<` wants a map or a list of maps");
                self.diagnostics.push(said.help("write <<: *anchor, where the anchor names a map"));
            }
        }
    }
}

/// Entries with every key once.
#[derive(Default)]
struct Settled {
    entries: Entries,
    places: HashMap<String, usize>,
}

impl Settled {
    /// Puts a value in place of the one that the key had; two maps of these kinds become one.
    fn put(&mut self, key: Key, value: Node) {
        let place = *self.places.entry(key.name.clone()).or_insert(self.entries.len());
        let Some((old_key, old)) = self.entries.get_mut(place) else {
            return self.entries.push((key, value));
        };
        let is_joined = matches!(key.name.as_str(), "rate_limit" | "metadata");
        match (&mut old.value, value.value) {
            (Value::Map(earlier), Value::Map(later)) if is_joined => {
                let mut joined = Self::default();
                for (key, value) in earlier.drain(..).chain(later) {
                    joined.put(key, value);
                }
                *earlier = joined.entries;
            }
            (old, new) => *old = new,
        }
        (old.span, *old_key) = (value.span, key);
    }
}

fn truth(text: &str) -> Option<bool> {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Some(true),
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Some(false),
        _ => None,
    }
}

/// A whole number as Go reads it: `0x` and `0o` and `0b`, a leading 0 for octal, and underscores.
fn number(text: &str) -> Option<i64> {
    let plain = text.replace('_', "");
    let (sign, digits) = match plain.as_bytes().first()? {
        b'-' => (-1, &plain[1..]),
        b'+' => (1, &plain[1..]),
        _ => (1, plain.as_str()),
    };
    let lower = digits.to_ascii_lowercase();
    let (radix, digits) = match lower.get(..2) {
        Some("0x") => (16, &lower[2..]),
        Some("0o") => (8, &lower[2..]),
        Some("0b") => (2, &lower[2..]),
        _ if lower.len() > 1 && lower.starts_with('0') => (8, &lower[1..]),
        _ => (10, lower.as_str()),
    };
    let is_number = text.starts_with(|first: char| first.is_ascii_digit() || "+-".contains(first))
        && digits.bytes().all(|byte| byte.is_ascii_alphanumeric());
    i64::from_str_radix(digits, radix).ok().filter(|_| is_number).map(|value| sign * value)
}

#[cfg(test)]
mod tests;

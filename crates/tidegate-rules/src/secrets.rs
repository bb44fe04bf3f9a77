//! Where a file has secrets in clear, so that no excerpt of it shows them: what conditions compare secret attributes with,
//! the values that identities are known for, and the values of descriptors.

use crate::reference::IDENTITY;
use crate::source::Span;
use crate::words::is_secret;
use crate::yaml::{Node, Value};

/// All stretches of a file that hold secrets.
pub(crate) fn spans(file: &Node) -> Vec<Span> {
    let mut found = Vec::new();
    look(file, &mut found);
    found
}

fn look(node: &Node, found: &mut Vec<Span>) {
    if let Value::List(items) = &node.value {
        for item in items {
            look(item, found);
        }
    }
    let is_secret_descriptor = node.text_at("key").is_some_and(|(key, _)| is_secret(&key));
    for (key, value) in node.entries() {
        if is_secret(&key.name) && value.get("derive").is_some() {
            identity(value, found);
        } else if is_secret(&key.name) || (is_secret_descriptor && key.name == "value") {
            hide(value, found);
        } else {
            look(value, found);
        }
    }
}

/// The keys of its map, and what stands where a key of its own should.
fn identity(node: &Node, found: &mut Vec<Span>) {
    for (key, value) in node.entries() {
        if IDENTITY.field(&key.name).is_none() {
            found.push(key.span);
        }
        if key.name == "map" {
            found.extend(value.entries().iter().map(|(key, _)| key.span));
        }
    }
}

/// All texts and numbers under a node.
fn hide(node: &Node, found: &mut Vec<Span>) {
    match &node.value {
        Value::Text(_) | Value::Integer(_) => found.push(node.span),
        Value::List(items) => items.iter().for_each(|item| hide(item, found)),
        Value::Map(entries) => entries.iter().for_each(|(_, value)| hide(value, found)),
        Value::Null | Value::Bool(_) => {}
    }
}

#[cfg(test)]
mod tests;

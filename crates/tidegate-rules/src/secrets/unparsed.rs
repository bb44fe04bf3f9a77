//! Secrets of a text that could not be read as YAML: nobody knows what stands where, so all words are hidden but those that
//! rule files are made of.

use std::collections::HashSet;

use crate::reference::FILE;
use crate::shape::{Object, Shape};
use crate::source::{Source, Span};
use crate::words::is_secret;

/// The same text with stars in place of its words, unless it has nothing to do with secrets.
pub(crate) fn unparsed(source: &Source) -> Option<Source> {
    let words = words(source.text());
    let text = |span: &Span| source.slice(*span);
    if !words.iter().any(|word| is_secret(text(word))) {
        return None;
    }
    let mut known = HashSet::new();
    names(&FILE, &mut known);
    let hidden: Vec<Span> =
        words.into_iter().filter(|word| !known.contains(text(word)) && !is_secret(text(word))).collect();
    Some(source.clone().hiding(&hidden))
}

/// Runs of characters that mean nothing to YAML.
fn words(text: &str) -> Vec<Span> {
    let apart = |character: char| character.is_whitespace() || ":,{}[]\"'#".contains(character);
    let start_of = |word: &str| word.as_ptr().addr() - text.as_ptr().addr();
    let span = |word: &str| Span::new(start_of(word), start_of(word) + word.len());
    text.split(apart).filter(|word| !matches!(*word, "" | "-" | "|" | ">" | "?")).map(span).collect()
}

/// The keys of a table and of all tables within it.
fn names(object: &'static Object, found: &mut HashSet<&'static str>) {
    for field in object.keys {
        // A table may hold itself.
        if found.insert(field.name) {
            inside(&field.shape, found);
        }
    }
}

fn inside(shape: &'static Shape, found: &mut HashSet<&'static str>) {
    match shape {
        Shape::Object(object) => names(object, found),
        Shape::List(shape) | Shape::OneOrMore(shape) | Shape::Map(shape) => inside(shape, found),
        Shape::Either(shapes) => shapes.iter().for_each(|shape| inside(shape, found)),
        _ => {}
    }
}

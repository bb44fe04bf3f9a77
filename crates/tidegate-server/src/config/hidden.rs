//! What an excerpt of the configuration file must not show. Secrets belong into files of their own; who writes one here writes it
//! under a key that there is not, in place of a section, or into an address.

use std::collections::HashSet;

use tidegate_rules::shape::{Object, Shape};
use tidegate_rules::yaml::{self, Node, Value};
use tidegate_rules::{Diagnostics, Source, Span};

use super::file::FILE;

/// The same text, as long as it was, with stars in place of what may be a secret.
pub(super) fn without_secrets(source: &Source) -> Source {
    let tree = yaml::parse(source, &mut Diagnostics::default());
    let spans = match tree {
        Some(tree) => {
            let mut found = Vec::new();
            look(&tree, &Shape::Object(&FILE), source, &mut found);
            found
        }
        None => unknown_words(source),
    };
    let hidden = source.clone().hiding(&spans);
    // Comments are in no tree.
    let words: String = hidden.text().split_inclusive(char::is_whitespace).map(in_comment).collect();
    Source::new(source.name(), words)
}

/// An address without who one is there, as long as it was.
pub(super) fn without_login(text: &str) -> String {
    let Some(Span { start, end }) = login(text) else { return text.to_owned() };
    [&text[..start], &"*".repeat(end - start), &text[end..]].concat()
}

/// All that stands before an `@`, but for the scheme.
fn login(text: &str) -> Option<Span> {
    let end = text.rfind('@')?;
    let start = text[..end].find("://").map_or(0, |scheme| scheme + 3);
    (start < end).then_some(Span::new(start, end))
}

fn in_comment(word: &str) -> String {
    if word.contains("://") { without_login(word) } else { word.to_owned() }
}

/// What does not have the form of its table is hidden, and what has, if it looks like an address with a password.
fn look(node: &Node, shape: &Shape, source: &Source, found: &mut Vec<Span>) {
    match (shape, &node.value) {
        (_, Value::Null) => {}
        (Shape::Object(object), Value::Map(entries)) => {
            for (key, value) in entries {
                match object.field(&key.name) {
                    Some(field) => look(value, &field.shape, source, found),
                    None => found.push(value.span),
                }
            }
        }
        (Shape::Map(inner), Value::Map(entries)) => {
            for (key, value) in entries {
                found.extend(login_at(key.span, source));
                look(value, inner, source, found);
            }
        }
        (Shape::List(inner) | Shape::OneOrMore(inner), Value::List(items)) => {
            for item in items {
                look(item, inner, source, found);
            }
        }
        (Shape::OneOrMore(inner), _) => look(node, inner, source, found),
        (Shape::Either(shapes), value) => {
            let is_map = matches!(value, Value::Map(_));
            let fits = |shape: &&Shape| matches!(shape, Shape::Object(_)) == is_map;
            shapes.iter().filter(fits).for_each(|shape| look(node, shape, source, found));
        }
        (Shape::Text, Value::Text(_) | Value::Integer(_) | Value::Bool(_)) => {
            found.extend(login_at(node.span, source));
        }
        _ => found.push(node.span),
    }
}

fn login_at(span: Span, source: &Source) -> Option<Span> {
    login(source.slice(span)).map(|login| span.part(login.start..login.end))
}

/// Of a text that is not YAML nobody knows what stands where: all words but those that such a file is made of.
fn unknown_words(source: &Source) -> Vec<Span> {
    let mut known = HashSet::new();
    names(&Shape::Object(&FILE), &mut known);
    let text = source.text();
    let apart = |character: char| character.is_whitespace() || ":,{}[]\"'#".contains(character);
    let start_of = |word: &str| word.as_ptr().addr() - text.as_ptr().addr();
    let words = text.split(apart).filter(|word| !word.is_empty() && *word != "-" && !known.contains(word));
    words.map(|word| Span::new(start_of(word), start_of(word) + word.len())).collect()
}

fn names(shape: &Shape, found: &mut HashSet<&'static str>) {
    match shape {
        Shape::Object(Object { keys, .. }) => {
            for field in *keys {
                found.insert(field.name);
                names(&field.shape, found);
            }
        }
        Shape::List(inner) | Shape::OneOrMore(inner) | Shape::Map(inner) => names(inner, found),
        Shape::Either(shapes) => shapes.iter().for_each(|shape| names(shape, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        without_secrets(&Source::new("tidegate.yaml", text)).text().to_owned()
    }

    #[test]
    fn no_secret_is_shown_wherever_it_was_written_by_mistake() {
        for text in [
            "admin: { token: SECRET }",
            "resp: { password: SECRET, password_file: x }",
            "http: { tokn: SECRET }",
            "redis:\n  password:\n    - SECRET\n    - { SECRET: 'SECRET' }\n",
            "trust: { peers: [10.0.0.0/8, { from: 10.0.0.0/8, token: SECRET }] }",
            "admin: SECRET",
            "admin: [SECRET]",
            "http: { token_file: { is: SECRET } }",
            "password: SECRET",
            "store: 'rediss//u:SECRET@host'",
            "store: redis:/u:SECRET@h:6379",
            "store: \"redis://u:SECRET with space@h\"",
            "store: redis://u:SEC@RET@h",
            "stores: { api/acme: 'u:SECRET@h', 'redis://u:SECRET@h': api/acme }",
            "redis: { prefix: 'u:SECRET@h' }",
            "store: memory # redis://u:SECRET@h\n",
            "admin: { token: SECRET",
            "resp: { password: \"SECRET }",
            "store: redis://u:SECRET@h\nlisten: [",
        ] {
            let shown = shown(text);
            let bytes = text.replace("SEC@RET", "SECRET-");
            assert!(!shown.contains("SEC") && !shown.contains("RET"), "{shown}");
            assert_eq!(shown.len(), bytes.len(), "every place stays where it is: {shown}");
        }
    }

    #[test]
    fn what_is_no_secret_is_shown() {
        let text =
            "listen: { http: 127.0.0.1:80 }\nstore: redis://host:6379\nadmin: { token_file: /etc/token }\n";
        assert_eq!(shown(text), text);
        assert_eq!(shown("admin: { token: x"), "admin: { *****: *");
    }
}

//! What may be written where: tables of keys, from which come the checks of a file, its JSON Schema and the reference.
//!
//! A table takes a tree and reports everything in it that has the wrong form. What reads the tree after it may then take
//! what it finds and leave out the rest, because somebody was told.

use crate::diagnostic::{Diagnostic, Diagnostics, nearest};
use crate::meant;
use crate::source::Span;
use crate::yaml::{Node, Value};

/// The form of a value.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// Text, or a number or a truth value that is taken as text.
    Text,
    /// A whole number in a range.
    Whole {
        /// The least.
        least: i64,
        /// The most.
        most: i64,
    },
    /// `true` or `false`.
    Truth,
    /// One of a few words.
    Word(&'static [&'static str]),
    /// A list.
    List(&'static Shape),
    /// One, or a list of them.
    OneOrMore(&'static Shape),
    /// A map with any keys.
    Map(&'static Shape),
    /// A map with the keys of a table.
    Object(&'static Object),
    /// One or another form; the first that has the right kind of node is held to.
    Either(&'static [Shape]),
    /// Anything; the reader of that place checks it.
    Anything,
}

/// A table of keys.
#[derive(Debug)]
pub struct Object {
    /// What it describes, with its article: "a rule".
    pub name: &'static str,
    /// What it is for.
    pub doc: &'static str,
    /// Its keys.
    pub keys: &'static [Field],
}

/// A key of a table.
#[derive(Debug)]
pub struct Field {
    /// The key.
    pub name: &'static str,
    /// The form of its value.
    pub shape: Shape,
    /// What it says, for the schema and the reference.
    pub doc: &'static str,
}

/// A key with its value's form and what it says.
pub(crate) const fn field(name: &'static str, shape: Shape, doc: &'static str) -> Field {
    Field { name, shape, doc }
}

impl Object {
    /// The key of that name.
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.keys.iter().find(|field| field.name == name)
    }

    /// Whether values of attributes are keys of what it describes.
    fn holds_secrets(&self) -> bool {
        self.name == crate::reference::IDENTITY.name
    }
}

impl Shape {
    /// What is expected, for messages.
    fn expected(&self) -> String {
        match self {
            Self::Text => "text".to_owned(),
            Self::Whole { least, most } => format!("a whole number from {least} to {most}"),
            Self::Truth => "true or false".to_owned(),
            Self::Word(words) => format!("one of {}", words.join(", ")),
            Self::List(item) => format!("a list, each of them {}", item.expected()),
            Self::OneOrMore(item) => format!("{}, or a list of them", item.expected()),
            Self::Map(Self::Anything) => "a map".to_owned(),
            Self::Map(value) => format!("a map, each value {}", value.expected()),
            Self::Object(object) => format!("a map ({})", object.name),
            Self::Either(shapes) => shapes.iter().map(Self::expected).collect::<Vec<_>>().join(", or "),
            Self::Anything => "a value".to_owned(),
        }
    }

    /// Whether a node is of the right kind, whatever is in it.
    fn takes(&self, value: &Value) -> bool {
        match self {
            Self::Text => matches!(value, Value::Text(_) | Value::Integer(_) | Value::Bool(_)),
            Self::Whole { .. } => matches!(value, Value::Integer(_)),
            Self::Truth => matches!(value, Value::Bool(_)),
            Self::Word(words) => match value {
                Value::Text(_) => true,
                Value::Bool(word) => words.contains(&if *word { "true" } else { "false" }),
                _ => false,
            },
            Self::List(_) => matches!(value, Value::List(_)),
            Self::OneOrMore(item) => matches!(value, Value::List(_)) || item.takes(value),
            Self::Map(_) | Self::Object(_) => matches!(value, Value::Map(_)),
            Self::Either(shapes) => shapes.iter().any(|shape| shape.takes(value)),
            Self::Anything => true,
        }
    }
}

/// Reports everything under a node that has the wrong form. `what` names the place in messages.
pub fn check(node: &Node, shape: &Shape, what: &str, diagnostics: &mut Diagnostics) {
    if !shape.takes(&node.value) {
        let message = format!("`{what}` is {} and should be {}", node.value.kind(), shape.expected());
        let said = Diagnostic::error("wrong-type", head(node), message);
        diagnostics.push(match instead(node, shape, what) {
            Some(help) => said.help(help),
            None => said,
        });
        return;
    }
    match (shape, &node.value) {
        (Shape::Whole { least, most }, Value::Integer(number)) if number < least || number > most => {
            let message = format!("`{what}` is {number} and should be from {least} to {most}");
            diagnostics.push(Diagnostic::error("out-of-range", node.span, message));
        }
        (Shape::Word(words), Value::Text(word)) if !words.contains(&word.as_str()) => {
            diagnostics.push(unknown_word(what, word, node.span, words));
        }
        (Shape::List(item) | Shape::OneOrMore(item), Value::List(items)) => {
            for node in items {
                check(node, item, what, diagnostics);
            }
        }
        (Shape::OneOrMore(item), _) => check(node, item, what, diagnostics),
        (Shape::Map(value), Value::Map(entries)) => {
            for (_, node) in entries {
                check(node, value, what, diagnostics);
            }
        }
        (Shape::Object(object), Value::Map(_)) => keys(node, object, diagnostics),
        (Shape::Either(shapes), value) => {
            if let Some(shape) = shapes.iter().find(|shape| shape.takes(value)) {
                check(node, shape, what, diagnostics);
            }
        }
        _ => {}
    }
}

fn keys(node: &Node, object: &'static Object, diagnostics: &mut Diagnostics) {
    let Value::Map(entries) = &node.value else { return };
    for (key, value) in entries {
        match object.field(&key.name) {
            // A key without a value says nothing, as if it were not there.
            Some(_) if value.value == Value::Null => {}
            Some(field) => check(value, &field.shape, field.name, diagnostics),
            None => diagnostics.push(unknown_key(&key.name, key.span, object)),
        }
    }
}

/// What to write in place of a value of the wrong kind, where people mean one thing by it.
fn instead(node: &Node, shape: &Shape, what: &str) -> Option<&'static str> {
    let is_number = |text: &str| text.parse::<i64>().is_ok();
    match (what, shape, &node.value) {
        ("limit", _, Value::List(_)) => Some("write `limits: [100/s, 5000/h]` for several"),
        ("limits", _, Value::Text(_) | Value::Map(_)) => Some("write `limit` for one, or a list"),
        ("match" | "count", ..) => Some("write { path: /login, method: POST }"),
        (_, Shape::Truth, Value::Text(_)) => Some("write true or false, without quotes"),
        (_, Shape::Whole { .. }, Value::Text(text)) if is_number(text) => {
            Some("write the number without quotes")
        }
        _ => None,
    }
}

/// A word that a key does not take.
fn unknown_word(key: &str, word: &str, span: Span, words: &[&str]) -> Diagnostic {
    let unknown = Diagnostic::error("unknown-word", span, format!("`{key}` has no value `{word}`"));
    let help = || format!("write one of {}", words.join(", "));
    let unknown = unknown.help(meant::instead_of_word(key, word).map_or_else(help, str::to_owned));
    match meant::word(key, word).or_else(|| nearest(word, words.iter().copied())) {
        Some(meant) => unknown.label(format!("did you mean `{meant}`?")),
        None => unknown,
    }
}

/// A key that a table does not have.
pub(crate) fn unknown_key(name: &str, span: Span, object: &Object) -> Diagnostic {
    let known = || object.keys.iter().map(|field| field.name);
    let keys = || format!("the keys of {} are {}", object.name, known().collect::<Vec<_>>().join(", "));
    let help = meant::instead_of_key(object.name, name).unwrap_or_else(keys);
    // A value of a secret attribute may stand there by mistake, one level too high.
    let shown = if object.holds_secrets() { "of this name".to_owned() } else { format!("`{name}`") };
    let message = format!("{} has no key {shown}", object.name);
    let unknown = Diagnostic::error("unknown-key", span, message).help(help);
    let meant = meant::key(object.name, name);
    match meant.or_else(|| nearest(name, known())).or_else(|| names_file(name, object)) {
        Some(key) => unknown.label(format!("did you mean `{key}`?")),
        None => unknown,
    }
}

/// The key that names the file of what was written itself: `token_file` for `token`.
fn names_file(name: &str, object: &Object) -> Option<&'static str> {
    let files =
        || object.keys.iter().filter_map(|field| Some((field.name.strip_suffix("_file")?, field.name)));
    let meant = nearest(name, files().map(|(of, _)| of))?;
    files().find(|(of, _)| *of == meant).map(|(_, key)| key)
}

/// The first line of a node is enough to point at.
pub(crate) fn head(node: &Node) -> Span {
    match &node.value {
        Value::List(items) if !items.is_empty() => {
            let (start, first) = (node.span.start, &items[0]);
            if first.span.start > start { Span::new(start, first.span.start) } else { head(first) }
        }
        Value::Map(entries) if !entries.is_empty() => entries[0].0.span,
        _ => node.span,
    }
}

//! YAML as a tree that remembers where everything stood.
//!
//! What it takes is bounded: the size of a text, how deep it nests, how many nodes it has after its aliases are resolved.
//! What it cannot read it says with a place, and a key that is given twice is an error. Of a rule file, the top and
//! the `descriptors` are left to their own reader, `tree_yaml`, because envoyproxy/ratelimit takes more.

mod hint;

use std::collections::{BTreeMap, HashSet};

use granit_parser::{Event, Parser, ScalarStyle};

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::source::{Source, Span};

/// The longest text.
pub const MAX_BYTES: usize = 4 << 20;

/// The most nodes, aliases counted as what they stand for.
pub const MAX_NODES: usize = 200_000;

/// The deepest nesting.
pub const MAX_DEPTH: usize = 64;

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What it is.
    pub value: Value,
    /// Where it stands.
    pub span: Span,
}

/// What a node is. Plain scalars are read as YAML's core schema says; quoted ones are always text.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing, or `null`, or `~`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// Any other text, numbers with a fraction included: what they mean is for their reader to say.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// Keys and values, in the order in which they were written.
    Map(Vec<(Key, Node)>),
}

/// A key of a map and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The key.
    pub name: String,
    /// Where it stands.
    pub span: Span,
}

impl Value {
    /// What it is, in a word, for messages.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Bool(_) => "true or false",
            Self::Integer(_) => "a number",
            Self::Text(_) => "text",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
        }
    }
}

impl Node {
    /// The value under a key, if this is a map that has it.
    pub fn get(&self, name: &str) -> Option<&Self> {
        match &self.value {
            Value::Map(entries) => entries.iter().find(|(key, _)| key.name == name).map(|(_, value)| value),
            _ => None,
        }
    }
}

/// Reads one document; `None` if it is not YAML, and the diagnostics say why. An empty text is nothing.
pub fn parse(source: &Source, diagnostics: &mut Diagnostics) -> Option<Node> {
    read(source, Keys::Once, diagnostics)
}

/// Reads a rule file: see [`Keys::SettledInTrees`].
pub(crate) fn parse_rules(source: &Source, diagnostics: &mut Diagnostics) -> Option<Node> {
    read(source, Keys::SettledInTrees, diagnostics)
}

/// What becomes of a key that is given twice.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keys {
    /// It is an error.
    Once,
    /// At the top and under `descriptors`, all of them are kept, and so are the spellings of truth values.
    SettledInTrees,
}

fn read(source: &Source, keys: Keys, diagnostics: &mut Diagnostics) -> Option<Node> {
    let whole = Span::new(0, source.text().len());
    if source.text().len() > MAX_BYTES {
        let message = format!("the file has {} bytes and the most is {MAX_BYTES}", source.text().len());
        diagnostics.push(
            Diagnostic::error("file-too-large", Span::new(0, 0), message).help("split it into several files"),
        );
        return None;
    }
    let mut builder = Builder {
        keys,
        text: source.text(),
        open: Vec::new(),
        anchors: BTreeMap::new(),
        nodes: 0,
        document: None,
        diagnostics,
    };
    for event in Parser::new_from_str(source.text()) {
        match event {
            Ok((event, span)) => {
                let span = span.byte_range().map_or(whole, |range| Span::new(range.start, range.end));
                builder.event(event, span).ok()?;
            }
            Err(error) => {
                let at = error.marker().byte_offset().unwrap_or(whole.end);
                builder.diagnostics.push(hint::diagnose(source, at, &error.info()));
                return None;
            }
        }
    }
    Some(builder.document.unwrap_or(Node { value: Value::Null, span: whole }))
}

/// A collection that is being read.
struct Open {
    span: Span,
    anchor: usize,
    content: Content,
}

enum Content {
    List(Vec<Node>),
    Map { entries: Vec<(Key, Node)>, key: Option<Key>, names: HashSet<String> },
}

/// Builds the tree from the parser's events.
struct Builder<'a> {
    keys: Keys,
    text: &'a str,
    open: Vec<Open>,
    anchors: BTreeMap<usize, Node>,
    nodes: usize,
    document: Option<Node>,
    diagnostics: &'a mut Diagnostics,
}

/// Reading cannot go on; the diagnostics say why.
struct Stop;

impl Builder<'_> {
    fn event(&mut self, event: Event<'_>, span: Span) -> Result<(), Stop> {
        match event {
            Event::Scalar(text, _, anchor, Some(tag)) if tag.handle() == "!" => {
                let (name, text) = (format!("!{}", tag.suffix()), text.into_owned());
                self.tagged(&name, Node { value: Value::Text(text), span }, anchor)
            }
            Event::Scalar(text, style, anchor, _) => {
                let value = match style {
                    // There, `value: True` is the text, and `shadow_mode: True` is told from it by its key.
                    ScalarStyle::Plain if !(self.is_in_tree() && is_truth(&text)) => plain(&text),
                    _ => Value::Text(text.into_owned()),
                };
                self.add(Node { value, span }, anchor)
            }
            Event::SequenceStart(_, anchor, _) => self.start(span, anchor, Content::List(Vec::new())),
            Event::MappingStart(_, anchor, _) => self.start(
                span,
                anchor,
                Content::Map { entries: Vec::new(), key: None, names: HashSet::new() },
            ),
            Event::SequenceEnd | Event::MappingEnd => self.end(span),
            Event::Alias(anchor) => self.alias(anchor, span),
            Event::DocumentStart(..) if self.document.is_some() => self.stop(
                "second-document",
                span,
                "a file holds one document",
                "put the second one into a file of its own",
            ),
            _ => Ok(()),
        }
    }

    /// `!US` is a tag of YAML, and without it nothing would be left of the value.
    fn tagged(&mut self, name: &str, node: Node, anchor: usize) -> Result<(), Stop> {
        let start = self.text.get(..node.span.start).and_then(|before| before.rfind(name));
        let span = start.map_or(node.span, |start| Span::new(start, start + name.len()));
        let message = "a value that begins with `!` is a tag of YAML";
        let said = Diagnostic::error("tag", span, message);
        self.diagnostics.push(said.help("write { not: … } for the opposite, or put quotes around the text"));
        self.add(Node { span, ..node }, anchor)
    }

    /// Whether this is part of a tree of descriptors.
    fn is_in_tree(&self) -> bool {
        let first = self.open.first().map(|open| &open.content);
        self.keys == Keys::SettledInTrees
            && matches!(first, Some(Content::Map { key: Some(key), .. }) if key.name == "descriptors")
    }

    fn start(&mut self, span: Span, anchor: usize, content: Content) -> Result<(), Stop> {
        if self.open.len() >= MAX_DEPTH {
            let message = format!("this nests deeper than {MAX_DEPTH} levels");
            return self.stop(
                "too-deep",
                span,
                &message,
                "rules need a handful of levels; is the indentation right?",
            );
        }
        if let Some(Open { content: Content::Map { key: None, .. }, .. }) = self.open.last() {
            return self.stop("key", span, "a key must be text", "write it as one word, or in quotes");
        }
        self.open.push(Open { span, anchor, content });
        Ok(())
    }

    fn end(&mut self, span: Span) -> Result<(), Stop> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        let value = match open.content {
            Content::List(items) => Value::List(items),
            Content::Map { entries, .. } => Value::Map(entries),
        };
        self.add(Node { value, span: Span::new(open.span.start, span.end.max(open.span.end)) }, open.anchor)
    }

    fn alias(&mut self, anchor: usize, span: Span) -> Result<(), Stop> {
        let Some(node) = self.anchors.get(&anchor).cloned() else {
            return self.stop("alias", span, "this alias stands inside what it names", "write the value out");
        };
        self.nodes += size(&node);
        self.add(Node { span, ..node }, 0)
    }

    /// Puts a node where it belongs: the document, a list, a map's key or its value.
    fn add(&mut self, node: Node, anchor: usize) -> Result<(), Stop> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            let message =
                format!("the file has more than {MAX_NODES} values, aliases counted as what they stand for");
            return self.stop("too-many-values", node.span, &message, "split it into several files");
        }
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
        match self.open.last_mut().map(|open| &mut open.content) {
            None => self.document = Some(node),
            Some(Content::List(items)) => items.push(node),
            Some(Content::Map { entries, key, .. }) => match key.take() {
                Some(key) => entries.push((key, node)),
                None => return self.key(node),
            },
        }
        Ok(())
    }

    fn key(&mut self, node: Node) -> Result<(), Stop> {
        let name = match node.value {
            Value::Text(text) => text,
            Value::Integer(number) => number.to_string(),
            Value::Bool(word) => word.to_string(),
            _ => {
                return self.stop(
                    "key",
                    node.span,
                    "a key must be text",
                    "write it as one word, or in quotes",
                );
            }
        };
        let is_top = self.keys == Keys::SettledInTrees && self.open.len() == 1;
        let is_settled_later = is_top || self.is_in_tree();
        let Some(Open { content: Content::Map { key, names, .. }, .. }) = self.open.last_mut() else {
            return Ok(());
        };
        if !names.insert(name.clone()) && !is_settled_later {
            self.diagnostics.push(duplicate(node.span));
        }
        *key = Some(Key { name, span: node.span });
        Ok(())
    }

    fn stop(&mut self, code: &'static str, span: Span, message: &str, help: &str) -> Result<(), Stop> {
        self.diagnostics.push(Diagnostic::error(code, span, message).help(help));
        Err(Stop)
    }
}

/// A key that is given twice. It is not shown: in a map of identities it may be a secret.
pub(crate) fn duplicate(span: Span) -> Diagnostic {
    Diagnostic::error("duplicate-key", span, "this key is given twice").help("keep one of them")
}

fn is_truth(text: &str) -> bool {
    text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false")
}

/// A plain scalar by YAML's core schema.
fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        // Only as a number would be written: what is compared as text, such as 007, must keep its spelling.
        _ => match text.parse::<i64>() {
            Ok(number) if number.to_string() == text => Value::Integer(number),
            _ => Value::Text(text.to_owned()),
        },
    }
}

fn size(node: &Node) -> usize {
    match &node.value {
        Value::List(items) => items.iter().map(size).sum::<usize>() + 1,
        Value::Map(entries) => entries.iter().map(|(_, value)| size(value) + 1).sum::<usize>() + 1,
        _ => 1,
    }
}

#[cfg(test)]
mod tests;

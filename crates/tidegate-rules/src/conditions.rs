//! `match` and `count` as written become conditions.

mod captures;
mod paths;

use ipnet::IpNet;

use crate::address;
use crate::capture::Pattern;
use crate::condition::{Condition, Test, groups_of_every_match, whole_value_regex};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::glob::Glob;
use crate::name::{AttributeId, Names};
use crate::number::Numbers;
use crate::reference::TEST;
use crate::shape::{self, Shape, head};
use crate::source::Span;
use crate::words::{is_secret, shown};
use crate::yaml::{Node, Value};

pub(crate) use captures::{Captures, Named};
use paths::Form;

/// The longest name of an attribute.
const MAX_NAME: usize = 128;

/// Reads conditions, interning the names of attributes and collecting what is wrong.
pub(crate) struct Conditions<'a> {
    pub(crate) names: &'a mut Names,
    pub(crate) diagnostics: &'a mut Diagnostics,
    pub(crate) captures: Captures,
    /// Every place that asks about an attribute.
    pub(crate) asked: Vec<(AttributeId, Span)>,
}

impl<'a> Conditions<'a> {
    pub(crate) fn new(names: &'a mut Names, diagnostics: &'a mut Diagnostics) -> Self {
        Self { names, diagnostics, captures: Captures::default(), asked: Vec::new() }
    }
}

impl Conditions<'_> {
    /// All entries of a map must hold.
    pub(crate) fn all(&mut self, node: &Node) -> Condition {
        let parts = node.entries().iter().filter_map(|(key, value)| self.entry(&key.name, key.span, value));
        let mut parts: Vec<Condition> = parts.collect();
        if parts.len() == 1 { parts.remove(0) } else { Condition::All(parts) }
    }

    fn entry(&mut self, name: &str, at: Span, value: &Node) -> Option<Condition> {
        match name {
            "not" => {
                let kept = self.captures.len();
                let node = self.map(value, "not")?;
                let inner = self.all(node);
                self.captures.drop_since(kept);
                Some(Condition::Not(Box::new(inner)))
            }
            "any" | "all" => self.branches(name, value),
            "headers" => self.prefixed("header.", value),
            "query" => self.prefixed("query.", value),
            _ => {
                let attribute = self.attribute(name, at)?;
                self.value(attribute, name, value)
            }
        }
    }

    fn map<'n>(&mut self, node: &'n Node, what: &str) -> Option<&'n Node> {
        if matches!(node.value, Value::Map(_)) {
            return Some(node);
        }
        let message = format!("`{what}` is {} and should be a map of attributes", node.value.kind());
        self.diagnostics.push(
            Diagnostic::error("wrong-type", head(node), message).help("write { method: POST, plan: free }"),
        );
        None
    }

    fn branches(&mut self, name: &str, value: &Node) -> Option<Condition> {
        let Value::List(items) = &value.value else {
            let message = format!("`{name}` is {} and should be a list of conditions", value.value.kind());
            self.diagnostics.push(
                Diagnostic::error("wrong-type", head(value), message)
                    .help("write [{ plan: free }, { plan: trial }]"),
            );
            return None;
        };
        let (mut branches, mut starts) = (Vec::new(), Vec::new());
        for item in items {
            let node = self.map(item, name)?;
            let start = self.captures.len();
            let branch = self.all(node);
            if name == "any" {
                self.captures.put_in_branch(start, &branch);
            }
            starts.push(start);
            branches.push(branch);
        }
        if name == "any" {
            self.captures.settle_alternatives(&starts);
            return Some(Condition::Any(branches));
        }
        Some(Condition::All(branches))
    }

    fn prefixed(&mut self, prefix: &str, value: &Node) -> Option<Condition> {
        let node = self.map(value, prefix.trim_end_matches('.'))?;
        let parts = node.entries().iter().filter_map(|(key, value)| {
            let name = format!("{prefix}{}", key.name);
            let attribute = self.attribute(&name, key.span)?;
            self.value(attribute, &name, value)
        });
        Some(Condition::All(parts.collect()))
    }

    /// The number of an attribute's name.
    pub(crate) fn attribute(&mut self, name: &str, at: Span) -> Option<AttributeId> {
        let proper = !name.is_empty()
            && name.len() <= MAX_NAME
            && name.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"'`{}[],".contains(&byte));
        if !proper {
            let message = format!("`{name}` is no name of an attribute");
            self.diagnostics.push(
                Diagnostic::error("attribute", at, message)
                    .help(format!("names have 1 to {MAX_NAME} letters, digits and signs such as . _ : / -")),
            );
            return None;
        }
        let name = canonical(name);
        let id = self.names.intern(&name);
        match id {
            Some(id) => self.asked.push((id, at)),
            None => self.diagnostics.push(Diagnostic::error(
                "attribute",
                at,
                "the domain uses too many attributes",
            )),
        }
        id
    }

    fn value(&mut self, attribute: AttributeId, name: &str, value: &Node) -> Option<Condition> {
        match &value.value {
            Value::Map(_) => {
                let before = self.diagnostics.len();
                shape::check(value, &Shape::Object(&TEST), name, self.diagnostics);
                if self.diagnostics.len() > before {
                    return None;
                }
                self.long(attribute, name, value)
            }
            Value::Null => {
                let message = format!("`{name}` has no value to compare with");
                self.diagnostics.push(
                    Diagnostic::error("condition", value.span, message)
                        .help(format!("write {name}: {{ absent: true }} for requests without it")),
                );
                None
            }
            Value::List(items) => self.list(attribute, name, items),
            _ => {
                let text = value.text()?;
                let test = self.plain(attribute, name, &text, value.inner_span(&text))?;
                Some(Condition::Is(attribute, test))
            }
        }
    }

    /// Any of the values; exact ones together, so that they can be looked up.
    fn list(&mut self, attribute: AttributeId, name: &str, items: &[Node]) -> Option<Condition> {
        let (mut exact, mut networks, mut others) = (Vec::new(), Vec::new(), Vec::new());
        let mut starts = Vec::new();
        for item in items {
            starts.push(self.captures.len());
            let Some(text) = item.text() else {
                others.push(self.listed(attribute, name, item)?);
                continue;
            };
            match self.plain(attribute, name, &text, item.inner_span(&text))? {
                Test::OneOf(values) => exact.extend(values),
                Test::Cidr(nets) => networks.extend(nets),
                other => others.push(Condition::Is(attribute, other)),
            }
        }
        self.captures.settle_alternatives(&starts);
        if !exact.is_empty() {
            others.push(Condition::Is(attribute, Test::OneOf(exact)));
        }
        if !networks.is_empty() {
            others.push(Condition::Is(attribute, Test::Cidr(networks)));
        }
        Some(if others.len() == 1 { others.remove(0) } else { Condition::Any(others) })
    }

    /// A test in the long form among the values of a list.
    fn listed(&mut self, attribute: AttributeId, name: &str, item: &Node) -> Option<Condition> {
        if matches!(item.value, Value::Map(_)) {
            return self.value(attribute, name, item);
        }
        let message = format!("a value of `{name}` is {} and should be text or a test", item.value.kind());
        self.diagnostics.push(Diagnostic::error("wrong-type", head(item), message));
        None
    }

    /// What a plain text means depends on the attribute: a path is a glob, an address a network.
    fn plain(&mut self, attribute: AttributeId, name: &str, text: &str, at: Span) -> Option<Test> {
        let starts = text.trim_start();
        match name {
            "path" => {
                self.look_at_path(name, text, at, Form::Glob);
                self.glob(attribute, text, at)
            }
            "host" => self.glob(attribute, text, at),
            "ip" | "remote_address" => self.cidr(name, text, at).map(|network| Test::Cidr(vec![network])),
            "method" => Some(exact(&text.to_uppercase())),
            _ if starts.starts_with(['<', '>']) => self.number(name, text, at),
            _ => {
                if let Some(rest) = starts.strip_prefix('!') {
                    let (text, rest) = (shown(name, text), shown(name, rest));
                    let message = format!("the ! in `{text}` is taken literally");
                    let help = format!("write {name}: {{ not: {rest} }} for all other values");
                    self.diagnostics.push(Diagnostic::warning("literal-not", at, message).help(help));
                }
                if text.contains('*') {
                    let text = shown(name, text);
                    self.diagnostics.push(
                        Diagnostic::warning(
                            "literal-star",
                            at,
                            format!("the * in `{text}` is taken literally"),
                        )
                        .help(format!("write {name}: {{ glob: \"{text}\" }} if it stands for anything")),
                    );
                }
                Some(exact(text))
            }
        }
    }

    fn long(&mut self, attribute: AttributeId, name: &str, node: &Node) -> Option<Condition> {
        let mut parts = Vec::new();
        for (key, value) in node.entries() {
            let text = || value.text().map(|text| (value.inner_span(&text), text));
            let is = |test| Condition::Is(attribute, test);
            self.look_at_paths(name, &key.name, value);
            let part = match key.name.as_str() {
                "exact" if name == "method" => is(exact(&text()?.1.to_uppercase())),
                "exact" => is(exact(&text()?.1)),
                "in" => {
                    let texts = value.items().iter().filter_map(Node::text);
                    let texts = texts.map(|text| if name == "method" { text.to_uppercase() } else { text });
                    is(Test::OneOf(texts.map(String::into_boxed_str).collect()))
                }
                "glob" => text().and_then(|(at, text)| self.glob(attribute, &text, at)).map(is)?,
                "prefix" => is(Test::Prefix(text()?.1.into_boxed_str())),
                "regex" => text().and_then(|(at, text)| self.regex(attribute, &text, at)).map(is)?,
                "number" => text().and_then(|(at, text)| self.number(name, &text, at)).map(is)?,
                "cidr" => {
                    let texts = value.items().iter().filter_map(|item| Some((item.text()?, item)));
                    let networks: Option<Vec<IpNet>> =
                        texts.map(|(text, item)| self.cidr(name, &text, item.inner_span(&text))).collect();
                    is(Test::Cidr(networks?))
                }
                "present" => is(if value.truth()? { Test::Present } else { Test::Absent }),
                "absent" => is(if value.truth()? { Test::Absent } else { Test::Present }),
                "not" => {
                    let kept = self.captures.len();
                    let inner = self.value(attribute, name, value)?;
                    self.captures.drop_since(kept);
                    Condition::Not(Box::new(inner))
                }
                _ => return None,
            };
            parts.push(part);
        }
        Some(if parts.len() == 1 { parts.remove(0) } else { Condition::All(parts) })
    }

    /// Warns of paths of a test in the long form that match nothing.
    fn look_at_paths(&mut self, name: &str, test: &str, value: &Node) {
        let form = match test {
            "glob" => Form::Glob,
            "exact" | "in" => Form::Exact,
            "prefix" => Form::Prefix,
            _ => return,
        };
        for item in value.items() {
            let text = item.text().unwrap_or_default();
            self.look_at_path(name, &text, item.inner_span(&text), form);
        }
    }

    fn look_at_path(&mut self, name: &str, text: &str, at: Span, form: Form) {
        if name == "path" && !text.is_empty() {
            self.diagnostics.extend(paths::odd(text, at, form));
        }
    }

    fn glob(&mut self, attribute: AttributeId, text: &str, at: Span) -> Option<Test> {
        match Glob::parse(text) {
            Ok(glob) if glob.is_literal() => Some(exact(text)),
            Ok(glob) => {
                for (index, name) in glob.capture_names().enumerate() {
                    self.captures.add(name, attribute, (Pattern::Glob(glob.clone(), index), true));
                }
                Some(Test::Glob(glob))
            }
            Err(error) => {
                let start = at.start + error.at.start;
                let span = Span::new(start, (at.start + error.at.end).max(start + 1));
                self.diagnostics.push(Diagnostic::error("glob", span, error.message));
                None
            }
        }
    }

    fn regex(&mut self, attribute: AttributeId, text: &str, at: Span) -> Option<Test> {
        match whole_value_regex(text) {
            Ok(regex) => {
                let always = groups_of_every_match(text);
                for (group, name) in regex.capture_names().enumerate() {
                    if let Some(name) = name {
                        let pattern = Pattern::Regex(regex.clone(), group);
                        self.captures.add(name, attribute, (pattern, always.contains(name)));
                    }
                }
                Some(Test::Regex(regex))
            }
            Err(message) => {
                self.diagnostics.push(Diagnostic::error("regex", at, message));
                None
            }
        }
    }

    fn number(&mut self, name: &str, text: &str, at: Span) -> Option<Test> {
        match Numbers::parse(text) {
            Ok(numbers) => Some(Test::Number(numbers)),
            Err(message) => {
                let message = if is_secret(name) { "this is no number".to_owned() } else { message };
                self.diagnostics.push(Diagnostic::error("number", at, message));
                None
            }
        }
    }

    fn cidr(&mut self, name: &str, text: &str, at: Span) -> Option<IpNet> {
        let network = text.parse::<IpNet>().ok().map(|network| network.trunc());
        let network = network.or_else(|| address::parse(text).map(IpNet::from));
        if network.is_none() {
            let message = format!("`{}` is no address and no network", shown(name, text));
            self.diagnostics.push(
                Diagnostic::error("cidr", at, message)
                    .help("write 203.0.113.7 or 10.0.0.0/8 or 2001:db8::/32"),
            );
        }
        network
    }
}

/// Names of headers have no case; an address has one name.
pub(crate) fn canonical(name: &str) -> String {
    match name {
        "remote_address" => "ip".to_owned(),
        _ if name.get(..7).is_some_and(|begins| begins.eq_ignore_ascii_case("header.")) => {
            name.to_ascii_lowercase()
        }
        _ => name.to_owned(),
    }
}

/// Whether a condition asks for an attribute anywhere.
pub(crate) fn mentions(condition: &Condition, attribute: AttributeId) -> bool {
    match condition {
        Condition::All(parts) | Condition::Any(parts) => parts.iter().any(|part| mentions(part, attribute)),
        Condition::Not(part) => mentions(part, attribute),
        Condition::Is(asked, _) => *asked == attribute,
    }
}

fn exact(text: &str) -> Test {
    Test::OneOf(vec![text.into()])
}

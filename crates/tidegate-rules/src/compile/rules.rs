//! `rules`: each as written becomes a rule as meant.

use std::collections::HashMap;
use std::sync::Arc;

use crate::condition::Condition;
use crate::conditions::{Captures, Conditions, mentions};
use crate::diagnostic::Diagnostic;
use crate::home::Home;
use crate::rule::{Action, By, Mode, Origin, Refusal, Rule, Scope};
use crate::shape::head;
use crate::source::Span;
use crate::yaml::{Node, Value};

use super::attributes::Asked;
use super::domain::Builder;

/// A rule and what is settled when all are there.
pub(super) struct Draft {
    pub(super) rule: Rule,
    pub(super) group: Option<String>,
    pub(super) file: usize,
    pub(super) span: Span,
}

/// What the matcher looks for: what is held to the rule or what is counted.
pub(super) fn found_by(rule: &Rule) -> Condition {
    match &rule.counts {
        Some(counts) => Condition::Any(vec![rule.applies.clone(), counts.clone()]),
        None => rule.applies.clone(),
    }
}

pub(super) fn read(builder: &mut Builder<'_>, file: usize, node: &Node) {
    let defaults = node.get("defaults");
    for rule in node.get("rules").map(Node::items).unwrap_or_default() {
        if matches!(rule.value, Value::Map(_)) {
            let written = Written { rule, defaults, file };
            if let Some(draft) = written.compile(builder) {
                builder.drafts.push(draft);
            }
        }
    }
}

/// A rule as written, with what its file has for all.
pub(super) struct Written<'n> {
    pub(super) rule: &'n Node,
    defaults: Option<&'n Node>,
    pub(super) file: usize,
}

impl<'n> Written<'n> {
    pub(super) fn get(&self, name: &str) -> Option<&'n Node> {
        let present = |node: &&Node| node.value != Value::Null;
        self.rule.get(name).filter(present).or_else(|| self.defaults?.get(name).filter(present))
    }

    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.get(name).and_then(Node::text)
    }

    pub(super) fn say(&self, builder: &mut Builder<'_>, diagnostic: Diagnostic) {
        builder.say(self.file, diagnostic);
    }

    fn compile(&self, builder: &mut Builder<'_>) -> Option<Draft> {
        let (name, span) = self.name(builder)?;
        let origin = self.origin(builder, span);
        let action = self.text("action").and_then(|word| Action::from_word(&word)).unwrap_or_default();
        let (applies, captures) = self.condition(builder, "match");
        let counts = self.rule.get("count").map(|_| self.condition(builder, "count"));
        let (counts, counted) = counts.unzip();
        let by = self.by(builder, &captures.beside(counted.unwrap_or_default()));
        let scope = self.scope(builder);
        let limits = self.limits(builder, &name, action);
        let (dimension, subject) = about(builder, &by, &applies, scope);
        let rule = Rule {
            identity: self.text("was").unwrap_or_else(|| name.clone()).into(),
            name: name.into(),
            description: self.text("description").map(Into::into),
            origin,
            applies,
            counts,
            by,
            scope,
            limits,
            cost: self.cost(builder),
            class: self.class(),
            tier_classes: self.tier_classes(builder),
            mode: self.text("mode").and_then(|word| Mode::from_word(&word)).unwrap_or_default(),
            switched_from: None,
            action,
            refusal: self.refusal(),
            group: None,
            rank: 0,
            priority: self
                .get("priority")
                .and_then(Node::whole)
                .and_then(|value| i32::try_from(value).ok())
                .unwrap_or(0),
            schedule: self.schedule(builder),
            expires_at: self.expires_at(builder),
            count_refused: self.get("count_refused").and_then(Node::truth).unwrap_or(false),
            block_for: self.block_for(builder),
            atomic: self.text("atomic").is_some(),
            dimension,
            subject,
            tree: None,
            home: Home::default(),
            plain: None,
        };
        Some(Draft { rule, group: self.text("group"), file: self.file, span })
    }

    fn name(&self, builder: &mut Builder<'_>) -> Option<(String, Span)> {
        let Some((name, at)) = self.rule.text_at("name") else {
            let missing = Diagnostic::error("no-name", head(self.rule), "the rule has no `name`");
            self.say(builder, missing.help("write `name: per-user`: answers, metrics and counters carry it"));
            return None;
        };
        self.check_name(builder, &name, at);
        if let Some((was, at)) = self.rule.text_at("was") {
            self.check_name(builder, &was, at);
        }
        Some((name, at.span))
    }

    fn check_name(&self, builder: &mut Builder<'_>, name: &str, at: &Node) {
        let proper = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:/-".contains(&byte);
        if name.is_empty() || name.len() > 64 || !name.bytes().all(proper) {
            let message = format!("`{name}` is no name of a rule");
            let said = Diagnostic::error("name", at.span, message);
            self.say(builder, said.help("names have 1 to 64 letters, digits and _ . : / -"));
        }
    }

    fn origin(&self, builder: &Builder<'_>, span: Span) -> Origin {
        let source = &builder.files[self.file].source;
        Origin {
            file: Arc::from(source.name()),
            line: source.line_of(span.start),
            span,
            whole: self.rule.span,
        }
    }

    fn condition(&self, builder: &mut Builder<'_>, name: &str) -> (Condition, Captures) {
        let Some(node) = self.rule.get(name).filter(|node| matches!(node.value, Value::Map(_))) else {
            return (Condition::All(Vec::new()), Captures::default());
        };
        let diagnostics = &mut builder.files[self.file].diagnostics;
        let mut reader = Conditions::new(&mut builder.names, diagnostics);
        let condition = reader.all(node);
        let Conditions { captures, asked, .. } = reader;
        let asked = asked.into_iter().map(|(attribute, at)| Asked { attribute, file: self.file, at });
        builder.asked.extend(asked);
        (condition, captures)
    }

    fn scope(&self, builder: &mut Builder<'_>) -> Scope {
        let default = if builder.tenant.is_some() { Scope::Tenant } else { Scope::Global };
        let scope = self.text("scope").and_then(|word| Scope::from_word(&word)).unwrap_or(default);
        if scope == Scope::Tenant && builder.tenant.is_none() {
            let at = self.get("scope").map_or_else(|| head(self.rule), |node| node.span);
            let said = Diagnostic::error("scope", at, "the domain has no tenant");
            self.say(
                builder,
                said.help("write `tenant: org` at the top of the file, or leave the scope out"),
            );
        }
        scope
    }

    fn refusal(&self) -> Refusal {
        Refusal {
            status: self.get("status").and_then(Node::whole).and_then(|status| u16::try_from(status).ok()),
            title: self.text("title").map(Into::into),
            message: self.text("message").map(Into::into),
        }
    }
}

/// What a refusal names: the dimension that is counted by, and the subject of the reason's code.
fn about(builder: &Builder<'_>, by: &[By], applies: &Condition, scope: Scope) -> (Box<str>, Box<str>) {
    let is_endpoint = ["path", "method"]
        .iter()
        .any(|name| builder.names.get(name).is_some_and(|attribute| mentions(applies, attribute)));
    let dimension: Box<str> = match by.first() {
        Some(By::Attribute(attribute)) if Some(*attribute) == builder.tenant => "tenant".into(),
        Some(By::Attribute(attribute) | By::Address(attribute)) => builder.names.name(*attribute).into(),
        Some(By::Capture { name, .. }) => name.clone(),
        None if is_endpoint => "endpoint".into(),
        None if scope == Scope::Tenant => "tenant".into(),
        None => "global".into(),
    };
    let subject = if is_endpoint { "endpoint".into() } else { dimension.clone() };
    (dimension, subject)
}

/// Names are unique, and no rule takes over the counters of another.
pub(super) fn check_names(builder: &mut Builder<'_>) {
    let mut seen: HashMap<String, String> = HashMap::new();
    let mut said = Vec::new();
    for draft in &builder.drafts {
        let Origin { file, line, .. } = &draft.rule.origin;
        let place = format!("{file}:{line}");
        let identities = [&draft.rule.name, &draft.rule.identity];
        for name in &identities[..if draft.rule.name == draft.rule.identity { 1 } else { 2 }] {
            if let Some(other) = seen.insert(name.to_string(), place.clone()) {
                let message = format!("a rule of this domain is called `{name}` already: {other}");
                let help = "names are unique in a domain, because counters belong to them";
                said.push((draft.file, Diagnostic::error("duplicate-name", draft.span, message).help(help)));
            }
        }
    }
    for (file, diagnostic) in said {
        builder.say(file, diagnostic);
    }
}

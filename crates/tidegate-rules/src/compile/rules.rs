//! `rules`: each as written becomes a rule as meant.

use std::collections::HashMap;
use std::sync::Arc;

use tidegate_core::{Algorithm, Limit, Timestamp, Window};

use crate::condition::Condition;
use crate::conditions::{Captured, Conditions, canonical, mentions};
use crate::diagnostic::Diagnostic;
use crate::glob::Glob;
use crate::notation;
use crate::rule::{Action, By, Class, Cost, Limits, Mode, Origin, Refusal, Rule, RuleLimit, Scope};
use crate::schedule::Schedule;
use crate::shape::head;
use crate::yaml::{Node, Value};
use crate::{limits, source::Span};

use super::domain::Builder;

/// Adds something to a schedule.
type Add = fn(&mut Schedule, &str) -> Result<(), String>;

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
struct Written<'n> {
    rule: &'n Node,
    defaults: Option<&'n Node>,
    file: usize,
}

impl<'n> Written<'n> {
    fn get(&self, name: &str) -> Option<&'n Node> {
        let present = |node: &&Node| node.value != Value::Null;
        self.rule.get(name).filter(present).or_else(|| self.defaults?.get(name).filter(present))
    }

    fn text(&self, name: &str) -> Option<String> {
        self.get(name).and_then(Node::text)
    }

    fn say(&self, builder: &mut Builder<'_>, diagnostic: Diagnostic) {
        builder.say(self.file, diagnostic);
    }

    fn compile(&self, builder: &mut Builder<'_>) -> Option<Draft> {
        let (name, span) = self.name(builder)?;
        let origin = self.origin(builder, span);
        let action = self.text("action").and_then(|word| Action::from_word(&word)).unwrap_or_default();
        let (applies, captures) = self.condition(builder, "match");
        let counts = self.rule.get("count").map(|_| self.condition(builder, "count").0);
        let by = self.by(builder, &captures);
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
            class: self.text("class").and_then(|word| Class::from_word(&word)).unwrap_or_default(),
            mode: self.text("mode").and_then(|word| Mode::from_word(&word)).unwrap_or_default(),
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
        Origin { file: Arc::from(source.name()), line: source.place(span.start).line, span }
    }

    fn condition(&self, builder: &mut Builder<'_>, name: &str) -> (Condition, Vec<Captured>) {
        let Some(node) = self.rule.get(name).filter(|node| matches!(node.value, Value::Map(_))) else {
            return (Condition::All(Vec::new()), Vec::new());
        };
        let diagnostics = &mut builder.files[self.file].diagnostics;
        let mut reader = Conditions { names: &mut builder.names, diagnostics, captures: Vec::new() };
        let condition = reader.all(node);
        (condition, reader.captures)
    }

    fn by(&self, builder: &mut Builder<'_>, captures: &[Captured]) -> Vec<By> {
        let mut by = Vec::new();
        for item in self.rule.get("by").map(Node::items).unwrap_or_default() {
            let Some(text) = item.text() else { continue };
            let name = text.trim_start_matches('{').trim_end_matches('}');
            if let Some(found) = captures.iter().find(|captured| captured.name == name) {
                let Ok(glob) = Glob::parse(&found.glob) else { continue };
                let glob = Arc::new(glob);
                by.push(By::Capture {
                    attribute: found.attribute,
                    glob,
                    index: found.index,
                    name: name.into(),
                });
                continue;
            }
            if name != text {
                let message = format!("`match` captures no `{text}`");
                let said = Diagnostic::error("capture", item.span, message);
                let said = said.did_you_mean(name, captures.iter().map(|captured| captured.name.as_str()));
                self.say(builder, said.help("capture it in a path such as /v1/intents/{id}"));
                continue;
            }
            let diagnostics = &mut builder.files[self.file].diagnostics;
            let mut reader = Conditions { names: &mut builder.names, diagnostics, captures: Vec::new() };
            let Some(attribute) = reader.attribute(name, item.span) else { continue };
            by.push(if canonical(name) == "ip" { By::Address(attribute) } else { By::Attribute(attribute) });
        }
        by
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

    fn limits(&self, builder: &mut Builder<'_>, rule: &str, action: Action) -> Limits {
        let takes_none = matches!(action, Action::Block | Action::Bypass | Action::Unlimited);
        for key in ["limit", "limits", "tiers", "block_for"].into_iter().filter(|_| takes_none) {
            if let Some(node) = self.rule.get(key) {
                let message = format!("`action: {}` takes no `{key}`", action.word());
                self.say(
                    builder,
                    Diagnostic::error("action", head(node), message).help("remove one of them"),
                );
            }
        }
        let (one, several) = (self.rule.get("limit"), self.rule.get("limits"));
        if let (Some(_), Some(several)) = (one, several) {
            let said = Diagnostic::error("limit", head(several), "the rule has both `limit` and `limits`");
            self.say(builder, said.help("put all of them into `limits`"));
        }
        let nodes = one.into_iter().chain(several.map(Node::items).unwrap_or_default());
        let own = self.list(builder, rule, action, &nodes.collect::<Vec<_>>());
        let mut tiers = Vec::new();
        for (tier, node) in self.rule.get("tiers").map(Node::entries).unwrap_or_default() {
            let nodes: Vec<&Node> = node.items().iter().collect();
            tiers.push((tier.name.as_str().into(), self.list(builder, rule, action, &nodes)));
        }
        if !takes_none && one.is_none() && several.is_none() {
            let missing =
                Diagnostic::error("no-limit", head(self.rule), format!("the rule `{rule}` has no limit"));
            self.say(
                builder,
                missing.help("write `limit: 100/min`, or `action: block`, `bypass` or `unlimited`"),
            );
        }
        let tier_by = if tiers.is_empty() {
            None
        } else {
            builder.names.intern(&self.text("tier_by").unwrap_or_else(|| "plan".into()))
        };
        Limits { own, tiers, tier_by }
    }

    fn list(&self, builder: &mut Builder<'_>, rule: &str, action: Action, nodes: &[&Node]) -> Vec<RuleLimit> {
        let mut made: Vec<RuleLimit> = Vec::new();
        for node in nodes.iter().filter(|node| !matches!(node.value, Value::List(_) | Value::Null)) {
            let before = builder.files[self.file].diagnostics.count(crate::Severity::Error);
            let limit = match limits::read(node, rule, action == Action::Delay) {
                Ok(limit) => limit,
                Err(diagnostic) => {
                    // A table has said already what is wrong with the form of a long one.
                    if before == 0
                        || !matches!(node.value, Value::Map(_))
                        || diagnostic.message != "this is no limit"
                    {
                        self.say(builder, diagnostic);
                    }
                    continue;
                }
            };
            if action == Action::Delay && limit.algorithm() != Algorithm::LeakyBucket {
                let said = Diagnostic::error("action", head(node), "only a rate can delay");
                self.say(builder, said.help("write a rate such as 10/s burst 20, or another action"));
            }
            let refused_count = self.get("count_refused").and_then(Node::truth) == Some(true);
            if limit.algorithm() == Algorithm::Concurrency && refused_count {
                let said = Diagnostic::error("limit", head(node), "a refused request holds no slot");
                self.say(
                    builder,
                    said.help("remove `count_refused`, or put the slots into a rule of their own"),
                );
            }
            if made.iter().any(|other| other.identity == limit.identity) {
                let said = Diagnostic::error(
                    "limit",
                    head(node),
                    "another limit of this rule has the same algorithm and window",
                );
                self.say(builder, said.help("keep one of them, or give this one a `name` in the long form"));
            }
            made.push(limit);
        }
        if made.len() > 1 {
            for limit in &mut made {
                let own = limit.identity.rsplit_once('/').map_or(&*limit.identity, |(_, window)| window);
                limit.policy = format!("{rule}:{own}").into();
            }
        }
        made
    }

    fn cost(&self, builder: &mut Builder<'_>) -> Cost {
        let Some(node) = self.get("cost") else { return Cost::Fixed(1) };
        let default = node.get("default").and_then(Node::count).unwrap_or(1);
        let most = node.get("most").and_then(Node::count).unwrap_or(1_000_000);
        match (&node.value, node.text_at("attribute"), node.get("methods")) {
            (Value::Integer(_), ..) => Cost::Fixed(node.count().unwrap_or(1)),
            (Value::Map(_), Some((name, _)), None) => match builder.names.intern(&canonical(&name)) {
                Some(attribute) => Cost::Attribute { attribute, default, most },
                None => Cost::Fixed(default),
            },
            (Value::Map(_), None, Some(methods)) => {
                let point = |(method, points): &(crate::yaml::Key, Node)| {
                    Some((method.name.to_uppercase().into(), points.count()?))
                };
                let points = methods.entries().iter().filter_map(point).collect();
                match builder.names.intern("method") {
                    Some(attribute) => Cost::Methods { attribute, points, default },
                    None => Cost::Fixed(default),
                }
            }
            (Value::Map(_), ..) => {
                let said =
                    Diagnostic::error("cost", head(node), "a cost is an attribute's, or it goes by method");
                self.say(
                    builder,
                    said.help("write { attribute: tokens } or { methods: { GET: 1, POST: 5 } }"),
                );
                Cost::Fixed(1)
            }
            _ => match node.text().and_then(|name| builder.names.intern(&canonical(&name))) {
                Some(attribute) => Cost::Attribute { attribute, default, most },
                None => Cost::Fixed(1),
            },
        }
    }

    fn refusal(&self) -> Refusal {
        Refusal {
            status: self.get("status").and_then(Node::whole).and_then(|status| u16::try_from(status).ok()),
            title: self.text("title").map(Into::into),
            message: self.text("message").map(Into::into),
        }
    }

    fn schedule(&self, builder: &mut Builder<'_>) -> Option<Schedule> {
        let node = self.rule.get("when").filter(|node| matches!(node.value, Value::Map(_)))?;
        let (zone, at) =
            node.text_at("tz").map_or_else(|| ("UTC".to_owned(), node.span), |(zone, at)| (zone, at.span));
        let zone = limits::zone(&zone, at).unwrap_or_else(|diagnostic| {
            self.say(builder, diagnostic);
            jiff::tz::TimeZone::UTC
        });
        let mut schedule = Schedule::new(zone);
        let parts: [(&str, Add); 3] =
            [("hours", Schedule::hours), ("days", Schedule::days), ("dates", Schedule::dates)];
        for (name, add) in parts {
            for item in node.get(name).map(Node::items).unwrap_or_default() {
                if let Err(message) = add(&mut schedule, &item.text().unwrap_or_default()) {
                    self.say(builder, Diagnostic::error("when", item.span, message));
                }
            }
        }
        Some(schedule)
    }

    fn expires_at(&self, builder: &mut Builder<'_>) -> Option<Timestamp> {
        let (text, at) = self.rule.text_at("expires_at")?;
        let instant = text.parse::<jiff::Timestamp>().ok().or_else(|| {
            let date = text.parse::<jiff::civil::Date>().ok()?;
            Some(date.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp())
        });
        let us = instant.and_then(|instant| u64::try_from(instant.as_microsecond()).ok());
        if us.is_none() {
            let said = Diagnostic::error("expires-at", at.span, format!("`{text}` is no instant"));
            self.say(builder, said.help("write 2027-01-31T00:00:00Z, or a date"));
        }
        us.map(Timestamp::from_micros)
    }

    fn block_for(&self, builder: &mut Builder<'_>) -> Option<Limit> {
        let (text, at) = self.rule.text_at("block_for")?;
        let length = notation::duration(&text, at.inner_span(&text));
        let limit = length.and_then(|length| {
            Limit::fixed_window(1, Window::FirstHit(length))
                .map_err(|error| Diagnostic::error("block-for", at.span, error.to_string()))
        });
        limit.map_err(|diagnostic| self.say(builder, diagnostic)).ok()
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

//! `descriptors`: envoyproxy/ratelimit's tree, read as it reads it.

use std::sync::Arc;
use std::time::Duration;

use tidegate_core::{EncodedParts, Limit, Window};

use crate::condition::Condition;
use crate::diagnostic::Diagnostic;
use crate::home::Home;
use crate::notation;
use crate::rule::{
    Action, Class, Cost, Counted, Limits, Mode, Numbers, Origin, Refusal, Rule, RuleLimit, Scope, TreeRule,
};
use crate::shape::head;
use crate::yaml::{Node, Value};

use super::domain::Builder;
use super::rules::Draft;

const UNITS: [(&str, u64); 7] = [
    ("second", 1),
    ("minute", 60),
    ("hour", 3_600),
    ("day", 86_400),
    ("week", 604_800),
    ("month", 2_592_000),
    ("year", 31_536_000),
];

/// The way to a node: keys and values as written.
#[derive(Clone, Default)]
struct Path {
    names: Vec<String>,
    keys: Vec<Box<str>>,
    /// Where a pattern stands in for the value.
    shared: Vec<Option<Box<str>>>,
}

pub(super) fn read(builder: &mut Builder<'_>, file: usize, node: &Node) {
    for item in node.get("descriptors").map(Node::items).unwrap_or_default() {
        descriptor(builder, file, item, (0, &Path::default()));
    }
}

fn descriptor(builder: &mut Builder<'_>, file: usize, node: &Node, (parent, path): (usize, &Path)) {
    if !matches!(node.value, Value::Map(_)) {
        return;
    }
    let Some((key, _)) = node.text_at("key").filter(|(key, _)| !key.is_empty()) else {
        let said = Diagnostic::error("descriptor", head(node), "the descriptor has no `key`");
        return builder.say(file, said.help("write `key: generic_key`, or whatever the proxy sends"));
    };
    let value = node.text_at("value").map(|(value, _)| value).unwrap_or_default();
    let Some(place) = builder.tree.add(parent, &key, &value) else {
        let said = Diagnostic::error(
            "duplicate-descriptor",
            head(node),
            format!("`{key}` with this value is on this level already"),
        );
        return builder.say(file, said.help("a key and value stand once on a level; merge the two"));
    };
    let mut path = path.clone();
    path.names.push(builder.tree_names.node(parent, &key, &value));
    path.keys.push(key.as_str().into());
    path.shared.push(shared(builder, file, node, &value));
    ignored(builder, file, node);
    if let Some(rule) = node
        .get("rate_limit")
        .filter(|limit| limit.value != Value::Null)
        .and_then(|limit| rule(builder, file, (node, limit), &path))
    {
        builder.tree.set_rule(place, u32::try_from(builder.drafts.len()).unwrap_or(u32::MAX));
        builder.drafts.push(rule);
        if node.get("metadata").is_some() {
            builder.tree.note_metadata();
        }
    }
    for child in node.get("descriptors").map(Node::items).unwrap_or_default() {
        descriptor(builder, file, child, (place, &path));
    }
}

fn shared(builder: &mut Builder<'_>, file: usize, node: &Node, value: &str) -> Option<Box<str>> {
    let at = node.get("share_threshold").filter(|at| at.truth() == Some(true))?;
    if !value.contains('*') {
        let said = Diagnostic::error("share-threshold", at.span, "only values with a * can share a counter");
        builder.say(file, said.help("remove share_threshold, or write a * into the value"));
        return None;
    }
    Some(value.into())
}

/// What is taken without effect is said.
fn ignored(builder: &mut Builder<'_>, file: usize, node: &Node) {
    let metrics = "metrics are counted per rule, so that their number stays bounded; it can stay or go";
    let domain = "all descriptors of a file belong to the domain at its top; it can stay or go";
    for (name, help) in [("detailed_metric", metrics), ("value_to_metric", metrics), ("domain", domain)] {
        if let Some((key, _)) =
            node.entries().iter().find(|(key, value)| key.name == name && value.truth() != Some(false))
        {
            let said = Diagnostic::warning("no-effect", key.span, format!("`{name}` has no effect here"));
            builder.say(file, said.help(help));
        }
    }
}

fn rule(builder: &mut Builder<'_>, file: usize, (node, limit): (&Node, &Node), path: &Path) -> Option<Draft> {
    let truth = |node: &Node, name: &str| node.get(name).and_then(Node::truth) == Some(true);
    let path_name = path.names.join("/");
    let limit_name = limit.text_at("name").map(|(name, _)| name);
    let unlimited = truth(limit, "unlimited");
    if let Some((_, at)) = limit.text_at("unit").filter(|_| unlimited) {
        let said = Diagnostic::error("rate-limit", at.span, "an unlimited descriptor has no unit");
        builder.say(file, said.help("remove `unit`, or `unlimited`"));
    }
    let per = if unlimited { None } else { Some(unit(builder, file, limit)?) };
    let amount = limit.get("requests_per_unit").and_then(Node::count).unwrap_or(0);
    let policy = limit_name.clone().unwrap_or_else(|| path_name.clone());
    let made = per.and_then(|per| rule_limit(amount, per, &policy));
    let made = made.map(|made| RuleLimit { name: limit_name.as_deref().map(Into::into), ..made });
    let span = head(node);
    let source = &builder.files[file].source;
    let origin =
        Origin { file: Arc::from(source.name()), line: source.line_of(span.start), span, whole: node.span };
    let tree = TreeRule {
        replaces: replaces(builder, file, limit, limit_name.as_deref()),
        limit_name: limit_name.map(Into::into),
        quota: truth(node, "quota_mode"),
        keys: path.keys.clone(),
        shared: path.shared.clone(),
        metadata: node.get("metadata").map(|node| Arc::new(node.value.clone())),
    };
    let name = builder.tree_names.rule(&path_name);
    let rule = Rule {
        identity: name.as_str().into(),
        name: name.into(),
        description: None,
        origin,
        applies: Condition::All(Vec::new()),
        counts: None,
        by: Vec::new(),
        scope: Scope::Global,
        limits: Limits { own: made.into_iter().collect(), ..Limits::default() },
        cost: Cost::Fixed(1),
        class: Class::default(),
        tier_classes: None,
        mode: if truth(node, "shadow_mode") { Mode::Shadow } else { Mode::Enforce },
        switched_from: None,
        action: if unlimited { Action::Unlimited } else { Action::Reject },
        refusal: Refusal::default(),
        group: None,
        rank: 0,
        priority: 0,
        schedule: None,
        expires_at: None,
        count_refused: truth(node, "count_refused"),
        block_for: None,
        atomic: false,
        dimension: "descriptor".into(),
        subject: "descriptor".into(),
        tree: Some(Box::new(tree)),
        home: Home::default(),
        plain: None,
    };
    Some(Draft { rule, group: None, file, span })
}

fn unit(builder: &mut Builder<'_>, file: usize, limit: &Node) -> Option<Duration> {
    let (written, at) = match limit.text_at("unit") {
        Some((unit, at)) => (unit, at.span),
        None => (String::new(), head(limit)),
    };
    let lower = written.to_lowercase();
    let found = UNITS.iter().find(|(name, _)| *name == lower);
    if found.is_none() {
        let message = if written.is_empty() {
            "the limit has no `unit`".to_owned()
        } else {
            format!("`{written}` is no unit")
        };
        let said = Diagnostic::error("rate-limit", at, message)
            .did_you_mean(&written, UNITS.iter().map(|(name, _)| *name));
        builder.say(file, said.help("write second, minute, hour, day, week, month or year"));
    }
    found.map(|(_, seconds)| Duration::from_secs(*seconds))
}

fn replaces(builder: &mut Builder<'_>, file: usize, limit: &Node, own: Option<&str>) -> Vec<Box<str>> {
    let mut names = Vec::new();
    for item in limit.get("replaces").map(Node::items).unwrap_or_default() {
        match item.text_at("name").filter(|(name, _)| !name.is_empty()) {
            Some((name, at)) if Some(name.as_str()) == own => {
                let said = Diagnostic::error("replaces", at.span, "a limit cannot replace itself");
                builder.say(file, said.help("name another limit"));
            }
            Some((name, _)) => names.push(name.into()),
            None => {
                let said = Diagnostic::error("replaces", head(item), "this replaces nothing");
                builder.say(file, said.help("write { name: other-limit }"));
            }
        }
    }
    names
}

/// A limit of a tree: windows aligned to the epoch, as envoyproxy/ratelimit has them. Core has no window of 0 units, so that
/// an amount of 0 takes one of 1 unit, of which charges cost too much.
pub(crate) fn rule_limit(amount: u64, per: Duration, policy: &str) -> Option<RuleLimit> {
    let limit = Limit::fixed_window(amount.max(1), Window::Aligned(per)).ok()?;
    Some(RuleLimit {
        identity: format!("fixed_window/{}", notation::show(per)).into(),
        back: EncodedParts::default(),
        name: None,
        policy: policy.into(),
        numbers: Numbers::Plain(limit),
        per_us: u64::try_from(per.as_micros()).ok(),
        amount,
        counted: Counted::default(),
        written: format!("{amount}/{}", notation::show(per)).into(),
    })
}

//! When a rule applies, and what a request costs it.

use tidegate_core::Timestamp;

use crate::diagnostic::Diagnostic;
use crate::limits;
use crate::rule::Cost;
use crate::schedule::{self, InstantError, Schedule};
use crate::shape::head;
use crate::yaml::{Node, Value};

use super::domain::Builder;
use super::rules::Written;

/// Adds something to a schedule.
type Add = fn(&mut Schedule, &str) -> Result<(), String>;

impl Written<'_> {
    pub(super) fn schedule(&self, builder: &mut Builder<'_>) -> Option<Schedule> {
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

    pub(super) fn expires_at(&self, builder: &mut Builder<'_>) -> Option<Timestamp> {
        let (text, at) = self.rule.text_at("expires_at")?;
        let instant = schedule::instant(&text);
        let error = |error: InstantError| {
            self.say(builder, Diagnostic::error("expires-at", at.span, error.message).help(error.help));
        };
        instant.map_err(error).ok()
    }

    /// Points by method: a key names one method or several with commas between, and `*` all others.
    fn methods(&self, builder: &mut Builder<'_>, methods: &Node, given: Option<&Node>) -> Cost {
        let (mut points, mut default): (Vec<(Box<str>, u64)>, _) = (Vec::new(), given.and_then(Node::count));
        let error = |at, message| Diagnostic::error("cost", at, message);
        for (key, value) in methods.entries() {
            let Some(cost) = value.count() else { continue };
            if key.name.trim() == "*" {
                if default.replace(cost).is_some() {
                    let said =
                        error(key.span, "`*` and `default` both say what other methods cost".to_owned());
                    self.say(builder, said.help("keep one of them"));
                }
                continue;
            }
            for method in key.name.split(',').map(|method| method.trim().to_uppercase()) {
                let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
                if method.is_empty() || !method.bytes().all(is_name) {
                    let said = error(key.span, format!("`{}` is no method", key.name));
                    self.say(builder, said.help("write { GET: 1, \"POST, PUT\": 5, \"*\": 2 }"));
                } else if points.iter().any(|(other, _)| **other == *method) {
                    let said = error(key.span, format!("the cost of `{method}` is given twice"));
                    self.say(builder, said.help("keep one of them"));
                } else {
                    points.push((method.into(), cost));
                }
            }
        }
        match builder.names.intern("method") {
            Some(attribute) => Cost::Methods { attribute, points, default: default.unwrap_or(1) },
            None => Cost::Fixed(default.unwrap_or(1)),
        }
    }

    pub(super) fn cost(&self, builder: &mut Builder<'_>) -> Cost {
        let Some(node) = self.get("cost") else { return Cost::Fixed(1) };
        let default = node.get("default").and_then(Node::count).unwrap_or(1);
        let most = node.get("most").and_then(Node::count).unwrap_or(1_000_000);
        match (&node.value, node.text_at("attribute"), node.get("methods")) {
            (Value::Integer(_), ..) => Cost::Fixed(node.count().unwrap_or(1)),
            (Value::Map(_), Some((name, at)), None) => match builder.attribute(self.file, &name, at.span) {
                Some(attribute) => Cost::Attribute { attribute, default, most },
                None => Cost::Fixed(default),
            },
            (Value::Map(_), None, Some(methods)) => self.methods(builder, methods, node.get("default")),
            (Value::Map(_), ..) => {
                let said =
                    Diagnostic::error("cost", head(node), "a cost is an attribute's, or it goes by method");
                self.say(
                    builder,
                    said.help("write { attribute: tokens } or { methods: { GET: 1, POST: 5 } }"),
                );
                Cost::Fixed(1)
            }
            _ => {
                let name = node.text().unwrap_or_default();
                if name.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first)) {
                    let message = format!("`{name}` is no whole number and no attribute");
                    let said = Diagnostic::error("cost", node.span, message);
                    self.say(builder, said.help("write a whole number, such as 5, without quotes"));
                    return Cost::Fixed(1);
                }
                match builder.attribute(self.file, &name, node.span) {
                    Some(attribute) => Cost::Attribute { attribute, default, most },
                    None => Cost::Fixed(1),
                }
            }
        }
    }
}

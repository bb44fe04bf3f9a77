//! `identities`: what follows from what.

use std::collections::HashMap;

use crate::diagnostic::Diagnostic;
use crate::identity::Identity;
use crate::name::AttributeId;
use crate::source::Span;
use crate::yaml::{Node, Value};

use super::domain::Builder;

pub(super) fn read(builder: &mut Builder<'_>, file: usize, node: &Node) {
    let Some(identities) = node.get("identities") else { return };
    for (key, value) in identities.entries() {
        let Some(from) = builder.attribute(file, &key.name, key.span) else { continue };
        let items = value.get("derive").map(Node::items).unwrap_or_default();
        let named: Vec<(String, Span)> =
            items.iter().filter_map(|item| Some((item.text()?, item.span))).collect();
        let names: Vec<String> = named.iter().map(|(name, _)| name.clone()).collect();
        if names.is_empty() {
            let message = format!("`{}` derives nothing", key.name);
            builder.say(
                file,
                Diagnostic::error("identity", key.span, message).help("write { derive: org, map: { … } }"),
            );
            continue;
        }
        let derives: Option<Vec<AttributeId>> =
            named.iter().map(|(name, at)| builder.attribute(file, name, *at)).collect();
        let Some(derives) = derives else { continue };
        let map = map(builder, file, value, &names);
        let pattern =
            value.text_at("pattern").and_then(|(text, at)| pattern(builder, file, &text, at, &names));
        builder.identities.push(Identity { from, derives, map, pattern });
    }
}

fn map(
    builder: &mut Builder<'_>,
    file: usize,
    node: &Node,
    names: &[String],
) -> HashMap<Box<str>, Vec<Option<Box<str>>>> {
    let mut map = HashMap::new();
    for (key, value) in node.get("map").map(Node::entries).unwrap_or_default() {
        let values = match &value.value {
            Value::Map(entries) => {
                for (name, _) in entries.iter().filter(|(name, _)| !names.contains(&name.name)) {
                    let message = format!("`{}` is not derived here", name.name);
                    let said = Diagnostic::error("identity", name.span, message);
                    builder.say(
                        file,
                        said.did_you_mean(&name.name, names.iter().map(String::as_str))
                            .help("name it in `derive`"),
                    );
                }
                names.iter().map(|name| value.get(name).and_then(Node::text).map(Into::into)).collect()
            }
            _ if names.len() == 1 => vec![value.text().map(Into::into)],
            _ => {
                let message = "several attributes are derived, so this should be a map of them";
                builder.say(
                    file,
                    Diagnostic::error("identity", value.span, message).help("write { org: acme, plan: pro }"),
                );
                continue;
            }
        };
        map.insert(key.name.as_str().into(), values);
    }
    map
}

fn pattern(
    builder: &mut Builder<'_>,
    file: usize,
    text: &str,
    at: &Node,
    names: &[String],
) -> Option<(regex::Regex, Vec<Option<usize>>)> {
    let regex = match crate::condition::whole_value_regex(text) {
        Ok(regex) => regex,
        Err(message) => {
            builder.say(file, Diagnostic::error("regex", at.span, message));
            return None;
        }
    };
    let groups: Vec<Option<usize>> =
        names.iter().map(|name| regex.capture_names().position(|group| group == Some(name))).collect();
    if groups.iter().all(Option::is_none) {
        let message = format!("the pattern has no group named `{}`", names[0]);
        let help = format!("write (?<{}>…) around the part that is the {0}", names[0]);
        builder.say(file, Diagnostic::error("identity", at.span, message).help(help));
        return None;
    }
    Some((regex, groups))
}

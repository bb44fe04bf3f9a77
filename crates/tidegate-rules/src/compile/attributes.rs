//! Attributes that rules ask about and no request can have: neither a listener fills them nor a file declares them.

use std::collections::HashSet;

use crate::conditions::canonical;
use crate::diagnostic::{Diagnostic, nearest};
use crate::name::AttributeId;
use crate::source::Span;
use crate::yaml::Node;

use super::domain::Builder;
use super::{Context, Part};

/// What listeners fill by themselves or by custom, and the keys that Envoy's own descriptor actions have.
const FILLED: [&str; 17] = [
    "method",
    "path",
    "host",
    "scheme",
    "ip",
    "api_key",
    "user",
    "org",
    "plan",
    "generic_key",
    "header_match",
    "query_match",
    "source_cluster",
    "destination_cluster",
    "masked_remote_address",
    "remote_address",
    "remote_address_match",
];

/// Families of names that listeners fill from a request.
const FAMILIES: [&str; 2] = ["header.", "query."];

/// Names that other products have for what listeners fill.
const SYNONYMS: [(&str, &str); 17] = [
    ("ip_addr", "ip"),
    ("ip_address", "ip"),
    ("ipaddr", "ip"),
    ("client_ip", "ip"),
    ("remote_ip", "ip"),
    ("remote_addr", "ip"),
    ("source_ip", "ip"),
    ("url", "path"),
    ("uri", "path"),
    ("route", "path"),
    ("endpoint", "path"),
    ("verb", "method"),
    ("hostname", "host"),
    ("user_id", "user"),
    ("username", "user"),
    ("tier", "plan"),
    ("key", "api_key"),
];

/// Unknown names of a domain that are told; each is held against all known ones.
const MOST_TOLD: usize = 100;

/// A place that asks about an attribute.
pub(super) struct Asked {
    pub(super) attribute: AttributeId,
    pub(super) file: usize,
    pub(super) at: Span,
}

/// Warns once about each unknown name of the domain, at the first place that asks about it.
pub(super) fn check(builder: &mut Builder<'_>, parts: &[Part<'_>], context: &Context) {
    if builder.files.iter().any(|file| file.diagnostics.is_unparsed()) {
        // A file that cannot be read may declare names.
        return;
    }
    let declared = declared(builder, parts, context);
    let mut seen: HashSet<AttributeId> = HashSet::new();
    let asked = std::mem::take(&mut builder.asked);
    for Asked { attribute, file, at } in asked {
        let name = builder.names.name(attribute).to_owned();
        let known = declared.contains(&name) || FAMILIES.iter().any(|family| name.starts_with(family));
        if !known && seen.len() < MOST_TOLD && seen.insert(attribute) {
            let said = unknown(&name, at, &declared);
            builder.say(file, said);
        }
    }
}

fn declared(builder: &Builder<'_>, parts: &[Part<'_>], context: &Context) -> HashSet<String> {
    let mut declared: HashSet<String> = FILLED.iter().map(|name| (*name).to_owned()).collect();
    declared.extend(context.attributes.iter().map(|name| canonical(name)));
    let name = |attribute: AttributeId| builder.names.name(attribute).to_owned();
    declared.extend(builder.tenant.map(name));
    declared
        .extend(builder.identities.iter().flat_map(|identity| identity.derives.iter().copied().map(name)));
    declared.extend(builder.drafts.iter().filter_map(|draft| draft.rule.limits.tier_by.map(name)));
    for (_, node) in parts {
        let items = node.get("attributes").map(Node::items).unwrap_or_default();
        declared.extend(items.iter().filter_map(Node::text).map(|name| canonical(&name)));
        descriptor_keys(node, &mut declared);
    }
    declared
}

/// What the tree of descriptors names, callers send.
fn descriptor_keys(node: &Node, declared: &mut HashSet<String>) {
    for item in node.get("descriptors").map(Node::items).unwrap_or_default() {
        declared.extend(item.text_at("key").map(|(key, _)| canonical(&key)));
        descriptor_keys(item, declared);
    }
}

fn unknown(name: &str, at: Span, declared: &HashSet<String>) -> Diagnostic {
    let lower = name.to_ascii_lowercase();
    let synonym = SYNONYMS.iter().find(|(other, _)| *other == lower).map(|(_, meant)| *meant);
    // In one order, so that of two that are as near the same one is named each time.
    let mut known: Vec<&str> = declared.iter().map(String::as_str).collect();
    known.sort_unstable();
    let message = format!("no listener fills `{name}`, and no file of the domain declares it");
    let said = Diagnostic::warning("unknown-attribute", at, message)
        .help(format!("write `attributes: [{name}]` at the top of the file if callers send it"));
    // Of two letters, one that differs is half of the name.
    let near = |meant: &&str| name.len() > 2 || meant.eq_ignore_ascii_case(name);
    match synonym.or_else(|| nearest(name, known).filter(near)) {
        Some(meant) => said.label(format!("did you mean `{meant}`?")),
        None => said,
    }
}

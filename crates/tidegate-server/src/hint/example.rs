//! Examples of requests: for a rule of our own what it counts by, for one of a tree a descriptor.

use serde_json::{Map, Value, json};
use tidegate_rules::rule::Rule;
use tidegate_rules::{Domain, Snapshot};

type Pairs = Vec<(String, String)>;

/// A request to a domain.
pub(super) struct Example<'s> {
    pub(super) domain: &'s str,
    pub(super) facts: Facts,
}

/// What is known of a request.
pub(super) enum Facts {
    /// Names and values.
    Attributes(Pairs),
    /// One descriptor, as Envoy sends it.
    Descriptor(Pairs),
}

impl<'s> Example<'s> {
    /// A request that may meet no rule at all.
    pub(super) fn plain(domain: &'s str) -> Self {
        Self { domain, facts: Facts::Attributes(vec![("user".to_owned(), "alice".to_owned())]) }
    }

    /// As it is sent.
    pub(super) fn to_json(&self) -> Value {
        match &self.facts {
            Facts::Attributes(pairs) => {
                let attributes: Map<String, Value> =
                    pairs.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
                json!({ "domain": self.domain, "attributes": attributes })
            }
            Facts::Descriptor(entries) => json!({ "domain": self.domain, "descriptors": [entries] }),
        }
    }
}

/// Some for each rule; whether it meets them is to be tried.
pub(super) fn all(snapshot: &Snapshot) -> impl Iterator<Item = Example<'_>> {
    snapshot.domains().flat_map(|domain| {
        domain.rules.iter().flat_map(move |rule| {
            let example = |facts| Example { domain: &domain.name, facts };
            of(domain, rule).into_iter().map(example)
        })
    })
}

fn of(domain: &Domain, rule: &Rule) -> Vec<Facts> {
    match rule.tree {
        None => vec![Facts::Attributes(attributes(domain, rule))],
        Some(_) => descriptors(&rule.name).map(Facts::Descriptor).into(),
    }
}

/// What the rule counts by with some value, and an everyday request.
fn attributes(domain: &Domain, rule: &Rule) -> Pairs {
    let mut names: Vec<String> = domain.by(rule).into_iter().filter(|name| !name.starts_with('{')).collect();
    for name in ["method", "path"] {
        if names.iter().all(|known| known != name) {
            names.push(name.to_owned());
        }
    }
    names.into_iter().map(|name| (name.clone(), value(&name).to_owned())).collect()
}

/// A rule of a tree is called by the way to it, `key=value/key`; a value may hold a slash, so that it can be read in more
/// than one way. Secrets are not in names, hence never shown.
fn descriptors(name: &str) -> [Pairs; 3] {
    let parts = || name.split('/').map(str::to_owned);
    let mut keyed: Vec<String> = Vec::new();
    for part in parts() {
        match keyed.last_mut() {
            Some(last) if !part.contains('=') => *last = format!("{last}/{part}"),
            _ => keyed.push(part),
        }
    }
    [parts().collect(), keyed, vec![name.to_owned()]]
        .map(|parts: Vec<String>| parts.iter().map(|part| entry(part)).collect())
}

fn entry(part: &str) -> (String, String) {
    let (key, written) = part.split_once('=').unwrap_or((part, ""));
    let shown = if written.is_empty() { value(key).to_owned() } else { written.replace('*', "a") };
    (key.replace('*', "a"), shown)
}

fn value(name: &str) -> &'static str {
    match name {
        "api_key" => "k1",
        "user" => "alice",
        "org" => "acme",
        "ip" | "remote_address" => "203.0.113.7",
        "method" => "GET",
        "path" => "/orders",
        "plan" => "free",
        _ => "a",
    }
}

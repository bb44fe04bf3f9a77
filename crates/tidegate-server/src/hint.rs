//! What to do next: a request that one of the rules in force counts, as a line to paste into a shell.

use std::net::SocketAddr;

use serde_json::{Map, Value, json};
use tidegate_core::Timestamp;
use tidegate_engine::{Check, Engine};
use tidegate_rules::{Domain, Snapshot};

use crate::stack::Stack;

/// How many rules are tried before a plain request is shown.
const MOST_TRIED: usize = 50;

/// A line that asks the HTTP door.
pub(crate) async fn curl(engine: &Engine<Stack>, address: SocketAddr, now: Timestamp) -> String {
    let body = body(engine, now).await.to_string();
    // A name may hold a quote; a shell then wants it outside of the quotes.
    let quoted = body.replace('\'', r"'\''");
    format!(
        "curl -i http://{}/v1/check -H 'content-type: application/json' -d '{quoted}'",
        reachable(address)
    )
}

/// Where this machine reaches a door that listens everywhere.
pub(crate) fn reachable(address: SocketAddr) -> String {
    if address.ip().is_unspecified() { format!("localhost:{}", address.port()) } else { address.to_string() }
}

/// A check that counts for one of the rules, if one is easily found.
async fn body(engine: &Engine<Stack>, now: Timestamp) -> Value {
    let snapshot = engine.snapshot();
    for (domain, attributes) in examples(&snapshot).take(MOST_TRIED) {
        let pairs: Vec<(&str, &str)> =
            attributes.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        let check = Check { attributes: &pairs, ..Check::new(&domain.name) };
        if engine.peek(&check, now).await.is_ok_and(|decision| decision.limits().len() > 0) {
            return question(&domain.name, &attributes);
        }
    }
    let domain = snapshot.domains().next().map_or("demo", |domain| &*domain.name);
    question(domain, &[("user".to_owned(), "alice")])
}

type Attributes = Vec<(String, &'static str)>;

/// For each rule, what it counts by with some value, and an everyday request.
fn examples(snapshot: &Snapshot) -> impl Iterator<Item = (&Domain, Attributes)> {
    let of = |domain: &Domain, rule| {
        let names = domain.by(rule).into_iter().filter(|name| !name.starts_with('{'));
        let mut attributes: Attributes = names.map(|name| (name.clone(), example(&name))).collect();
        for name in ["method", "path"] {
            if attributes.iter().all(|(known, _)| known != name) {
                attributes.push((name.to_owned(), example(name)));
            }
        }
        attributes
    };
    snapshot
        .domains()
        .flat_map(move |domain| domain.rules.iter().map(move |rule| (&**domain, of(domain, rule))))
}

fn example(name: &str) -> &'static str {
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

fn question(domain: &str, attributes: &[(String, &'static str)]) -> Value {
    let attributes: Map<String, Value> =
        attributes.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    json!({ "domain": domain, "attributes": attributes })
}

#[cfg(test)]
mod tests {
    use tidegate_rules::{Source, compile};
    use tidegate_store::Reference;

    use super::*;

    async fn shown(rules: &str) -> String {
        let engine = Engine::new(Reference::new());
        if !rules.is_empty() {
            engine.install(compile(vec![Source::new("a.yaml", rules)]).snapshot.unwrap());
        }
        curl(&engine, "0.0.0.0:8080".parse().unwrap(), Timestamp::from_micros(1_790_000_000_000_000)).await
    }

    #[tokio::test]
    async fn the_line_meets_a_rule() {
        let rules = "domain: api\nrules:\n- { name: health, match: { path: /healthz }, action: bypass }\n\
                     - { name: per-key, by: [api_key], limit: 5/min }";
        let line = shown(rules).await;
        assert!(line.starts_with("curl -i http://localhost:8080/v1/check "), "{line}");
        assert!(line.contains(r#"{"attributes":{"api_key":"k1","#), "{line}");
        assert!(line.contains(r#""domain":"api"}"#), "{line}");
    }

    #[tokio::test]
    async fn without_rules_there_is_a_line_too() {
        assert!(shown("").await.ends_with(r#"-d '{"attributes":{"user":"alice"},"domain":"demo"}'"#));
    }

    #[tokio::test]
    async fn a_quote_in_a_name_does_not_end_the_line() {
        assert!(shown("domain: \"it's\"\nrules: []").await.contains(r#""domain":"it'\''s""#));
    }
}

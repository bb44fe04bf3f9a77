//! What to do next: a request that one of the rules in force counts, as a line to paste into a shell.

mod example;
mod line;

use serde_json::Value;
use tidegate_core::Timestamp;
use tidegate_engine::{Check, Descriptor, Engine};

use crate::stack::Stack;
use example::{Example, Facts};

pub(crate) use line::{Seen, admin, encrypted, redis_cli};

/// How many requests are tried before a plain one is shown.
const MOST_TRIED: usize = 50;

/// A line that asks the HTTP door.
pub(crate) async fn curl(engine: &Engine<Stack>, door: &Seen<'_>, now: Timestamp) -> String {
    line::curl(door, &body(engine, now).await.to_string())
}

/// A check that counts for one of the rules, if one is easily found.
async fn body(engine: &Engine<Stack>, now: Timestamp) -> Value {
    let snapshot = engine.snapshot();
    for example in example::all(&snapshot).take(MOST_TRIED) {
        if is_counted(engine, &example, now).await {
            return example.to_json();
        }
    }
    let domain = snapshot.domains().next().map_or("demo", |domain| &*domain.name);
    Example::plain(domain).to_json()
}

async fn is_counted(engine: &Engine<Stack>, example: &Example<'_>, now: Timestamp) -> bool {
    let (Facts::Attributes(pairs) | Facts::Descriptor(pairs)) = &example.facts;
    let pairs: Vec<(&str, &str)> =
        pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let descriptor = [Descriptor::new(&pairs)];
    let check = match example.facts {
        Facts::Attributes(_) => Check { attributes: &pairs, ..Check::new(example.domain) },
        Facts::Descriptor(_) => Check { descriptors: &descriptor, ..Check::new(example.domain) },
    };
    engine.peek(&check, now).await.is_ok_and(|decision| decision.limits().len() > 0)
}

#[cfg(test)]
mod tests {
    use tidegate_rules::{Source, compile};
    use tidegate_store::Memory;

    use crate::stack::Stack;

    use super::*;

    async fn shown(rules: &str) -> String {
        let engine = Engine::new(Stack::Memory(Memory::new()));
        if !rules.is_empty() {
            engine.install(compile(vec![Source::new("a.yaml", rules)]).snapshot.unwrap());
        }
        let now = Timestamp::from_micros(1_790_000_000_000_000);
        Box::pin(curl(&engine, &seen("0.0.0.0:8080"), now)).await
    }

    fn seen(address: &str) -> Seen<'static> {
        Seen { address: address.parse().unwrap(), encrypted: false, secret: None }
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
    async fn a_tree_is_asked_with_one_of_its_descriptors() {
        let tree = |node: &str| format!("domain: mesh\ndescriptors: [{node}]");
        let limit = "rate_limit: { unit: minute, requests_per_unit: 5 }";
        for (node, asked) in [
            (format!("{{ key: database, value: users, {limit} }}"), r#"[["database","users"]]"#),
            (
                format!("{{ key: org, descriptors: [{{ key: path, value: /v1/x, {limit} }}] }}"),
                r#"[["org","acme"],["path","/v1/x"]]"#,
            ),
            (
                format!("{{ key: a, value: b, descriptors: [{{ key: user, {limit} }}] }}"),
                r#"[["a","b"],["user","alice"]]"#,
            ),
            (format!("{{ key: path, value: /v1/*, {limit} }}"), r#"[["path","/v1/a"]]"#),
            (
                format!("{{ key: token, value: s3cret, {limit} }}, {{ key: user, {limit} }}"),
                r#"[["user","alice"]]"#,
            ),
        ] {
            let line = shown(&tree(&node)).await;
            assert!(line.contains(&format!(r#"{{"descriptors":[{asked}],"domain":"mesh"}}"#)), "{line}");
        }
        let secret = shown(&tree(&format!("{{ key: token, value: s3cret, {limit} }}"))).await;
        assert!(!secret.contains("s3cret"), "{secret}");
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

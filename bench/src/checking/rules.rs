//! The rules that are loaded. Limits are out of reach, so that nothing is ever refused, and drain slowly, so that no
//! counter comes to its end between two requests.

use std::fmt::Write as _;

use anyhow::{Context, Result};
use tidegate_rules::{Snapshot, Source, compile};

/// How many rules stand beside the two that match.
const OTHERS: usize = 998;

/// The same for one user as limitador's limit: so many in a day.
const ONE_RULE: &str = "domain: bench
rules:
  - { name: per-user, by: [user], limit: { amount: 3000000000, per: 1d, algorithm: fixed_window } }
";

/// The same in envoyproxy/ratelimit's words.
const TREE: &str = "domain: bench
descriptors:
  - key: user
    rate_limit: { unit: day, requests_per_unit: 3000000000 }
";

pub(super) fn one() -> Result<Snapshot> {
    compiled(ONE_RULE)
}

pub(super) fn tree() -> Result<Snapshot> {
    compiled(TREE)
}

/// Two that match every request, in the midst of others that match none: each of the request's attributes is one that
/// rules ask about.
pub(super) fn thousand() -> Result<Snapshot> {
    let mut text = String::from("domain: bench\nrules:\n");
    for index in 0..OTHERS {
        if index == OTHERS / 2 {
            text.push_str(
                "  - { name: per-key, by: [api_key], limit: 100/s burst 300000000 }
  - { name: orders, match: { method: [POST], path: /api/v1/orders }, by: [api_key], limit: 3000000000/min }
",
            );
        }
        let condition = match index % 5 {
            0 => format!("method: [GET], path: /api/v1/things-{index}"),
            1 => format!("path: /api/v1/things-{index}, plan: pro"),
            2 => format!("method: [POST, PUT], path: /api/v1/things-{index}, country: DE"),
            3 => format!("plan: plan-{index}"),
            _ => format!("method: [DELETE], path: /api/v1/things-{index}, ip: 10.{}.0.0/16", index % 256),
        };
        writeln!(
            text,
            "  - {{ name: other-{index}, match: {{ {condition} }}, by: [api_key], limit: 10/s }}"
        )?;
    }
    compiled(&text)
}

fn compiled(text: &str) -> Result<Snapshot> {
    let compiled = compile(vec![Source::new("bench.yaml", text)]);
    let said = compiled.render();
    compiled.snapshot.with_context(|| format!("the rules do not compile:\n{said}"))
}

//! `tidegate nodes`: who counts together.

use std::collections::BTreeSet;

use anyhow::{Result, anyhow};
use clap::Args;
use serde_json::Value;

use crate::ask::Client;
use crate::exit::Failure;
use crate::output::{Format, print};

/// Lists the nodes that count together, as one of them last heard it.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tidegate nodes\n  tidegate nodes --server http://127.0.0.1:6070 --format json\n\nExit codes: 0 ok, 1 something failed, 2 wrong usage, 4 unreachable or unauthorised."
)]
pub(crate) struct NodesArgs {
    /// The address of a node's admin door; if it wants a token, TIDEGATE_TOKEN_FILE names its file
    #[arg(long, default_value = "http://127.0.0.1:6070")]
    server: String,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(args: &NodesArgs) -> Result<(), Failure> {
    let (status, answer) = Client::new(&args.server)?.get("/admin/v1/nodes")?;
    if status != 200 {
        let said = answer["detail"].as_str().unwrap_or("no reason given");
        return Err(anyhow!("the server answered {status}: {said}").into());
    }
    match args.format {
        Format::Json => print(&format!("{answer:#}\n"))?,
        Format::Text => print(&text(&answer))?,
    }
    Ok(())
}

fn text(answer: &Value) -> String {
    if answer["store"] == "memory" {
        return "counters live in this server's memory; it counts alone\n".to_owned();
    }
    let mut rows =
        vec![["ID", "HEARD", "VERSION", "FORMAT", "RULES", "HTTP", "GRPC", "DECISIONS"].map(str::to_owned)];
    for node in answer["nodes"].as_array().into_iter().flatten() {
        let told = |name: &str| match &node["told"][name] {
            Value::Null => "-".to_owned(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let id = node["id"].as_str().unwrap_or_default().chars().take(8).collect();
        let heard = format!("{:.1}s ago", node["age_ms"].as_f64().unwrap_or(0.0) / 1000.0);
        rows.push([
            id,
            heard,
            told("version"),
            told("format"),
            rules(&node["told"]),
            told("http"),
            told("grpc"),
            told("decisions"),
        ]);
    }
    let widths: [usize; 8] =
        std::array::from_fn(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0));
    let line = |row: &[String; 8]| {
        let cells: Vec<String> =
            row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    let mut out: String = rows.iter().map(line).collect();
    if different_rules(answer) > 1 {
        out.push_str("the nodes do not have the same rules: compare their files\n");
    }
    if answer["fresh"] == Value::Bool(false) {
        out.push_str("the store does not answer at the moment; this is what was heard last\n");
    }
    out
}

/// What the rules of a node are called: a hash of their text; an older node tells only how often it read them.
fn rules(told: &Value) -> String {
    match (told["rules"].as_str(), told["snapshot"].as_u64()) {
        (Some(hash), _) => hash.chars().take(8).collect(),
        (None, Some(version)) => format!("version {version}"),
        (None, None) => "-".to_owned(),
    }
}

/// How many different rules the nodes have that tell a hash of them.
fn different_rules(answer: &Value) -> usize {
    let nodes = answer["nodes"].as_array().into_iter().flatten();
    let hashes: BTreeSet<&str> = nodes.filter_map(|node| node["told"]["rules"].as_str()).collect();
    hashes.len()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(told: &[Value]) -> Value {
        let node = |told: &Value| json!({ "id": "0123456789", "age_ms": 900, "told": told });
        json!({ "store": "redis", "fresh": true, "nodes": told.iter().map(node).collect::<Vec<_>>() })
    }

    #[test]
    fn compares_rules_by_hash() {
        let told = |hash: &str, version: u64| json!({ "rules": hash, "snapshot": version });
        let same = text(&answer(&[told("0011223344556677", 1), told("0011223344556677", 9)]));
        assert!(same.contains("00112233") && !same.contains("do not have the same rules"), "{same}");
        let others = text(&answer(&[told("0011223344556677", 1), told("8899aabbccddeeff", 1)]));
        assert!(others.contains("do not have the same rules"), "{others}");
    }

    #[test]
    fn reads_older_nodes() {
        let said =
            text(&answer(&[json!({ "snapshot": 3 }), json!({ "rules": "0011223344556677" }), json!("?")]));
        assert!(said.contains("version 3") && !said.contains("do not have"), "{said}");
    }
}

//! A look at servers as a careful operator takes it: what they are, how they are set up, and what that means for counters.

mod facts;
mod judge;

use std::sync::Arc;
use std::time::{Duration, Instant};

use redis::{Value, cmd};

use super::Client;
use super::address::Layout;
use super::node::Node;
use facts::Facts;

/// How often a server is asked whether it is there, to see how long that takes.
const PINGS: u32 = 50;

/// What was found at one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Examined {
    /// The server.
    pub shard: String,
    /// What is known of it: names and values, for people.
    pub facts: Vec<(&'static str, String)>,
    /// What is good, and what is not.
    pub findings: Vec<Finding>,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub weight: Weight,
    /// What was found.
    pub what: String,
    /// What follows from it.
    pub why: String,
    /// What to change.
    pub change: String,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Weight {
    /// It should be looked at.
    Warning,
    /// Counters are in danger.
    Error,
}

impl Client {
    /// Looks at every server that it knows of now. One that does not answer within the patience is a finding.
    pub async fn examine(&self, patience: Duration) -> Vec<Examined> {
        let nodes = self.topology.map().nodes.clone();
        let mut examined = Vec::new();
        for node in nodes {
            let facts = tokio::time::timeout(patience, facts(&node)).await.ok().flatten();
            let is_cluster = self.topology.layout == Layout::Cluster;
            examined.push(match facts {
                Some(facts) => {
                    let shown = facts.shown();
                    Examined {
                        shard: node.name().to_owned(),
                        facts: shown,
                        findings: judge::all(&facts, is_cluster),
                    }
                }
                None => Examined {
                    shard: node.name().to_owned(),
                    facts: Vec::new(),
                    findings: vec![judge::silent(patience)],
                },
            });
        }
        examined
    }
}

/// Asks a server about itself.
async fn facts(node: &Arc<Node>) -> Option<Facts> {
    node.up().await;
    let mut facts = Facts::default();
    facts.take_info(&text(node.ask(&cmd("INFO")).await?)?);
    for name in [
        "maxmemory",
        "maxmemory-policy",
        "cluster-require-full-coverage",
        "cluster-node-timeout",
        "save",
        "appendonly",
    ] {
        // Who may not ask for settings is told less.
        if let Some(value) = node.ask(cmd("CONFIG").arg("GET").arg(name)).await.and_then(pair) {
            facts.settings.insert(name, value);
        }
    }
    let mut took = Vec::new();
    for _ in 0..PINGS {
        let started = Instant::now();
        node.ask(&cmd("PING")).await?;
        took.push(started.elapsed());
    }
    took.sort_unstable();
    facts.latency = took.get(took.len() / 2).copied().zip(took.last().copied());
    Some(facts)
}

fn text(value: Value) -> Option<String> {
    match value {
        Value::BulkString(bytes) => String::from_utf8(bytes).ok(),
        Value::VerbatimString { text, .. } | Value::SimpleString(text) => Some(text),
        _ => None,
    }
}

/// The value of a setting, behind its name.
fn pair(value: Value) -> Option<String> {
    match value {
        Value::Array(parts) => text(parts.into_iter().nth(1)?),
        Value::Map(pairs) => text(pairs.into_iter().next()?.1),
        _ => None,
    }
}

#[cfg(test)]
mod tests;

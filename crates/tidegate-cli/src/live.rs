//! `tidegate validate --live`: a look at the servers of the store, with what to change and why.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use serde_json::{Value, json};
use tidegate_server::{Examined, Severity, examine};

use crate::exit::Failure;
use crate::output::{Format, print};
use crate::settings;

/// How long servers may take to be found, and each of them to answer.
const PATIENCE: Duration = Duration::from_secs(3);

/// What can be said to it.
#[derive(Args, Debug)]
pub(crate) struct LiveArgs {
    /// Look at the servers of the store in place of rules: how they are set up, what to change and why
    #[arg(long)]
    pub(crate) live: bool,
    /// The store, in place of the configuration's
    #[arg(long, value_name = "URL", requires = "live")]
    store: Option<String>,
    /// Check this configuration file, what it names and the rules of it; with --live, where the store is [env: TIDEGATE_CONFIG, with --live]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

pub(crate) fn run(args: &LiveArgs, format: Format, deny_warnings: bool) -> Result<(), Failure> {
    let flags = args.store.iter().map(|store| ("store", store.clone())).collect();
    let config = settings::load(&settings::given(args.config.as_ref(), flags))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let examined = runtime.context("cannot start the runtime")?.block_on(examine(&config, PATIENCE));
    let examined = examined.map_err(|error| Failure::Configuration(error.to_string()))?;
    match format {
        Format::Json => print(&format!("{:#}\n", as_json(&examined)))?,
        Format::Text => print(&text(&examined))?,
    }
    let worst = examined.iter().flat_map(|one| &one.findings).map(|finding| finding.weight).max();
    let fails = worst == Some(Severity::Error) || deny_warnings && worst.is_some();
    if fails { Err(Failure::InvalidRules) } else { Ok(()) }
}

const fn word(weight: Severity) -> &'static str {
    match weight {
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

fn text(examined: &[Examined]) -> String {
    if examined.is_empty() {
        return "counters live in memory: there is no server to look at\n".to_owned();
    }
    examined.iter().map(one_server).collect()
}

fn one_server(one: &Examined) -> String {
    let facts = one.facts.iter().map(|(name, value)| format!("  {name:<10} {value}\n"));
    let findings = one.findings.iter().map(|finding| {
        let (what, why, change) = (&finding.what, &finding.why, &finding.change);
        format!("  {}: {what}\n    why: {why}\n    do:  {change}\n", word(finding.weight))
    });
    let all_well = one.findings.is_empty().then(|| "  ok: nothing to change\n".to_owned());
    let head = std::iter::once(format!("{}\n", one.shard));
    head.chain(facts).chain(findings).chain(all_well).collect()
}

fn as_json(examined: &[Examined]) -> Value {
    let server = |one: &Examined| {
        let facts: serde_json::Map<String, Value> =
            one.facts.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        let findings: Vec<Value> = one
            .findings
            .iter()
            .map(|finding| {
                json!({ "severity": word(finding.weight), "what": finding.what, "why": finding.why, "change": finding.change })
            })
            .collect();
        json!({ "server": one.shard, "facts": facts, "findings": findings })
    };
    json!({ "servers": examined.iter().map(server).collect::<Vec<_>>() })
}

//! `tidegate validate`: what is wrong with rule files, and what they come to.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use serde_json::{Value, json};
use tidegate_rules::{Compiled, Severity, Snapshot, homes, schema, table};

use crate::exit::Failure;
use crate::idle_rules;
use crate::live::{self, LiveArgs};
use crate::output::{Format, print, talk};
use crate::rules_folder;
use crate::settings;

/// Checks rule files and shows the effective limit of each rule; with --config, the settings of a server too.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tidegate validate ./rules\n  tidegate validate api.yaml --format json\n  tidegate validate ./rules --deny-warnings   # for CI\n  tidegate validate --config tidegate.yaml    # the settings, then their rules\n  tidegate validate --live --store redis://localhost:6379\n  tidegate validate --server http://127.0.0.1:6070   # rules that do nothing on a running server\n\nExit codes: 0 all of it can be used, 3 it cannot, or there are no rules."
)]
pub(crate) struct ValidateArgs {
    /// A folder of rule files, or one file [default: that of the configuration file; the folder rules, if it is here, or this folder]
    path: Option<PathBuf>,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Fail on warnings too
    #[arg(long)]
    deny_warnings: bool,
    /// Print the JSON Schema of rule files, for editors, and do nothing else
    #[arg(long)]
    schema: bool,
    /// Print the rules of a running server that never matched, and those whose keys were absent, in place of checking files; the address of its admin door
    #[arg(long, value_name = "ADDR", conflicts_with_all = ["path", "live", "config"])]
    server: Option<String>,
    #[command(flatten)]
    live: LiveArgs,
}

pub(crate) fn run(args: &ValidateArgs) -> Result<(), Failure> {
    if args.schema {
        print(&format!("{:#}\n", schema::json_schema()))?;
        return Ok(());
    }
    if let Some(server) = &args.server {
        return idle_rules::run(server, args.format, args.deny_warnings);
    }
    if args.live.live {
        return live::run(&args.live, args.format, args.deny_warnings);
    }
    let (path, attributes) = rules(args)?;
    let Some(path) = path else {
        return without_rules(args.format);
    };
    let compiled = rules_folder::read_beside(&path, attributes)?;
    let (errors, warnings) = (compiled.count(Severity::Error), compiled.count(Severity::Warning));
    match args.format {
        Format::Json => print(&format!("{:#}\n", as_json(&compiled)))?,
        Format::Text => {
            talk(&compiled.render());
            if let Some(snapshot) = compiled.snapshot.as_ref().filter(|_| !is_empty(&compiled)) {
                print(&table::text(&table::rows(snapshot)))?;
                print(&together(snapshot))?;
            }
            if !is_empty(&compiled) {
                talk(&format!("{}\n", summary(&compiled, errors, warnings)));
            }
        }
    }
    if is_empty(&compiled) {
        return Err(rules_folder::empty(&path));
    }
    let fails = compiled.snapshot.is_none() || (args.deny_warnings && warnings > 0);
    if fails { Err(Failure::InvalidRules) } else { Ok(()) }
}

/// The folder of the rules, `None` if the configuration has none, and the attributes that the configuration declares.
/// Errors of the configuration are printed first.
fn rules(args: &ValidateArgs) -> Result<(Option<PathBuf>, Vec<String>), Failure> {
    let Some(file) = &args.live.config else {
        let default = || settings::default_rules().unwrap_or_else(|| ".".into());
        return Ok((Some(args.path.clone().unwrap_or_else(default)), Vec::new()));
    };
    let config = settings::examined(file)?;
    talk(&format!("ok: {} can be used\n", file.display()));
    let attributes = config.trust.named_attributes();
    Ok((args.path.clone().or(config.rules), attributes))
}

fn without_rules(format: Format) -> Result<(), Failure> {
    match format {
        Format::Json => print(&format!(
            "{:#}\n",
            json!({ "valid": true, "errors": 0, "warnings": 0, "diagnostics": [] })
        ))?,
        Format::Text => talk("note: it names no rules, so everything passes\n"),
    }
    Ok(())
}

/// Whether nothing is wrong because nothing is there.
fn is_empty(compiled: &Compiled) -> bool {
    compiled.snapshot.as_ref().is_some_and(|snapshot| snapshot.rules() == 0)
}

fn summary(compiled: &Compiled, errors: usize, warnings: usize) -> String {
    let counted = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let (files, found) = (counted(compiled.files.len(), "file"), counted(warnings, "warning"));
    match &compiled.snapshot {
        Some(snapshot) => format!("ok: {files}, {}, {found}", counted(snapshot.rules(), "rule")),
        None => format!("the rules cannot be used: {}, {found}", counted(errors, "error")),
    }
}

fn as_json(compiled: &Compiled) -> Value {
    let diagnostics: Vec<Value> = compiled.files.iter().flat_map(of_file).collect();
    let rows = compiled.snapshot.as_ref().map(table::rows).unwrap_or_default();
    let rules: Vec<Value> = rows.iter().map(row).collect();
    json!({
        "valid": compiled.snapshot.is_some() && !is_empty(compiled),
        "errors": compiled.count(Severity::Error),
        "warnings": compiled.count(Severity::Warning),
        "diagnostics": diagnostics,
        "rules": rules,
        "homes": compiled.snapshot.as_ref().map(homes::of).unwrap_or_default().iter().map(home).collect::<Vec<_>>(),
    })
}

fn of_file(file: &tidegate_rules::File) -> Vec<Value> {
    let one = |diagnostic: &tidegate_rules::Diagnostic| {
        let (start, end) = (file.source.place(diagnostic.span.start), file.source.place(diagnostic.span.end));
        json!({
            "severity": match diagnostic.severity { Severity::Error => "error", Severity::Warning => "warning" },
            "code": diagnostic.code,
            "message": diagnostic.message,
            "file": file.source.name(),
            "line": start.line,
            "column": start.column,
            "end_line": end.line,
            "end_column": end.column,
            "label": diagnostic.label,
            "help": diagnostic.help,
        })
    };
    file.diagnostics.iter().map(one).collect()
}

/// Which rules of each domain are charged in one step.
fn together(snapshot: &Snapshot) -> String {
    let homes = homes::text(&homes::of(snapshot));
    if homes.is_empty() {
        homes
    } else {
        format!("\nCharged in one step on a Cluster, by domain and home:\n{homes}")
    }
}

fn home(home: &homes::Together) -> Value {
    json!({ "domain": home.domain, "home": home.home, "rules": home.rules })
}

fn row(row: &table::Row) -> Value {
    json!({
        "domain": row.domain, "rule": row.rule, "matches": row.matches, "by": row.by, "tier": row.tier,
        "limit": row.limit, "algorithm": row.algorithm, "class": row.class, "mode": row.mode, "home": row.home,
    })
}

//! `tidegate explain`: which rules a request meets, what it is charged where, and why not by the others.

use std::path::PathBuf;
use std::time::SystemTime;

use anyhow::{Result, anyhow};
use clap::Args;
use serde_json::{Value, json};
use tidegate_core::Timestamp;
use tidegate_engine::Check;
use tidegate_engine::explain::explain;
use tidegate_rules::schedule::instant as instant_of;
use tidegate_server::explanation;

use crate::ask::{Client, Pairs, pairs};
use crate::exit::Failure;
use crate::output::{Format, print, talk};
use crate::rules_folder;

/// Says which rules a request meets, in order, what would be charged where, and why not the others.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tidegate explain ./rules --domain api method=POST path=/v1/orders api_key=k1\n  tidegate explain --server http://127.0.0.1:6070 --domain api path=/login ip=192.0.2.1\n\nExit codes: 0 ok, 1 something failed, 2 wrong usage, 3 wrong rules, 4 unreachable or unauthorised."
)]
pub(crate) struct ExplainArgs {
    /// A folder of rule files or one file, unless a server is asked; then attributes as name=value
    #[arg(required = true)]
    words: Vec<String>,
    /// The domain
    #[arg(long, default_value = "api")]
    domain: String,
    /// Ask a running server (the address of its admin door) about the rules that are in force there; if it wants a token, TIDEGATE_TOKEN_FILE names its file
    #[arg(long)]
    server: Option<String>,
    /// As if at that instant, such as 2026-12-24T18:00:00Z; now by default
    #[arg(long)]
    at: Option<String>,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(args: &ExplainArgs) -> Result<(), Failure> {
    let said = if let Some(server) = &args.server { remote(args, server)? } else { local(args)? };
    match args.format {
        Format::Json => print(&format!("{said:#}\n"))?,
        Format::Text => print(&text(&said))?,
    }
    Ok(())
}

fn local(args: &ExplainArgs) -> Result<Value, Failure> {
    let wrong = |message: String| Err(Failure::Usage(message));
    let Some((path, rest)) = args.words.split_first() else { return wrong("name a folder of rules".into()) };
    if let Some((name, _)) = path.split_once('=') {
        return wrong(format!(
            "`{name}=…` is an attribute; the first word is the folder of rules\nhint: tidegate explain ./rules {name}=…"
        ));
    }
    let (attributes, at) = (pairs(rest)?, instant(args.at.as_deref())?);
    let path = PathBuf::from(path);
    let compiled = rules_folder::read(&path)?;
    let Some(snapshot) = &compiled.snapshot else {
        talk(&compiled.render());
        return Err(Failure::InvalidRules);
    };
    if snapshot.rules() == 0 {
        return Err(rules_folder::empty(&path));
    }
    let attributes: Vec<(&str, &str)> =
        attributes.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let check = Check { attributes: &attributes, ..Check::new(&args.domain) };
    let explanation = explain(&check, snapshot, at)?;
    Ok(explanation::to_json(&explanation))
}

fn remote(args: &ExplainArgs, server: &str) -> Result<Value, Failure> {
    let attributes: Pairs = pairs(&args.words)?;
    let attributes: serde_json::Map<String, Value> =
        attributes.into_iter().map(|(name, value)| (name, json!(value))).collect();
    let mut body = json!({ "domain": args.domain, "attributes": attributes });
    if let Some(at) = &args.at {
        // What the server could not read either is wrong usage, not its failure.
        instant(Some(at))?;
        body["at"] = json!(at);
    }
    let (status, answer) = Client::new(server)?.post("/admin/v1/explain", &body)?;
    if status != 200 {
        return Err(anyhow!("the server answered {status}: {answer}").into());
    }
    Ok(answer)
}

fn instant(at: Option<&str>) -> Result<Timestamp, Failure> {
    if let Some(at) = at {
        let wrong = || Failure::Usage(format!("`{at}` is no instant\nhint: write 2026-12-24T18:00:00Z"));
        return instant_of(at).ok_or_else(wrong);
    }
    let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Ok(Timestamp::from_micros(u64::try_from(wall.as_micros()).unwrap_or(u64::MAX)))
}

fn text(said: &Value) -> String {
    use std::fmt::Write as _;
    let mut out = String::new();
    let mut line = |text: String| writeln!(out, "{text}").expect("a string can always grow");
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if said["known_domain"] == json!(false) {
        return "the rules have no such domain: every request passes\n".to_owned();
    }
    if let Some(tenant) = said["tenant"].as_str() {
        line(format!("tenant: {tenant}"));
    }
    for (name, value) in said["derived"].as_object().into_iter().flatten() {
        line(format!("derived: {name} = {}", word(value)));
    }
    for rule in said["rules"].as_array().into_iter().flatten() {
        let switched = rule["switched_to"].as_str().map(|mode| format!(" [switched to {mode}]"));
        let head =
            format!("{} ({}){}", word(&rule["rule"]), word(&rule["origin"]), switched.unwrap_or_default());
        match rule["part"].as_str() {
            Some("alone") => line(format!("! {head}: decides by itself")),
            Some("applies") => {
                let role = if rule["decides"] == json!(true) { "decides" } else { "is only reported" };
                line(format!("+ {head}: applies and {role}"));
                for charge in rule["charges"].as_array().into_iter().flatten() {
                    let tier =
                        charge["tier"].as_str().map(|tier| format!(" (tier {tier})")).unwrap_or_default();
                    line(format!(
                        "    {} {}{tier}: {} from the counter of {}",
                        word(&charge["policy"]),
                        word(&charge["limit"]),
                        charge["cost"],
                        word(&charge["counter"])
                    ));
                }
            }
            _ => line(format!("- {head}: {}", word(&rule["why"]))),
        }
    }
    out
}

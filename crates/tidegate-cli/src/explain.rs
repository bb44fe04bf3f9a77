//! `tidegate explain`: which rules a request meets, what it is charged where, and why not by the others.

use std::path::PathBuf;

use anyhow::{Result, anyhow};
use clap::Args;
use serde_json::{Value, json};
use tidegate_core::Timestamp;
use tidegate_engine::explain::explain;
use tidegate_engine::{Check, Descriptor};
use tidegate_rules::Snapshot;
use tidegate_rules::schedule::instant as instant_of;
use tidegate_server::explanation;

use crate::ask::{Client, Pairs, pairs};
use crate::check::unknown_domain;
use crate::exit::Failure;
use crate::output::{Format, print, talk};
use crate::{rules_folder, settings};

/// Says which rules a request meets, in order, what would be charged where, and why not the others.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tidegate explain ./rules --domain api method=POST path=/v1/orders api_key=k1\n  tidegate explain --descriptor remote_address=192.0.2.1,path=/login --descriptor generic_key=slow\n  tidegate explain --server http://127.0.0.1:6070 --domain api path=/login ip=192.0.2.1\n\nExit codes: 0 ok, 1 something failed, 2 wrong usage, 3 wrong rules, 4 unreachable or unauthorised."
)]
pub(crate) struct ExplainArgs {
    /// A folder of rule files or one file, unless a server is asked [default: the folder rules, if it is here]; then attributes as name=value
    words: Vec<String>,
    /// The domain [default: the only one of the rules]
    #[arg(long)]
    domain: Option<String>,
    /// A descriptor as Envoy sends it, as key=value,key=value; once for each descriptor
    #[arg(long = "descriptor", value_name = "ENTRIES")]
    descriptors: Vec<String>,
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
    if said["known_domain"] == json!(false) {
        return Err(unknown_domain(said["domain"].as_str(), &said["nearest_domain"]));
    }
    Ok(())
}

/// The folder of rules and the words behind it.
fn folder(args: &ExplainArgs) -> Result<(PathBuf, &[String]), Failure> {
    let wrong = |message: String| Err(Failure::Usage(message));
    match (args.words.split_first(), settings::default_rules()) {
        (Some((first, rest)), _) if !first.contains('=') => Ok((PathBuf::from(first), rest)),
        (_, Some(folder)) => Ok((folder, &args.words)),
        (Some((first, _)), None) => {
            let name = first.split_once('=').map_or("", |(name, _)| name);
            wrong(format!(
                "`{name}=…` is an attribute; the first word is the folder of rules\nhint: tidegate explain ./rules {name}=…"
            ))
        }
        (None, None) => wrong("name a folder of rules\nhint: tidegate explain ./rules path=/x".to_owned()),
    }
}

/// Descriptors as typed: entries with commas between.
fn descriptors(typed: &[String]) -> Result<Vec<Pairs>, Failure> {
    let entries = |text: &String| pairs(&text.split(',').map(str::to_owned).collect::<Vec<_>>());
    typed.iter().map(entries).collect()
}

fn borrowed(pairs: &Pairs) -> Vec<(&str, &str)> {
    pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

fn local(args: &ExplainArgs) -> Result<Value, Failure> {
    let (path, rest) = folder(args)?;
    let (attributes, at) = (pairs(rest)?, instant(args.at.as_deref())?);
    let descriptors = descriptors(&args.descriptors)?;
    let compiled = rules_folder::read(&path)?;
    let Some(snapshot) = &compiled.snapshot else {
        talk(&compiled.render());
        return Err(Failure::InvalidRules);
    };
    if snapshot.rules() == 0 {
        return Err(rules_folder::empty(&path));
    }
    let domain = match (&args.domain, snapshot.sole_domain()) {
        (Some(domain), _) => domain.as_str(),
        (None, Some(sole)) => &sole.name,
        (None, None) => return Err(Failure::Usage(several_domains(snapshot))),
    };
    let attributes = borrowed(&attributes);
    let entries: Vec<_> = descriptors.iter().map(borrowed).collect();
    let descriptors: Vec<_> = entries.iter().map(|entries| Descriptor::new(entries)).collect();
    let check = Check { attributes: &attributes, descriptors: &descriptors, ..Check::new(domain) };
    let explanation = explain(&check, snapshot, at)?;
    Ok(explanation::to_json(&explanation, domain, snapshot))
}

fn several_domains(snapshot: &Snapshot) -> String {
    let names: Vec<_> = snapshot.domains().map(|domain| &*domain.name).collect();
    format!("the rules have several domains\nhint: name one with --domain: {}", names.join(", "))
}

fn remote(args: &ExplainArgs, server: &str) -> Result<Value, Failure> {
    let attributes: Pairs = pairs(&args.words)?;
    let attributes: serde_json::Map<String, Value> =
        attributes.into_iter().map(|(name, value)| (name, json!(value))).collect();
    let mut body = json!({ "attributes": attributes });
    if let Some(domain) = &args.domain {
        body["domain"] = json!(domain);
    }
    if !args.descriptors.is_empty() {
        body["descriptors"] = json!(descriptors(&args.descriptors)?);
    }
    if let Some(at) = &args.at {
        // What the server could not read either is wrong usage, not its failure.
        instant(Some(at))?;
        body["at"] = json!(at);
    }
    let (status, answer) = Client::new(server)?.post("/admin/v1/explain", &body)?;
    if status != 200 {
        let said = answer["detail"].as_str().unwrap_or("no reason given");
        return Err(anyhow!("the server answered {status}: {said}").into());
    }
    Ok(answer)
}

fn instant(at: Option<&str>) -> Result<Timestamp, Failure> {
    if let Some(at) = at {
        return instant_of(at)
            .map_err(|error| Failure::Usage(format!("{}\nhint: {}", error.message, error.help)));
    }
    Ok(rules_folder::now())
}

fn text(said: &Value) -> String {
    use std::fmt::Write as _;
    let mut out = String::new();
    let mut line = |text: String| writeln!(out, "{text}").expect("a string can always grow");
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_descriptors() {
        let typed = |typed: &str| descriptors(&[typed.to_owned()]);
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(typed("k=v,k2=a=b").unwrap(), [vec![pair("k", "v"), pair("k2", "a=b")]]);
        for wrong in ["k", "", "k=v,", "=v"] {
            assert!(matches!(typed(wrong), Err(Failure::Usage(_))), "{wrong}");
        }
    }
}

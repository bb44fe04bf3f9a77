//! `tidegate rules list`.

use std::fmt::Write as _;

use clap::Args;
use serde_json::{Value, json};

use super::Asking;
use crate::exit::Failure;
use crate::human;
use crate::output::{Format, print};

#[derive(Args, Debug)]
pub(super) struct ListArgs {
    /// Only the rules of that domain
    #[arg(long)]
    domain: Option<String>,
    #[command(flatten)]
    asking: Asking,
}

pub(super) fn run(args: &ListArgs) -> Result<(), Failure> {
    let rules = args.asking.ask("GET", "/admin/v1/rules", None)?;
    let switches = args.asking.ask("GET", "/admin/v1/switches", None)?;
    let domains = items(&rules["domains"]).filter(|domain| args.is_asked(&domain["name"]));
    let switches = items(&switches["switches"])
        .filter(|switch| switch["domain"].is_null() || args.is_asked(&switch["domain"]));
    let domains: Vec<&Value> = domains.collect();
    let switches: Vec<&Value> = switches.collect();
    match args.asking.format {
        Format::Json => {
            let all = json!({ "version": rules["version"], "domains": domains, "switches": switches });
            print(&format!("{all:#}\n"))?;
        }
        Format::Text => print(&text(&domains, &switches))?,
    }
    Ok(())
}

impl ListArgs {
    fn is_asked(&self, domain: &Value) -> bool {
        self.domain.as_ref().is_none_or(|asked| domain.as_str() == Some(asked))
    }
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or("-")
}

fn text(domains: &[&Value], switches: &[&Value]) -> String {
    let mut lines = vec![["DOMAIN", "RULE", "MODE", "WRITTEN", "LIMITS"].map(str::to_owned)];
    for domain in domains {
        lines.extend(items(&domain["rules"]).map(|rule| line(domain, rule)));
    }
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 5] = std::array::from_fn(width);
    let padded = |line: &[String; 5]| {
        let cells = line.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    let mut text: String = lines.iter().map(padded).collect();
    if !switches.is_empty() {
        text.push_str("\nSwitches:\n");
    }
    for switch in switches {
        writeln!(text, "  {}", told(switch)).expect("a string can always grow");
    }
    text
}

fn line(domain: &Value, rule: &Value) -> [String; 5] {
    let limits = items(&rule["limits"]).map(|limit| match limit["tier"].as_str() {
        Some(tier) => format!("{tier}: {}", word(&limit["limit"])),
        None => word(&limit["limit"]).to_owned(),
    });
    let limits = limits.collect::<Vec<_>>().join(", ");
    let mode =
        word(&rule["mode"]).to_owned() + if rule["switched"] == json!(true) { " (switched)" } else { "" };
    let does = if limits.is_empty() { word(&rule["action"]).to_owned() } else { limits };
    [
        word(&domain["name"]).to_owned(),
        word(&rule["name"]).to_owned(),
        mode,
        word(&rule["written_mode"]).to_owned(),
        does,
    ]
}

/// A switch in words.
pub(super) fn told(switch: &Value) -> String {
    let on = match (switch["domain"].as_str(), switch["rule"].as_str()) {
        (Some(domain), Some(rule)) => format!("{rule} of {domain}"),
        (Some(domain), None) => format!("all of {domain}"),
        _ => "everything".to_owned(),
    };
    let ends = switch["ends_after_ms"].as_u64().map(|ms| format!(", ends {}", human::ahead(ms)));
    let ends = ends.unwrap_or_default();
    let reason = switch["reason"].as_str().map(|reason| format!(" ({reason})")).unwrap_or_default();
    let is_idle = switch["rules"] == json!(0) && !switch["domain"].is_null();
    let idle = if is_idle { "; there is no such rule now" } else { "" };
    format!("{on}: {}{ends}{reason}{idle}", word(&switch["mode"]))
}

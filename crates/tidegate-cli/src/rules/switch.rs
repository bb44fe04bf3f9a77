//! `tidegate rules off`, `shadow`, `enforce` and `on`.

use std::io::IsTerminal as _;

use anyhow::anyhow;
use clap::Args;
use serde_json::{Value, json};

use super::Asking;
use super::list::told;
use crate::ask::segment;
use crate::exit::Failure;
use crate::output::{Format, print, talk};

/// What is switched.
#[derive(Args, Debug)]
#[group(id = "target", required = true, multiple = false)]
struct Which {
    /// The rule
    name: Option<String>,
    /// All rules of the domain, or of all domains if none is named
    #[arg(long)]
    all: bool,
}

#[derive(Args, Debug)]
pub(super) struct SetArgs {
    #[command(flatten)]
    which: Which,
    /// The domain [default: for a rule the only one of the rules, or api; every domain with --all]
    #[arg(long)]
    domain: Option<String>,
    /// Take it back by itself after that long, such as 10m; 1s to 30d
    #[arg(long = "for", value_name = "TIME")]
    lasts: Option<String>,
    /// Why, for the log and the list of switches
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    asking: Asking,
}

#[derive(Args, Debug)]
pub(super) struct OnArgs {
    #[command(flatten)]
    which: Which,
    /// The domain [default: for a rule the only one of the rules, or api; every domain with --all]
    #[arg(long)]
    domain: Option<String>,
    /// Drop switches of domains and rules with those of all, without asking
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    asking: Asking,
}

/// A domain and a rule; without a rule all of the domain, without a domain everything.
struct Target<'a>(Option<&'a str>, Option<&'a str>);

pub(super) fn set(args: &SetArgs, mode: &str) -> Result<(), Failure> {
    let domain = domain(&args.which, args.domain.as_deref(), &args.asking)?;
    let target = Target(domain.as_deref(), args.which.name.as_deref());
    let body = json!({ "mode": mode, "for": args.lasts, "reason": args.reason });
    let answer = args.asking.ask("PUT", &target.path(), Some(&body))?;
    if args.asking.format == Format::Json {
        print(&format!("{answer:#}\n"))?;
        return Ok(());
    }
    let set = switches(&answer).find(|switch| target.is(switch));
    print(&format!("{}\n", set.map_or_else(|| format!("{}: {mode}", target.told()), told)))?;
    for switch in switches(&answer).filter(|switch| target.is_wider_than(switch)) {
        talk(&format!("note: a narrower switch still holds: {}\n", told(switch)));
    }
    talk(
        "note: this holds on this server until it is taken back or restarted; `tidegate rules on` takes it back\n",
    );
    Ok(())
}

pub(super) fn take_back(args: &OnArgs) -> Result<(), Failure> {
    let domain = domain(&args.which, args.domain.as_deref(), &args.asking)?;
    let target = Target(domain.as_deref(), args.which.name.as_deref());
    if args.which.all && !args.yes {
        let set = args.asking.ask("GET", "/admin/v1/switches", None)?;
        let dropped: Vec<String> =
            switches(&set).filter(|switch| target.is_wider_than(switch)).map(told).collect();
        if !dropped.is_empty() {
            confirm(&dropped)?;
        }
    }
    let answer = args.asking.ask("DELETE", &target.path(), None)?;
    if args.asking.format == Format::Json {
        print(&format!("{answer:#}\n"))?;
        return Ok(());
    }
    print(&format!("{}: as written\n", target.told()))?;
    // What is left on more than that still has the say.
    for switch in switches(&answer).filter(|switch| target.is_part_of(switch)) {
        talk(&format!("note: another switch still holds: {}\n", told(switch)));
    }
    Ok(())
}

/// The domain that is meant; `None` for all of them.
fn domain(which: &Which, named: Option<&str>, asking: &Asking) -> Result<Option<String>, Failure> {
    if named.is_some() || which.all {
        return Ok(named.map(str::to_owned));
    }
    let summary = asking.ask("GET", "/admin/v1/snapshot", None)?;
    let domains = summary["domains"].as_array().map(Vec::as_slice).unwrap_or_default();
    let names: Vec<&str> = domains.iter().filter_map(|domain| domain["name"].as_str()).collect();
    match names.as_slice() {
        [only] => Ok(Some((*only).to_owned())),
        [] => Err(Failure::Usage("the server has no rules\nhint: name the domain with --domain".to_owned())),
        _ => Err(Failure::Usage(format!(
            "the rules have several domains: {}\nhint: name one with --domain",
            names.join(", ")
        ))),
    }
}

/// Asks on a terminal whether these switches may go too. Without a terminal, scripts have to pass `--yes`.
fn confirm(dropped: &[String]) -> Result<(), Failure> {
    let said = format!("this drops narrower switches as well:\n  {}\n", dropped.join("\n  "));
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Err(Failure::Usage(format!("{said}hint: --yes drops them without asking")));
    }
    talk(&format!("{said}drop them? [y/N] "));
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    if is_yes(&answer) { Ok(()) } else { Err(anyhow!("nothing was changed").into()) }
}

fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

fn switches(answer: &Value) -> impl Iterator<Item = &Value> {
    answer["switches"].as_array().into_iter().flatten()
}

impl Target<'_> {
    fn path(&self) -> String {
        let parts = self.0.into_iter().chain(self.1);
        parts.fold("/admin/v1/switches".to_owned(), |path, part| format!("{path}/{}", segment(part)))
    }

    fn told(&self) -> String {
        match (self.0, self.1) {
            (Some(domain), Some(rule)) => format!("{rule} of {domain}"),
            (Some(domain), None) => format!("all of {domain}"),
            _ => "everything".to_owned(),
        }
    }

    fn is(&self, switch: &Value) -> bool {
        switch["domain"].as_str() == self.0 && switch["rule"].as_str() == self.1
    }

    /// Whether a switch is on a part of the target: it has the say there, and goes with it.
    fn is_wider_than(&self, switch: &Value) -> bool {
        let is_inside = self.0.is_none() || switch["domain"].as_str() == self.0;
        self.1.is_none() && is_inside && !self.is(switch)
    }

    fn is_part_of(&self, switch: &Value) -> bool {
        let is_wider = switch["rule"].is_null();
        is_wider && (switch["domain"].is_null() || switch["domain"].as_str() == self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_narrower_switches() {
        let switch = |domain: Option<&str>, rule: Option<&str>| json!({ "domain": domain, "rule": rule });
        let (all, api, rule) =
            (switch(None, None), switch(Some("api"), None), switch(Some("api"), Some("a")));
        let everything = Target(None, None);
        assert!(
            !everything.is_wider_than(&all)
                && everything.is_wider_than(&api)
                && everything.is_wider_than(&rule)
        );
        let domain = Target(Some("api"), None);
        assert!(!domain.is_wider_than(&all) && !domain.is_wider_than(&api) && domain.is_wider_than(&rule));
        assert!(!Target(Some("web"), None).is_wider_than(&rule));
        assert!(!Target(Some("api"), Some("a")).is_wider_than(&rule));
    }

    #[test]
    fn only_yes_is_yes() {
        assert!(is_yes("y\n") && is_yes("Yes\n"));
        assert!(!is_yes("\n") && !is_yes("no\n") && !is_yes(""));
    }
}

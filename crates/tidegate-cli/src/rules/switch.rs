//! `tidegate rules off`, `shadow`, `enforce` and `on`.

use clap::Args;
use serde_json::{Value, json};

use super::Asking;
use super::list::told;
use crate::ask::segment;
use crate::exit::Failure;
use crate::output::{Format, print, talk};

/// The domain of a rule unless one is named, as `check` and `explain` have it.
const DEFAULT_DOMAIN: &str = "api";

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
    /// The domain [default: api for a rule; every domain with --all]
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
    /// The domain [default: api for a rule; every domain with --all]
    #[arg(long)]
    domain: Option<String>,
    #[command(flatten)]
    asking: Asking,
}

/// A domain and a rule; without a rule all of the domain, without a domain everything.
struct Target<'a>(Option<&'a str>, Option<&'a str>);

pub(super) fn set(args: &SetArgs, mode: &str) -> Result<(), Failure> {
    let target = Target::of(&args.which, args.domain.as_deref());
    let body = json!({ "mode": mode, "for": args.lasts, "reason": args.reason });
    let answer = args.asking.ask("PUT", &target.path(), Some(&body))?;
    if args.asking.format == Format::Json {
        print(&format!("{answer:#}\n"))?;
        return Ok(());
    }
    let set = switches(&answer).find(|switch| target.is(switch));
    print(&format!("{}\n", set.map_or_else(|| format!("{}: {mode}", target.told()), told)))?;
    talk(
        "note: this holds on this server until it is taken back or restarted; `tidegate rules on` takes it back\n",
    );
    Ok(())
}

pub(super) fn take_back(args: &OnArgs) -> Result<(), Failure> {
    let target = Target::of(&args.which, args.domain.as_deref());
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

fn switches(answer: &Value) -> impl Iterator<Item = &Value> {
    answer["switches"].as_array().into_iter().flatten()
}

impl<'a> Target<'a> {
    fn of(which: &'a Which, domain: Option<&'a str>) -> Self {
        match which.name.as_deref() {
            Some(rule) => Self(Some(domain.unwrap_or(DEFAULT_DOMAIN)), Some(rule)),
            None => Self(domain, None),
        }
    }

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

    fn is_part_of(&self, switch: &Value) -> bool {
        let is_wider = switch["rule"].is_null();
        is_wider && (switch["domain"].is_null() || switch["domain"].as_str() == self.0)
    }
}

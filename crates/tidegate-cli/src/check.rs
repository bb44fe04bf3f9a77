//! `tidegate check`: asks a running server.

use anyhow::anyhow;
use clap::Args;
use serde_json::{Value, json};

use crate::ask::{Client, pairs};
use crate::exit::Failure;
use crate::human;
use crate::output::{Format, print};

/// Asks a running server whether a request may pass. Exit code 5 if not.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tidegate check --domain api api_key=k1 path=/v1/orders method=POST\n  tidegate check --peek api_key=k1 && echo would pass\n  tidegate check --reserve user=a tokens=1000\n\nThe id that is printed names the decision: for `tidegate release` if it holds a slot, for `commit` and `cancel` with --reserve.\n\nExit codes: 0 allowed, 1 the rules have no such domain, 5 denied, 4 unreachable or unauthorised."
)]
pub(crate) struct CheckArgs {
    /// Attributes, as name=value
    attributes: Vec<String>,
    /// The server's HTTP door; if it wants a token, TIDEGATE_TOKEN_FILE names its file
    #[arg(long, default_value = "http://127.0.0.1:8080", env = "TIDEGATE_SERVER")]
    server: String,
    /// The domain [default: the only one of the rules]
    #[arg(long)]
    domain: Option<String>,
    /// How many times the cost of one request
    #[arg(long, default_value_t = 1)]
    cost: u64,
    /// Only ask: charge nothing
    #[arg(long)]
    peek: bool,
    /// Charge an estimate that `tidegate commit` or `cancel` settles within a minute
    #[arg(long, conflicts_with = "peek")]
    reserve: bool,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(args: &CheckArgs) -> Result<(), Failure> {
    let attributes: serde_json::Map<String, Value> =
        pairs(&args.attributes)?.into_iter().map(|(name, value)| (name, json!(value))).collect();
    let mut body = json!({ "attributes": attributes, "cost": args.cost });
    if let Some(domain) = &args.domain {
        body["domain"] = json!(domain);
    }
    let path = match (args.peek, args.reserve) {
        (true, _) => "/v1/peek",
        (_, true) => "/v1/reserve",
        _ => "/v1/check",
    };
    let (status, answer) = Client::new(&args.server)?.post(path, &body)?;
    let Some(decision) = answer["decision"].as_str() else {
        let detail = answer["detail"].as_str().or(answer["title"].as_str()).unwrap_or("no reason given");
        return Err(anyhow!("the server answered {status}: {detail}").into());
    };
    match args.format {
        Format::Json => print(&format!("{answer:#}\n"))?,
        Format::Text => print(&text(decision, &answer))?,
    }
    if answer["reason"] == "no-such-domain" {
        return Err(unknown_domain(args.domain.as_deref(), &answer["nearest_domain"]));
    }
    if matches!(decision, "deny" | "shed" | "challenge") { Err(Failure::Denied) } else { Ok(()) }
}

/// A domain that the rules do not have, with the one that may have been meant.
pub(crate) fn unknown_domain(domain: Option<&str>, nearest: &Value) -> Failure {
    let hint = match nearest.as_str() {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => "`tidegate rules list` shows the domains of a server".to_owned(),
    };
    let domain = domain.unwrap_or_default().escape_debug();
    anyhow!("the rules have no domain `{domain}`: every request passes\nhint: {hint}").into()
}

fn text(decision: &str, answer: &Value) -> String {
    let rules = deciding(decision, answer);
    let by = if rules.is_empty() { String::new() } else { format!(" by {}", rules.join(", ")) };
    let head = format!("{decision}{by} ({})\n", answer["reason"].as_str().unwrap_or("-"));
    let id = answer["id"].as_str().map(|id| format!("  id {id}\n"));
    let limits = answer["limits"].as_array().into_iter().flatten().map(limit);
    std::iter::once(head).chain(id).chain(limits).collect()
}

/// The rules that refused, or that held back or degraded what passes.
fn deciding<'a>(decision: &str, answer: &'a Value) -> Vec<&'a str> {
    let list = |list: &'a Value| list.as_array().into_iter().flatten();
    let denied: Vec<_> = list(&answer["denied_by"]).filter_map(Value::as_str).collect();
    if !denied.is_empty() || !matches!(decision, "degrade" | "delay") {
        return denied;
    }
    let exceeded = |limit: &&Value| limit["allowed"] == json!(false) && limit["mode"] == "enforce";
    let mut rules: Vec<_> =
        list(&answer["limits"]).filter(exceeded).filter_map(|limit| limit["rule"].as_str()).collect();
    rules.dedup();
    rules
}

fn limit(limit: &Value) -> String {
    let retry = limit["retry_after_ms"].as_u64();
    let retry = retry.map(|ms| format!(", again {}", human::ahead(ms))).unwrap_or_default();
    let mode = limit["mode"].as_str().filter(|mode| *mode != "enforce").map(|mode| format!(" [{mode}]"));
    format!(
        "  {}: {} of {} left, whole again {}{retry}{}\n",
        limit["rule"].as_str().unwrap_or("-"),
        limit["remaining"],
        limit["limit"],
        human::ahead(limit["reset_after_ms"].as_u64().unwrap_or(0)),
        mode.unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_deciding_rule_and_id() {
        let limit = |rule: &str, allowed: bool| {
            json!({ "rule": rule, "limit": 5, "remaining": 0, "reset_after_ms": 1_036_800_000, "retry_after_ms": 65_000,
                    "mode": "enforce", "allowed": allowed })
        };
        let denied = json!({ "id": "5f", "reason": "api_key-rate", "denied_by": ["per-key"], "limits": [limit("per-key", false)] });
        assert_eq!(
            text("deny", &denied),
            "deny by per-key (api_key-rate)\n  id 5f\n  per-key: 0 of 5 left, whole again in 12 days, again in 1 min 5 s\n"
        );
        let degraded =
            json!({ "reason": "ok", "denied_by": [], "limits": [limit("a", true), limit("cheaper", false)] });
        assert!(text("degrade", &degraded).starts_with("degrade by cheaper (ok)\n"));
    }
}

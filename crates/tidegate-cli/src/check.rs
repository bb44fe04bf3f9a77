//! `tidegate check`: asks a running server.

use clap::Args;
use serde_json::{Value, json};

use crate::ask::{Client, pairs};
use crate::exit::Failure;
use crate::output::{Format, print};

/// Asks a running server whether a request may pass. Exit code 5 if not.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tidegate check --domain api api_key=k1 path=/v1/orders method=POST\n  tidegate check --peek api_key=k1 && echo would pass\n\nExit codes: 0 allowed, 5 denied, 4 unreachable or unauthorised."
)]
pub(crate) struct CheckArgs {
    /// Attributes, as name=value
    attributes: Vec<String>,
    /// The server's HTTP door; if it wants a token, TIDEGATE_TOKEN_FILE names its file
    #[arg(long, default_value = "http://127.0.0.1:8080", env = "TIDEGATE_SERVER")]
    server: String,
    /// The domain
    #[arg(long, default_value = "api")]
    domain: String,
    /// How many times the cost of one request
    #[arg(long, default_value_t = 1)]
    cost: u64,
    /// Only ask: charge nothing
    #[arg(long)]
    peek: bool,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(args: &CheckArgs) -> Result<(), Failure> {
    let attributes: serde_json::Map<String, Value> =
        pairs(&args.attributes)?.into_iter().map(|(name, value)| (name, json!(value))).collect();
    let body = json!({ "domain": args.domain, "attributes": attributes, "cost": args.cost });
    let path = if args.peek { "/v1/peek" } else { "/v1/check" };
    let (status, answer) = Client::new(&args.server)?.post(path, &body)?;
    let Some(decision) = answer["decision"].as_str() else {
        let detail = answer["detail"].as_str().or(answer["title"].as_str()).unwrap_or("no reason given");
        return Err(anyhow::anyhow!("the server answered {status}: {detail}").into());
    };
    match args.format {
        Format::Json => print(&format!("{answer:#}\n"))?,
        Format::Text => print(&text(decision, &answer))?,
    }
    if matches!(decision, "deny" | "shed" | "challenge") { Err(Failure::Denied) } else { Ok(()) }
}

fn text(decision: &str, answer: &Value) -> String {
    let head = format!("{decision} ({})\n", answer["reason"].as_str().unwrap_or("-"));
    let limits = answer["limits"].as_array().into_iter().flatten().map(limit);
    std::iter::once(head).chain(limits).collect()
}

fn limit(limit: &Value) -> String {
    let retry = limit["retry_after_ms"].as_u64().map(|ms| format!(", again in {ms} ms")).unwrap_or_default();
    let mode = limit["mode"].as_str().filter(|mode| *mode != "enforce").map(|mode| format!(" [{mode}]"));
    format!(
        "  {}: {} of {} left, whole again in {} ms{retry}{}\n",
        limit["rule"].as_str().unwrap_or("-"),
        limit["remaining"],
        limit["limit"],
        limit["reset_after_ms"],
        mode.unwrap_or_default(),
    )
}

//! `tidegate commit`, `cancel` and `release`: settle what an earlier decision holds.

use clap::Args;
use serde_json::{Map, Value, json};

use crate::ask::{Client, pairs};
use crate::exit::Failure;
use crate::output::{Format, print};

/// The decision and the server that holds it.
#[derive(Args, Debug)]
struct Held {
    /// The id of the decision, as `check` prints it; `commit` and `cancel` want that of `check --reserve`
    id: String,
    /// The server's HTTP door; if it wants a token, TIDEGATE_TOKEN_FILE names its file
    #[arg(long, default_value = "http://127.0.0.1:8080", env = "TIDEGATE_SERVER")]
    server: String,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Settles a reservation at what was really used.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tidegate commit 5f0c2b7e9d4a41868c3e0f6b7a1d2c3e --cost 3\n  tidegate commit 5f0c2b7e9d4a41868c3e0f6b7a1d2c3e tokens=400\n\nExit codes: 0 settled, 1 there is nothing under the id or it could not be settled, 2 wrong usage, 4 unreachable\nor unauthorised."
)]
pub(crate) struct CommitArgs {
    #[command(flatten)]
    held: Held,
    /// What was used, as name=value, for rules whose cost is an attribute
    attributes: Vec<String>,
    /// What was used, in place of the cost of the check
    #[arg(long)]
    cost: Option<u64>,
}

/// Settles a reservation at nothing: all of it is given back.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  tidegate cancel 5f0c2b7e9d4a41868c3e0f6b7a1d2c3e\n\nExit codes: 0 settled, 1 there is nothing under the id or it could not be settled, 4 unreachable or unauthorised."
)]
pub(crate) struct CancelArgs {
    #[command(flatten)]
    held: Held,
}

/// Gives back the slots that a decision holds.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  tidegate release 5f0c2b7e9d4a41868c3e0f6b7a1d2c3e\n\nExit codes: 0 given back, 1 there is nothing under the id or it could not be given back, 4 unreachable or unauthorised."
)]
pub(crate) struct ReleaseArgs {
    #[command(flatten)]
    held: Held,
}

pub(crate) fn commit(args: &CommitArgs) -> Result<(), Failure> {
    let attributes: Map<String, Value> =
        pairs(&args.attributes)?.into_iter().map(|(name, value)| (name, json!(value))).collect();
    if args.cost.is_none() && attributes.is_empty() {
        return Err(Failure::Usage(
            "say what was used\nhint: --cost 3, or the attribute that a cost is read from, such as tokens=400".to_owned(),
        ));
    }
    let mut body = json!({ "id": args.held.id });
    if let Some(cost) = args.cost {
        body["cost"] = json!(cost);
    }
    if !attributes.is_empty() {
        body["attributes"] = Value::Object(attributes);
    }
    args.held.settle("/v1/commit", &body, "committed")
}

pub(crate) fn cancel(args: &CancelArgs) -> Result<(), Failure> {
    args.held.settle("/v1/cancel", &json!({ "id": args.held.id }), "cancelled")
}

pub(crate) fn release(args: &ReleaseArgs) -> Result<(), Failure> {
    args.held.settle("/v1/release", &json!({ "id": args.held.id }), "released")
}

impl Held {
    fn settle(&self, path: &str, body: &Value, done: &str) -> Result<(), Failure> {
        let (status, answer) = Client::new(&self.server)?.post(path, body)?;
        if status != 200 {
            let said = answer["detail"].as_str().unwrap_or("no reason given");
            return Err(anyhow::anyhow!("the server answered {status}: {said}").into());
        }
        match self.format {
            Format::Json => print(&format!("{answer:#}\n"))?,
            Format::Text => print(&format!("{done}\n"))?,
        }
        Ok(())
    }
}

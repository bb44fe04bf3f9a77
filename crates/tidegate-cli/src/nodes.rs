//! `tidegate nodes`: who counts together.

use anyhow::{Result, anyhow};
use clap::Args;
use serde_json::Value;

use crate::ask::Client;
use crate::exit::Failure;
use crate::output::{Format, print};

/// Lists the nodes that count together, as one of them last heard it.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tidegate nodes\n  tidegate nodes --server http://127.0.0.1:6070 --format json\n\nExit codes: 0 ok, 1 something failed, 2 wrong usage, 4 unreachable or unauthorised."
)]
pub(crate) struct NodesArgs {
    /// The address of a node's admin door; if it wants a token, TIDEGATE_TOKEN_FILE names its file
    #[arg(long, default_value = "http://127.0.0.1:6070")]
    server: String,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(args: &NodesArgs) -> Result<(), Failure> {
    let (status, answer) = Client::new(&args.server)?.get("/admin/v1/nodes")?;
    if status != 200 {
        let said = answer["detail"].as_str().unwrap_or("no reason given");
        return Err(anyhow!("the server answered {status}: {said}").into());
    }
    match args.format {
        Format::Json => print(&format!("{answer:#}\n"))?,
        Format::Text => print(&text(&answer))?,
    }
    Ok(())
}

fn text(answer: &Value) -> String {
    if answer["store"] == "memory" {
        return "counters live in this server's memory; it counts alone\n".to_owned();
    }
    let mut rows =
        vec![["ID", "HEARD", "VERSION", "FORMAT", "RULES", "HTTP", "GRPC", "DECISIONS"].map(str::to_owned)];
    for node in answer["nodes"].as_array().into_iter().flatten() {
        let told = |name: &str| match &node["told"][name] {
            Value::Null => "-".to_owned(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let id = node["id"].as_str().unwrap_or_default().chars().take(8).collect();
        let heard = format!("{:.1}s ago", node["age_ms"].as_f64().unwrap_or(0.0) / 1000.0);
        rows.push([
            id,
            heard,
            told("version"),
            told("format"),
            told("snapshot"),
            told("http"),
            told("grpc"),
            told("decisions"),
        ]);
    }
    let widths: [usize; 8] =
        std::array::from_fn(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0));
    let line = |row: &[String; 8]| {
        let cells: Vec<String> =
            row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    let mut out: String = rows.iter().map(line).collect();
    if answer["fresh"] == Value::Bool(false) {
        out.push_str("the store does not answer at the moment; this is what was heard last\n");
    }
    out
}

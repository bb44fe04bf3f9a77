//! `tidegate rules`: the rules in force on a server, and switches over what their files say.

mod list;
mod switch;

use anyhow::anyhow;
use clap::{Args, Subcommand};
use serde_json::Value;

use crate::ask::Client;
use crate::exit::Failure;
use crate::output::Format;

/// Lists the rules in force on a server, and switches them.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tidegate rules list\n  tidegate rules off per-key --domain api --for 10m --reason 'refuses everybody'\n  tidegate rules shadow --all --domain api\n  tidegate rules on per-key\n  tidegate rules on --all --yes\n\nA switch holds on the server that is asked, until it is taken back with `on`, ends by itself or the\nserver is restarted. It outlives reloads. The switch of a rule goes before that of its domain, and\nthat before the one of everything. What should stay belongs into the rule files.\n\nExit codes: 0 ok, 1 refused, 2 wrong usage, 4 unreachable or unauthorised."
)]
pub(crate) struct RulesArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the rules in force with their modes, and the switches that are set
    List(list::ListArgs),
    /// Switch a rule off, as if it were not there
    Off(switch::SetArgs),
    /// Switch a rule to shadow: judged, counted and reported, never refused
    Shadow(switch::SetArgs),
    /// Switch a rule to enforce, whatever its file says
    Enforce(switch::SetArgs),
    /// Take switches back: the rule is as its file says again
    On(switch::OnArgs),
}

/// Which server is asked, and how its answer is printed.
#[derive(Args, Debug)]
struct Asking {
    /// The server's admin door; if it wants a token, TIDEGATE_TOKEN_FILE names its file
    #[arg(long, default_value = "http://127.0.0.1:6070")]
    server: String,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(args: &RulesArgs) -> Result<(), Failure> {
    match &args.action {
        Action::List(list) => list::run(list),
        Action::Off(set) => switch::set(set, "off"),
        Action::Shadow(set) => switch::set(set, "shadow"),
        Action::Enforce(set) => switch::set(set, "enforce"),
        Action::On(on) => switch::take_back(on),
    }
}

impl Asking {
    /// What the server answers, if that is what was asked for; its own words if not.
    fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, Failure> {
        let (status, answer) = Client::new(&self.server)?.send(method, path, body)?;
        if status == 200 && answer.is_object() {
            return Ok(answer);
        }
        let said = answer["detail"].as_str().unwrap_or("no reason given");
        Err(anyhow!("the server answered {status}: {said}").into())
    }
}

//! What can be typed.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

use crate::check::CheckArgs;
use crate::demo::DemoArgs;
use crate::explain::ExplainArgs;
use crate::init::InitArgs;
use crate::nodes::NodesArgs;
use crate::openapi::OpenapiArgs;
use crate::rules::RulesArgs;
use crate::settle::{CancelArgs, CommitArgs, ReleaseArgs};
use crate::snippet::SnippetArgs;
use crate::validate::ValidateArgs;

const EXAMPLES: &str = "\
Examples:
  tidegate init                           rules to start from, in the folder rules
  tidegate validate                       what is wrong with them, and what they come to
  tidegate serve                          a server with them, read again when they change
  tidegate serve --rules DIR              with the rules of another folder
  tidegate serve --config tidegate.yaml   with everything in a file
  tidegate explain path=/x                which rules a request meets, and why not the others
  tidegate check api_key=k1 path=/x       ask a running server
  tidegate release ID                     give back what a check holds
  tidegate nodes                          who counts together
  tidegate rules off per-key --for 10m    switch a rule off on a running server
  tidegate snippet nginx                  a configuration for nginx that asks a server
  tidegate openapi > openapi.json         the HTTP API for tools and generators
  tidegate demo                           see it at work
  tidegate completions bash               completions for a shell

Exit codes: 0 ok, 1 something failed, 2 wrong usage, 3 wrong configuration or rules,
4 unreachable or unauthorised, 5 denied.";

const SERVE_EXAMPLES: &str = "\
Examples:
  tidegate serve
  tidegate serve --rules rules/
  tidegate serve --rules rules/ --store redis://localhost:6379
  tidegate serve --rules rules/ --grpc off --http 127.0.0.1:0
  TIDEGATE_LOG_FORMAT=json tidegate serve --config tidegate.yaml
  tidegate serve --config tidegate.yaml --print-config

A flag wins over a variable, a variable over the file, the file over the default.
SIGHUP has the rules read again. SIGTERM stops: not ready first, then the end of what is under way.";

/// Decides, for every request to an API, whether it may pass.
#[derive(Debug, Parser)]
#[command(name = "tidegate", version, after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the server: Envoy's rate limit service, the HTTP API, metrics
    Serve(Serve),
    /// Check rule files and show the effective limit of each rule
    Validate(ValidateArgs),
    /// Write a commented file of rules to start from
    Init(InitArgs),
    /// Ask a running server whether a request may pass
    Check(CheckArgs),
    /// Settle a reservation at what was really used
    Commit(CommitArgs),
    /// Settle a reservation at nothing
    Cancel(CancelArgs),
    /// Give back the slots that a decision holds
    Release(ReleaseArgs),
    /// Say which rules a request meets, what it is charged where, and why not by the others
    Explain(ExplainArgs),
    /// List the nodes that count together
    Nodes(NodesArgs),
    /// List the rules in force on a server, and switch them off, to shadow or on again
    Rules(RulesArgs),
    /// Print a configuration for Envoy, nginx, Caddy, Traefik or HAProxy that asks a server
    Snippet(SnippetArgs),
    /// Print what the HTTP API or the admin door answers, as an OpenAPI document
    Openapi(OpenapiArgs),
    /// Show a server with example rules and traffic at work
    Demo(DemoArgs),
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
}

/// What can be said to `serve`. Values are read by the settings that they belong to.
#[derive(Clone, Debug, Args)]
#[command(after_help = SERVE_EXAMPLES)]
pub(crate) struct Serve {
    /// Print the settings in force with where each comes from, without secrets, and exit
    #[arg(long)]
    pub(crate) print_config: bool,
    /// The configuration file [env: TIDEGATE_CONFIG]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The directory of rule files (*.yaml, *.yml), or one such file [env: TIDEGATE_RULES] [default: none, or the folder rules if it is here]
    #[arg(long, value_name = "DIR")]
    rules: Option<String>,
    /// Where counters live: memory, redis://…, redis-cluster://… or redis-sentinel://… [env: TIDEGATE_STORE] [default: memory]
    #[arg(long, value_name = "URL")]
    store: Option<String>,
    /// What connections are served on: per_core, a number of threads, or shared [env: TIDEGATE_RUNTIME] [default: per_core]
    #[arg(long, value_name = "KIND")]
    runtime: Option<String>,
    /// Where Envoy's rate limit service listens, or off [env: TIDEGATE_GRPC] [default: 0.0.0.0:8081]
    #[arg(long, value_name = "ADDR")]
    grpc: Option<String>,
    /// Where the HTTP API listens, or off [env: TIDEGATE_HTTP] [default: 0.0.0.0:8080]
    #[arg(long, value_name = "ADDR")]
    http: Option<String>,
    /// Where the Redis protocol is spoken, such as 127.0.0.1:6380, or off [env: TIDEGATE_RESP] [default: off]
    #[arg(long, value_name = "ADDR")]
    resp: Option<String>,
    /// Where metrics and administration listen, or off [env: TIDEGATE_ADMIN] [default: 127.0.0.1:6070]
    #[arg(long, value_name = "ADDR")]
    admin: Option<String>,
    /// The file in which counters of windows of an hour or more survive a restart, or off [env: TIDEGATE_CHECKPOINT_PATH] [default: auto, a folder of the service or the user]
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<String>,
    /// What is logged: error, warn, info, debug or trace [env: TIDEGATE_LOG_LEVEL] [default: info]
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<String>,
    /// The form of the log: text or json [env: TIDEGATE_LOG_FORMAT] [default: text]
    #[arg(long, value_name = "FORM")]
    log_format: Option<String>,
}

impl Serve {
    /// The flags that were given, by their settings' keys.
    pub(crate) fn flags(&self) -> Vec<(&'static str, String)> {
        let flags = [
            ("rules", &self.rules),
            ("store", &self.store),
            ("runtime", &self.runtime),
            ("listen.grpc", &self.grpc),
            ("listen.http", &self.http),
            ("listen.resp", &self.resp),
            ("listen.admin", &self.admin),
            ("checkpoint.path", &self.checkpoint),
            ("log.level", &self.log_level),
            ("log.format", &self.log_format),
        ];
        flags.into_iter().filter_map(|(key, value)| Some((key, value.clone()?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use tidegate_server::config::SETTINGS;

    use super::*;

    #[test]
    fn the_commands_are_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn every_setting_with_a_flag_can_be_typed_and_its_help_is_true() {
        let command = Arguments::command();
        let serve = command.find_subcommand("serve").unwrap();
        for setting in SETTINGS {
            let Some(flag) = setting.flag else { continue };
            let typed = ["tidegate", "serve", &format!("--{flag}"), "x"].map(str::to_owned);
            let Command::Serve(given) = Arguments::try_parse_from(typed).unwrap().command else { panic!() };
            assert_eq!(given.flags(), [(setting.key, "x".to_owned())]);
            let argument = serve.get_arguments().find(|one| one.get_long() == Some(flag)).unwrap();
            let help = argument.get_help().unwrap().to_string();
            assert!(help.contains(&format!("[env: {}]", setting.variable)), "{help}");
            assert!(help.contains(&format!("[default: {}", setting.default)), "{help}");
        }
    }
}

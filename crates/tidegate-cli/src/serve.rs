//! `tidegate serve`: runs the server until it is told to stop.

use anyhow::Context as _;
use tidegate_server::config::{Config, EffectiveSetting, Given, LogFormat};
use tidegate_server::{Running, Stopped, Stops, logging};

use crate::arguments::Serve;
use crate::exit::{Failure, say};
use crate::output::print;
use crate::settings;

/// Longer values push the column behind them.
const MAX_VALUE_WIDTH: usize = 40;

/// Runs the server.
pub(crate) fn run(serve: &Serve) -> Result<(), Failure> {
    let given = settings::given(serve.config.as_ref(), serve.flags());
    if serve.print_config {
        return print_config(&given);
    }
    let config = settings::load(&given)?;
    logging::start(config.log);
    raise_open_files();
    for (variable, meant) in given.misspelt() {
        tracing::warn!(variable, meant, "unknown variable");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.context("cannot start the runtime")?.block_on(until_stopped(&config))
}

/// Prints the settings in force as columns: the key, the value, and where it comes from.
fn print_config(given: &Given) -> Result<(), Failure> {
    let all = settings::effective(given)?;
    let width = |text: fn(&EffectiveSetting) -> &str| all.iter().map(|one| text(one).chars().count()).max();
    let keys = width(|one| &one.key).unwrap_or(0);
    let values = width(|one| &one.value).unwrap_or(0).min(MAX_VALUE_WIDTH);
    let line = |EffectiveSetting { key, value, source }: &EffectiveSetting| {
        format!("{key:keys$}  {value:values$}  {source}\n")
    };
    Ok(print(&all.iter().map(line).collect::<String>())?)
}

/// Lets the process hold as many connections as it may: shells start with far fewer than the system allows.
fn raise_open_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let most = rustix::process::Rlimit { current: limit.maximum, ..limit };
    if limit.current != limit.maximum
        && let Err(error) = setrlimit(Resource::Nofile, most)
    {
        tracing::warn!(%error, current = limit.current, "cannot raise how many files may be open");
    }
}

async fn until_stopped(config: &Config) -> Result<(), Failure> {
    let stops = Stops::new()?;
    let running = tidegate_server::start(config).await.map_err(settings::failed)?;
    greet(config, &running).await;
    match running.until_stopped(stops).await {
        Stopped::Drained | Stopped::Late => Ok(()),
        Stopped::AtOnce => {
            Err(anyhow::anyhow!("stopped at once, without waiting for requests under way").into())
        }
    }
}

/// What to do next.
async fn greet(config: &Config, running: &Running) {
    let (curl, rules) = (running.curl().await, running.rules());
    if config.log.format == LogFormat::Json {
        tracing::info!(rules, curl, "ready");
        return;
    }
    let rules = match &config.rules {
        None => {
            "It has NO RULES, so everything passes; `tidegate init` writes some, --rules DIR names others."
                .to_owned()
        }
        Some(path) if rules == 0 => {
            format!("There are NO RULES in {}, so everything passes until there are.", path.display())
        }
        Some(path) => format!("Rules in force: {rules}, from {}.", path.display()),
    };
    say(&format!("\nTidegate is ready. {rules}"));
    if let Some(curl) = curl {
        say(&format!("Ask it:\n\n  {curl}\n"));
    }
    if let Some(line) = running.redis_cli() {
        say(&format!("Or with a client for Redis:\n\n  {line}\n"));
    }
    if let Some(remark) = running.remark() {
        say(&format!("{remark}\n"));
    }
    if let Some(admin) = running.admin_url() {
        say(&format!("Metrics and the rules in force: {admin}\n"));
    }
}
